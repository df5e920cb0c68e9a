"""The settings of a run as its page sends them: their order, their ranges, and their check."""

from typing import Any

from rheo.params import DecodeParams

SLIDER_RANGES = {  # of the sliders: lowest, highest, step
    "m": (0, 9, 1),
    "T": (0.0, 2.0, 0.05),
    "R": (4, 128, 1),
    "depth": (1, 12, 1),
    "K": (1, 32, 1),
    "S": (16, 1024, 16),
    "probes": (1, 4, 1),
    "max_new_tokens": (8, 256, 8),
}
FRONT, BACK = ("m", "T", "R", "depth"), ("K", "S", "probes", "max_new_tokens")
FIELDS = ("strategy", *FRONT, *BACK, "seed")  # the inputs of a run, after prompt and pair


def params(values: tuple[Any, ...]) -> DecodeParams:
    """Return the values of `FIELDS` as parameters.

    Raises:
        RheoError: values that cannot be, or cannot go together.
    """
    return DecodeParams(**dict(zip(FIELDS, values, strict=True)))
