"""The speed of plain decoding on this machine: the reference of speed-ups.

A run is compared with plain steps that were timed beside it (`rheo.decoding.watch`), for a machine
is not equally fast at every moment. One too short for any is compared with what was measured when
its pair was loaded.
"""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rheo.params import DecodeParams
from visual.run.speedup import Plain
from visual.words import measures

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine

_PROMPT = "The river was low that summer, and the children walked across it on the stones."
_PLAIN_TOKENS = 14  # decoded; the first ones warm up
_WARM_UP = 2
_SECONDS = 4.0  # the longest that a page's model is held up by this
_KEYS = 4096

measured: dict[str, Plain] = {}  # by pair
_beside: dict[str, list[float]] = {}  # ms of the plain steps beside each run of this very process


def keep(key: str, plain_ms: list[float]) -> None:
    """Keep a run's plain steps, those still to come too; the oldest of too many are forgotten."""
    _beside[key] = plain_ms
    while len(_beside) > _KEYS:
        del _beside[next(iter(_beside))]


def is_of_here(key: object) -> bool:
    """Tell whether a run was decoded by this very process."""
    return isinstance(key, str) and key in _beside


def of_run(key: object, pair: str) -> Plain | None:
    """Return the reference of a run: beside it, or of the pair at its loading, or None."""
    samples = _beside.get(key) if isinstance(key, str) else None
    return Plain.of(samples, beside=True) if samples else measured.get(pair)


def measure(name: str, engine: "Engine", progress: Callable[..., None]) -> None:
    """Decode a few tokens without a draft, before anybody else can have the engine.

    Not on a ZeroGPU Space, where a model runs in a worker alone.
    """
    if os.getenv("SPACES_ZERO_GPU"):
        return
    progress(measures.MEASURING, None)
    params = DecodeParams(strategy="autoregressive", max_new_tokens=_PLAIN_TOKENS)
    decoding, began = engine.decode(_PROMPT, params), time.monotonic()
    try:
        for _ in decoding:
            if time.monotonic() - began > _SECONDS:
                break
    finally:
        decoding.close()
    ms = [r.ms.total for r in decoding.rounds]
    kept = ms[_WARM_UP:] or ms
    if kept:
        measured[name] = Plain.of(kept)
