"""The one table of what each parameter of a run can be, for the command line, page and address.

A server narrows rows (`visual.server.limits`); nobody else writes a range down. What two parameters
may be together is one rule too: `DecodeParams` in `rheo.params`.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from rheo.errors import RheoError

FULL = "full"  # how no limit is written; None is its value
_WHOLE, _REAL = r"[0-9]{1,19}", r"[0-9]{1,6}(\.[0-9]{1,17})?(e-[0-9]{1,2})?"

Number = int | float | None


@dataclass(frozen=True)
class Range:
    """What one parameter can be.

    Attributes:
        name: of the field of `DecodeParams`.
        least, most: the ends; both are allowed.
        default: where it stands if nobody says otherwise.
        about: what it is, without a capital and a full stop.
        step: of a slider; a fraction where the parameter is a real number.
        full: None is a value too, written "full".
    """

    name: str
    least: float
    most: float
    default: float
    about: str
    step: float = 1
    full: bool = False

    @property
    def is_real(self) -> bool:
        """Tell whether it is a real number, not a whole one."""
        return self.step % 1 != 0

    @property
    def hint(self) -> str:
        """Return what it is, as a sentence."""
        return f"{self.about[0].upper()}{self.about[1:]}."

    @property
    def values(self) -> str:
        """Return what it can be, in words.

        >>> RANGES["S"].values, RANGES["T"].values
        ('a whole number from 1 to 1,048,576, or full', 'a number from 0 to 2')
        """
        kind = "number" if self.is_real else "whole number"
        ends = f"a {kind} from {_plain(self.least)} to {_plain(self.most)}"
        return f"{ends}, or {FULL}" if self.full else ends

    def refused(self, value: Any) -> str:
        """Return the sentence on a value that it cannot have."""
        return f"{self.name} must be {self.values}, not {shown(value)}."

    def holds(self, value: Number) -> bool:
        """Tell whether a value that `read` returned lies within."""
        return self.full if value is None else self.least <= value <= self.most

    def read(self, value: Any) -> Number:
        """Return `value` as a plain number, or None for "full".

        Raises:
            RheoError: it is out of the range, a bool, NaN or a text.
        """
        if self.full and (value is None or value == FULL):
            return None
        numeric = hasattr(value, "__float__") and not isinstance(value, bool | str)
        try:
            real = float(value) if numeric else math.nan
        except (TypeError, ValueError, OverflowError):
            real = math.nan
        if not math.isfinite(real) or not self.holds(value) or (not self.is_real and real % 1):
            raise RheoError(self.refused(value))
        return real if self.is_real else int(value)

    def parse(self, text: str) -> Number:
        """Return the value of a text, of ASCII digits alone.

        Raises:
            RheoError: it is none, or out of the range.

        >>> RANGES["S"].parse("full"), RANGES["K"].parse("12"), RANGES["T"].parse("1e-05")
        (None, 12, 1e-05)
        """
        if self.full and text == FULL:
            return None
        if not re.fullmatch(_REAL if self.is_real else _WHOLE, text):
            raise RheoError(self.refused(text))
        number = float(text) if self.is_real else int(text)
        if not self.holds(number):
            raise RheoError(self.refused(text))
        return number


# The most keep a round's tensors and its drawing within reason.
_ROWS = (
    Range("m", 0, 63, 1, "deterministic tokens kept per node (the rheostat), at most K - 1"),
    Range("K", 1, 64, 10, "child slots per expanded node, and the beam"),
    Range("R", 1, 512, 60, "draft nodes kept after pruning, the root not counted"),
    Range("depth", 1, 32, 8, "levels of draft nodes"),
    Range("T", 0, 2, 1.0, "temperature of the target and of the probe's draw; 0 is greedy", 0.05),
    Range(
        "S",
        1,
        1 << 20,
        128,
        "draft logits kept before the softmax; the target is never cut",
        full=True,
    ),
    Range("probes", 1, 63, 1, "probe slots per node, for rheo-multi"),
    Range("top_p", 0, 1, 1.0, "nucleus of the target; 1 switches it off", 0.05),
    Range("top_k", 0, 1 << 20, 0, "best tokens of the target; 0 switches it off"),
    Range(
        "seed",
        0,
        2**63 - 1,
        0,
        "of all uniforms: same seed, machine, versions and threads, same text",
    ),
    Range("max_new_tokens", 1, 65536, 64, "tokens after the prompt, an end token included"),
)
RANGES = {row.name: row for row in _ROWS}


def _plain(x: float) -> str:
    return f"{int(x):,}" if x == int(x) else f"{x:g}"


def shown(value: Any) -> str:
    """Return a wrong value, short enough for a sentence."""
    if isinstance(value, str | float | bool | None):
        return repr(value[:40] if isinstance(value, str) else value)
    if isinstance(value, int) and abs(value) < 2**64:  # Python may refuse to print a larger one
        return repr(str(value))
    return "a number this large" if isinstance(value, int) else f"a {type(value).__name__}"
