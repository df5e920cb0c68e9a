"""Read typed arguments as values; a mistake is one sentence of argparse's."""

import argparse
from collections.abc import Callable
from typing import TypeVar

from rheo.errors import RheoError
from rheo.ranges import FULL, RANGES

_SWEPT = ("m", "K", "R", "depth", "T", "S", "probes")
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


def in_range(name: str) -> Callable[[str], float | str]:
    """Return the reader of a parameter by its row of `RANGES`; "full" stays what it is."""

    def read(text: str) -> float | str:
        try:
            value = RANGES[name].parse(text)
        except RheoError as wrong:
            raise argparse.ArgumentTypeError(str(wrong).rstrip(".")) from None
        return FULL if value is None else value

    return read


def swept(text: str) -> tuple[str, list[float | str]]:
    """Read a parameter and its values.

    >>> swept("S=32,full"), swept("T=0,0.5")
    (('S', [32, 'full']), ('T', [0.0, 0.5]))
    """
    name, _, values = text.partition("=")
    if name not in _SWEPT:
        known = ", ".join(_SWEPT)
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {known}, = and values")
    return name, [in_range(name)(value) for value in values.split(",")]


def head_layers(text: str) -> str | tuple[int, int, int]:
    """Read a convention, or three indices of hidden states.

    >>> head_layers("inputs"), head_layers("2,15,27")
    ('inputs', (2, 15, 27))
    """
    if text in ("inputs", "outputs"):
        return text
    ids = [_parsed(int, part, "inputs, outputs or three numbers") for part in text.split(",")]
    if len(ids) != 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not inputs, outputs or three numbers")
    return ids[0], ids[1], ids[2]


def _parsed(kind: Callable[[str], _Number], text: str, name: str) -> _Number:
    """Read `text` as a number; the error calls it `name`."""
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {name}") from None
