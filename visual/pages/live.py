"""A live run as a growing trace: what the engine decodes, a round at a time.

On a ZeroGPU Space the generator runs in a worker process, so its arguments and yields are plain
records; elsewhere `gpu` changes nothing.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace import Run
from visual import strings
from visual.pages.models import MODELS

try:
    import spaces  # before torch: a Space's GPU is lent to functions that it decorates
except ImportError:
    spaces = None

SECONDS = (10, 60)  # of GPU time a run may ask for
SECONDS_A_TOKEN = 0.25


def gpu_seconds(pair: str, prompt: str, params: DecodeParams) -> int:
    """How long a run is allowed to hold a Space's GPU."""
    wanted = SECONDS[0] + SECONDS_A_TOKEN * params.max_new_tokens
    return int(min(max(wanted, SECONDS[0]), SECONDS[1]))


def _on_gpu(decode: Callable[..., Iterator[Run]]) -> Callable[..., Iterator[Run]]:
    return decode if spaces is None else spaces.GPU(duration=gpu_seconds)(decode)


@_on_gpu
def pieces(pair: str, prompt: str, params: DecodeParams) -> Iterator[Run]:
    """Runs of one round each, then one of none that says how it ended; see `grown`.

    Raises:
        RheoError: see `Engine.decode`; or the pair is no longer the one that is loaded.
    """
    loaded = MODELS.look(pair)
    if loaded is None or loaded.engine is None:
        raise RheoError(strings.OTHER_PAIR)
    engine = loaded.engine
    decoding = engine.decode(prompt, params)
    try:
        for _ in decoding:
            yield _piece(engine, decoding, prompt, 1)
        yield _piece(engine, decoding, prompt, 0)
    finally:
        decoding.close()


def _piece(engine: Any, decoding: Any, prompt: str, rounds: int) -> Run:
    """The decoding as a trace of its last `rounds` rounds only: recording each round once."""
    last = copy.copy(decoding)
    last.rounds = decoding.rounds[len(decoding.rounds) - rounds :]
    return engine.run(last, prompt)


def grown(run: Run | None, piece: Run) -> Run:
    """`run` and the piece that follows it."""
    if run is None:
        return piece
    return replace(piece, rounds=run.rounds + piece.rounds, tokens={**run.tokens, **piece.tokens})
