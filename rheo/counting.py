"""Numbers in words: one or more of a thing, and a place in a row."""

from collections.abc import Sequence

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def counted(count: int, forms: Sequence[str]) -> str:
    """Return the first form for one thing and the second for any other count, with it filled in.

    >>> forms = ("{count} token", "{count:,} tokens")
    >>> [counted(n, forms) for n in (0, 1, 1200)]
    ['0 tokens', '1 token', '1,200 tokens']
    """
    one, more = forms
    return (one if count == 1 else more).format(count=count)


def ordinal(n: int) -> str:
    """Return a place in words.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 13, 22, 64)]
    ['1st', '2nd', '3rd', '4th', '11th', '13th', '22nd', '64th']
    """
    teens = n % 100 in (11, 12, 13)
    return f"{n}{'th' if teens else _ENDINGS.get(n % 10, 'th')}"
