"""What the machine that serves the page knows beside a run's trace."""

from rheo.trace.schema import Run
from visual.run.speedup import Machine
from visual.runtime import reference_speed
from visual.runtime.model_loader import MODELS


def machine(key: object, run: Run) -> Machine:
    """Return what this machine knows beside a run's trace.

    Args:
        key: of the run, as a browser sent it.
    """
    loaded = MODELS.look(run.pair)
    target = getattr(loaded and loaded.engine, "target", None)
    return Machine(
        reference_speed.is_of_here(key),
        reference_speed.of_run(key, run.pair),
        getattr(target, "vocab_size", None),
    )
