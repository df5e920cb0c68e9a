"""The loaded pair: one at a time, loaded behind the page, with its progress to be read.

The engine is imported when the first model is asked for, so that the page opens before torch does.
"""

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rheo.errors import RheoError
from visual.runtime import reference_speed
from visual.server import settings
from visual.words import labels, refusals

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine

_Progress = Callable[..., None]  # of (stage, fraction), the fraction None where it is unknown


@dataclass
class Loading:
    """A pair on its way: `engine` when it is there, `error` in one sentence when it never will."""

    name: str
    stage: str = labels.LOADING
    fraction: float | None = None
    engine: "Engine | None" = None
    error: str = ""

    @property
    def over(self) -> bool:
        """Tell whether nothing more will come."""
        return self.engine is not None or bool(self.error)

    @property
    def sentence(self) -> str:
        """Return where it is, for a person."""
        if self.error:
            return labels.NOT_LOADED.format(error=self.error)
        if self.engine is not None:
            return self.engine.warning or labels.READY
        if self.fraction is None:
            return labels.LOADING_STAGE.format(stage=self.stage)
        return labels.LOADING_PART.format(stage=self.stage, percent=int(100 * self.fraction))


class Models:
    """The one loaded pair; asking for another lets go of it. Safe to call from any thread."""

    def __init__(self, load: "Callable[[str, _Progress], Engine] | None" = None) -> None:
        self._load = load or _load_engine
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # two loads at once could exceed the memory
        self._current: Loading | None = None

    def want(self, name: str, wait: bool = False) -> Loading:
        """Return the pair called `name`, its load begun if need be; a failed one is tried again.

        Args:
            wait: load in this thread, as ZeroGPU wants it.
        """
        with self._lock:
            current = self._current
            if current is not None and current.name == name and not current.error:
                return current
            if current is not None and not wait and os.getenv("SPACES_ZERO_GPU"):
                return Loading(name, error=current.error or refusals.ONE_PAIR)
            self._current = current = Loading(name)
        if wait:
            self._run(current)
        else:
            threading.Thread(target=self._run, args=(current,), daemon=True).start()
        return current

    def look(self, name: str) -> Loading | None:
        """Return the pair if it is the one held, without beginning anything."""
        current = self._current
        return current if current is not None and current.name == name else None

    def _run(self, loading: Loading) -> None:
        def progress(stage: str, fraction: float | None = None) -> None:
            loading.stage, loading.fraction = stage, fraction

        with self._turn:
            if loading is not self._current:
                return  # somebody chose another pair meanwhile
            try:
                loading.engine = self._load(loading.name, progress)
            except RheoError as error:
                loading.error = str(error)
            except ImportError as error:
                loading.error = refusals.NO_ENGINE.format(kind=type(error).__name__)
            except Exception as error:
                loading.error = labels.UNEXPECTED.format(kind=type(error).__name__)


def _load_engine(name: str, progress: _Progress) -> "Engine":
    """Load the pair as the settings want it; say what the machine lacks before it is loaded."""
    from rheo.models.requirements import check_versions

    check_versions()
    from rheo.decoding.engine import Engine
    from rheo.models import placement
    from rheo.models.loader import load_pair

    wanted = settings.current()
    gc.collect()  # the pair before may wait in a cycle, and its memory is wanted
    device, dtype = placement.device(wanted.device), placement.dtype(wanted.dtype)
    forward = wanted.forward
    engine = Engine(load_pair(name, progress, device=str(device), dtype=dtype, forward=forward))
    reference_speed.measure(name, engine, progress)
    return engine


MODELS = Models()  # of this process: every page and every visitor shares it
