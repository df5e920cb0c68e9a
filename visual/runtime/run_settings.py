"""The settings of a run as its page sends them: their order, their values, and their check.

What each can be is `visual.server.limits`' row of the one table.
"""

from collections.abc import Mapping
from typing import Any

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.params import DecodeParams, largest_m
from rheo.ranges import FULL, RANGES, Number
from rheo.trace.schema import Run
from visual.server import limits
from visual.server.settings import current
from visual.words import recordings

FRONT, BACK = ("m", "T", "R", "depth"), ("K", "S", "probes", "top_p", "top_k", "max_new_tokens")
FIELDS = ("strategy", *FRONT, *BACK, "seed")  # the inputs of a run, after prompt and pair
PROMPT_LIMIT = 8000  # characters that are kept; the model's own context may be shorter


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


def made_with(run: Run) -> JsonObject:
    """Return a run's prompt, pair and settings as the controls hold them: Run then makes it again.

    What no control can take on this server is left out; `left_out` says it.
    """
    made: JsonObject = {"prompt": run.prompt[-PROMPT_LIMIT:]}
    if run.pair in current().pairs:
        made["pair"] = run.pair
    for name, value in _params(run).items():
        if name not in RANGES:
            made[name] = value
        elif limits.allowed(name).holds(value):
            made[name] = control_value(name, value)
    return made


def left_out(run: Run) -> str:
    """Return one sentence on what Run would do otherwise than this run did, "" if nothing."""
    held, had = made_with(run), {"pair": run.pair, **_params(run)}
    had |= {k: v for k, v in run.params.items() if k == "budget" and v != DecodeParams().budget}
    names = [f"{name} = {had[name]}" for name in had if name not in held]
    return recordings.LEFT_OUT.format(names=", ".join(names)) if names else ""


def _params(run: Run) -> JsonObject:
    """Return the run's parameters by `FIELDS`, those it names; none where they cannot be."""
    try:
        had = {name: run.params[name] for name in FIELDS if name in run.params}
        return {name: getattr(DecodeParams(**had), name) for name in had}
    except (RheoError, TypeError):
        return {}
