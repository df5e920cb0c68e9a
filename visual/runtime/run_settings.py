"""The settings of a run as its page sends them: their order, their values, and their check.

What each can be is `visual.server.limits`' row of the one table.
"""

from collections.abc import Mapping
from typing import Any

from rheo.params import DecodeParams, largest_m
from rheo.ranges import FULL, RANGES, Number
from visual.server import limits

FRONT, BACK = ("m", "T", "R", "depth"), ("K", "S", "probes", "top_p", "top_k", "max_new_tokens")
FIELDS = ("strategy", *FRONT, *BACK, "seed")  # the inputs of a run, after prompt and pair


def params(values: tuple[Any, ...]) -> DecodeParams:
    """Return the values of `FIELDS` as parameters.

    Raises:
        RheoError: values that cannot be, or cannot go together.
    """
    asked = dict(zip(FIELDS, values, strict=True))
    typed = {name: asked[name] for name, row in RANGES.items() if row.full}
    read = {n: RANGES[n].parse(v) for n, v in typed.items() if isinstance(v, str)}
    return DecodeParams(**{**asked, **read})


def control_value(name: str, value: Number) -> float | str:
    """Return a parameter as its control holds it: "full" where it is None."""
    return FULL if value is None else value


def most_m(values: Mapping[str, Any]) -> int:
    """Return how far m goes beside the strategy, K and probes of `values`; missing ones as usual.

    >>> most_m({"K": 4}), most_m({"strategy": "topk", "K": 4})
    (3, 31)
    """
    usual = DecodeParams()
    strategy, K = values.get("strategy", usual.strategy), values.get("K", usual.K)
    return int(min(largest_m(strategy, int(K), 1), limits.allowed("m").most))
