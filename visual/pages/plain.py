"""Plain decoding on this machine, measured once a pair: the reference of every speed-up told."""

import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rheo.params import DecodeParams
from rheo.trace import Run
from visual import metrics
from visual import strings_metrics as strings
from visual.metrics import Machine, Plain
from visual.pages.models import MODELS

PROMPT = "The river was low that summer, and the children walked across it on the stones."
TOKENS = 14  # decoded; the first ones warm up
WARM_UP = 2
SECONDS = 4.0  # the longest that a page's model is held up by this
KEYS = 4096

measured: dict[str, Plain] = {}  # by pair
decoded: deque[str] = deque(maxlen=KEYS)  # keys of runs of this very process


def measure(name: str, engine: Any, progress: Callable[[str, float | None], None]) -> None:
    """Decode a few tokens without a draft, before anybody else can have the engine.

    Not on a ZeroGPU Space, where a model runs in a worker alone.
    """
    if os.getenv("SPACES_ZERO_GPU"):
        return
    progress(strings.MEASURING, None)
    params = DecodeParams(strategy="autoregressive", max_new_tokens=TOKENS)
    decoding, began = engine.decode(PROMPT, params), time.monotonic()
    try:
        for _ in decoding:
            if time.monotonic() - began > SECONDS:
                break
    finally:
        decoding.close()
    ms = [r.ms.total for r in decoding.rounds]
    kept = ms[WARM_UP:] or ms
    if kept:
        measured[name] = Plain(statistics.median(kept), len(kept))


def machine(key: Any, run: Run, own: Mapping[str, Run]) -> Machine:
    """What this machine knows beside a run's trace.

    Args:
        key: of the run. own: the visitor's runs, among which a plain one is the better reference.
    """
    here = key in decoded
    runs = [r for k, r in own.items() if k in decoded and r.pair == run.pair]
    found = [plain for r in runs if (plain := metrics.plain_of(r)) and plain.tokens >= TOKENS]
    loaded = MODELS.look(run.pair)
    target = getattr(loaded and loaded.engine, "target", None)
    plain = found[-1] if found else measured.get(run.pair)
    return Machine(here, plain, getattr(target, "vocab_size", None))
