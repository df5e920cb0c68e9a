"""Read typed arguments as values; a mistake is one sentence of argparse's."""

import argparse
from collections.abc import Callable
from typing import TypeVar

_Number = TypeVar("_Number", int, float)


def whole(text: str) -> int:
    """Read a whole number."""
    return _parsed(int, text, "a whole number")


def real(text: str) -> float:
    """Read a number."""
    return _parsed(float, text, "a number")


def positive(text: str) -> int:
    """Read a whole number above 0."""
    if (value := whole(text)) < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value


def swept(text: str) -> tuple[str, list[float | str]]:
    """Read a parameter and its values.

    >>> swept("S=32,full"), swept("T=0,0.5")
    (('S', [32, 'full']), ('T', [0.0, 0.5]))
    """
    name, _, values = text.partition("=")
    kinds: dict[str, Callable[[str], float | str]] = dict.fromkeys(
        ("m", "K", "R", "depth", "probes"), whole
    )
    kinds |= {"T": real, "S": support}
    if name not in kinds:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(kinds)}, = and values")
    return name, [kinds[name](value) for value in values.split(",")]


def support(text: str) -> int | str:
    """Read a whole number or "full"."""
    return text if text == "full" else _parsed(int, text, "a whole number or full")


def _parsed(kind: Callable[[str], _Number], text: str, name: str) -> _Number:
    """Read `text` as a number; the error calls it `name`."""
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None
