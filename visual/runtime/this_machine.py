"""What the machine that serves the page knows beside a run's trace."""

from collections.abc import Mapping

from rheo.trace.schema import Run
from visual.run import metrics
from visual.run.metrics import Machine
from visual.runtime import reference_speed
from visual.runtime.model_loader import MODELS


def machine(key: object, run: Run, own: Mapping[str, Run]) -> Machine:
    """Return what this machine knows beside a run's trace.

    Args:
        key: of the run, as a browser sent it.
        own: the visitor's runs, among which a plain one is the better reference.
    """
    here = key in reference_speed.decoded
    runs = [r for k, r in own.items() if k in reference_speed.decoded and r.pair == run.pair]
    found = [
        plain
        for r in runs
        if (plain := metrics.plain_of(r)) and plain.tokens >= reference_speed.PLAIN_TOKENS
    ]
    loaded = MODELS.look(run.pair)
    target = getattr(loaded and loaded.engine, "target", None)
    plain = found[-1] if found else reference_speed.measured.get(run.pair)
    return Machine(here, plain, getattr(target, "vocab_size", None))
