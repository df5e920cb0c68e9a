"""The speed of plain decoding on this machine, measured once a pair: the reference of speed-ups."""

import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from rheo.params import DecodeParams
from visual.run.metrics import Plain
from visual.words import measures

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine

_PROMPT = "The river was low that summer, and the children walked across it on the stones."
PLAIN_TOKENS = 14  # decoded; the first ones warm up
_WARM_UP = 2
_SECONDS = 4.0  # the longest that a page's model is held up by this
_KEYS = 4096

measured: dict[str, Plain] = {}  # by pair
decoded: deque[str] = deque(maxlen=_KEYS)  # keys of runs of this very process


def measure(name: str, engine: "Engine", progress: Callable[..., None]) -> None:
    """Decode a few tokens without a draft, before anybody else can have the engine.

    Not on a ZeroGPU Space, where a model runs in a worker alone.
    """
    if os.getenv("SPACES_ZERO_GPU"):
        return
    progress(measures.MEASURING, None)
    params = DecodeParams(strategy="autoregressive", max_new_tokens=PLAIN_TOKENS)
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
        measured[name] = Plain(statistics.median(kept), len(kept))
