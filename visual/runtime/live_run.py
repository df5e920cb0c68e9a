"""A live run as a growing trace: the engine's rounds, one at a time.

On a ZeroGPU Space it runs in a worker process (see `zero_gpu`): its arguments and yields are plain
records.
"""

import copy
import gc
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

from rheo.decoding.watch import Watch
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.schema import Run
from visual.runtime.model_loader import MODELS
from visual.runtime.zero_gpu import on_gpu
from visual.server import limits
from visual.words import labels, refusals

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine
    from rheo.decoding.loop import Decoding

_SECONDS = (10, 60)  # of GPU time a run may ask for
SECONDS_A_TOKEN = 0.25


def gpu_seconds(pair: str, prompt: str, params: DecodeParams) -> int:
    """Return how many seconds a run is allowed to hold a Space's GPU."""
    wanted = _SECONDS[0] + SECONDS_A_TOKEN * params.max_new_tokens
    return int(min(max(wanted, _SECONDS[0]), _SECONDS[1]))


@on_gpu(gpu_seconds)
def pieces(
    pair: str, prompt: str, params: DecodeParams, watch: Watch | None = None
) -> Generator[Run, None, None]:
    """Yield runs of one round each, then one of none that says how it ended; see `grown`.

    Args:
        watch: what may end it within a round; by name, for it does not cross processes.

    Raises:
        RheoError: see `Engine.decode`; the pair is no longer the one that is loaded, the prompt
            has too many tokens, or the memory ran out in the middle.
    """
    loaded = MODELS.look(pair)
    if loaded is None or loaded.engine is None:
        raise RheoError(labels.OTHER_PAIR)
    engine = loaded.engine
    decoding = engine.decode(prompt, params, watch=watch)
    limits.check_prompt(len(decoding.prompt_ids))
    failed = False
    try:
        for _ in decoding:
            yield _piece(engine, decoding, prompt, 1)
        yield _piece(engine, decoding, prompt, 0)
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        failed = True  # raised below: the error's traceback holds the tensors of the failed step
    finally:
        decoding.close()
    if failed:
        _free_memory(engine)
        raise RheoError(refusals.OUT_OF_MEMORY)


def _out_of_memory(error: Exception) -> bool:
    """Tell whether torch ran out: a class of its own for a GPU, a RuntimeError's text for a CPU."""
    kind = type(error).__name__
    return kind in ("MemoryError", "OutOfMemoryError") or "allocate memory" in str(error)


def _free_memory(engine: "Engine") -> None:
    """Free what the failed run had taken, so that the next one finds it."""
    engine.release_memory()
    gc.collect()


def _piece(engine: "Engine", decoding: "Decoding", prompt: str, rounds: int) -> Run:
    """Return the last `rounds` rounds of a decoding as a trace, so that each is recorded once."""
    last = copy.copy(decoding)
    last.rounds = decoding.rounds[len(decoding.rounds) - rounds :]
    return engine.record(last, prompt)


def grown(run: Run | None, piece: Run) -> Run:
    """Return `run` and the piece that follows it as one run."""
    if run is None:
        return piece
    return replace(piece, rounds=run.rounds + piece.rounds, tokens={**run.tokens, **piece.tokens})
