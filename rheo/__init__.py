"""RheoScope's engine: lossless stochastic decoding with dynamic draft trees (arXiv 2609.21827).

A prompt goes in, rounds of draft, verification and commit come out, each a record that can be saved
and looked at. Importing this loads no torch; the functions below do when they are called.

    import rheo

    engine = rheo.load("smollm2-135m")
    stream = engine.generate("Why is the sky blue?", strategy="rheo", seed=3, max_new_tokens=64)
    for round in stream:
        print(round.accepted, round.expected_accepted)
    print(stream.text, stream.tau)
    run = stream.run()  # what rheo.open_trace("run.json.gz") gives of a saved one

The page's views need no server: `visual.figure(run, 0).show()` is the first round's tree as a
plotly figure (`import visual`; the engine itself never draws).

Rooms, in the order in which to read them: ranges, params, algorithm (its README is the
specification), decoding (the loop), trace (what is recorded), models; then exact (distributions by
enumeration), bench, training, gallery, cli. errors, counting, json_object,
whole_file and version are what all of them share.
"""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from rheo.errors import RheoError as RheoError
from rheo.params import DecodeParams as DecodeParams
from rheo.version import __version__ as __version__

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine
    from rheo.exact.audit import Audit
    from rheo.exact.worlds import World
    from rheo.trace.schema import Run


def load(
    pair: str = "smollm2-135m",
    *,
    target: str | None = None,
    draft: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    forward: str = "auto",
    progress: Callable[[str, float | None], None] | None = None,
) -> "Engine":
    """Return an engine with a pair of models in memory, fetched first if they are not here.

    Args:
        pair: a name of `rheo.models.hub.catalogue.PAIRS`.
        target, draft: Hub ids or folders, instead of a pair.
        device: "cpu", "cuda", "cuda:1"; None is a GPU where there is one.
        dtype: "float32", "bfloat16", "float16"; None is bfloat16 on a GPU, float32 on a CPU.
        forward: on a CPU "packed" (oneDNN), "plain", "transformers", or "auto", the faster.
        progress: called with each stage and the share of it that is done, where that is known.

    Raises:
        RheoError: an unknown name, files that cannot be fetched or read, models that do not fit
            each other or this machine.
    """
    from rheo.models.requirements import check_versions

    check_versions()
    from rheo.decoding.engine import Engine
    from rheo.models import placement
    from rheo.models.hub.catalogue import custom
    from rheo.models.hub.fetch import quiet
    from rheo.models.loader import load_pair

    if (target is None) != (draft is None):
        raise RheoError("A target and a draft belong together: name both, or a pair.")
    chosen = pair if target is None or draft is None else custom(target, draft)
    where = str(placement.device(device))
    as_ = placement.dtype(dtype)
    loaded = load_pair(chosen, progress or quiet, device=where, dtype=as_, forward=forward)
    return Engine(loaded)


def audit(world: "World | Mapping[str, Any]", params: DecodeParams | Mapping[str, Any]) -> "Audit":
    """Return the exact distribution of a round's tokens in a small world, by enumeration.

    Args:
        world: a `World`, or its JSON: {"vocab": V, "q": {...}, "p": {...}}, distributions by
            context ("" is the root, "0,3" follows tokens 0 and 3).
        params: m, K, R, depth, T, S, probes and the strategy are read.

    Raises:
        RheoError: no such world, or one with too many combinations of probe draws.
    """
    from rheo.exact.audit import audit as enumerate_world
    from rheo.exact.worlds import World

    if not isinstance(world, World):
        world = World.from_json(dict(world))
    if not isinstance(params, DecodeParams):
        params = DecodeParams.from_dict(dict(params))
    return enumerate_world(world, params)


def open_trace(path: str | PathLike[str]) -> "Run":
    """Return a recorded run (.json or .json.gz), checked; this needs no torch.

    Raises:
        RheoError: the file is not there, or is no trace.
    """
    from pathlib import Path

    from rheo.trace.io import load as read

    return read(Path(path))
