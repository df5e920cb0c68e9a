"""What a typed argument is read as; a mistake is one sentence of argparse's."""

import argparse
from typing import Any


def whole(text: str) -> int:
    """A whole number."""
    return _parsed(int, text, "a whole number")


def real(text: str) -> float:
    """A number."""
    return _parsed(float, text, "a number")


def positive(text: str) -> int:
    """A whole number above 0."""
    if (value := whole(text)) < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value


def swept(text: str) -> tuple[str, list[float | str]]:
    """A parameter and its values.

    >>> swept("S=32,full"), swept("T=0,0.5")
    (('S', [32, 'full']), ('T', [0.0, 0.5]))
    """
    name, _, values = text.partition("=")
    kinds = dict.fromkeys(("m", "K", "R", "depth", "probes"), whole) | {"T": real, "S": support}
    if name not in kinds:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(kinds)}, = and values")
    return name, [kinds[name](value) for value in values.split(",")]


def support(text: str) -> int | str:
    """A whole number or "full"."""
    return text if text == "full" else _parsed(int, text, "a whole number or full")


def _parsed(kind: type, text: str, name: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None
