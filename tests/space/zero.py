"""A live run on a pretended ZeroGPU: `python -m tests.space.zero zero|plain FOLDER`, JSON out.

The `spaces` package is the real one, in its own emulation of CUDA: weights are placed, packed and
handed to a forked worker as on the Space. Only what needs a GPU or Hugging Face's scheduler is
replaced: the lease, and the copy of the packed weights, which stay on the CPU. "plain" is the same
run without any of it.
"""

import importlib
import io
import json
import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.space import pretend

ASKED = {"T": 1.0, "K": 4, "R": 12, "depth": 3, "S": 20, "max_new_tokens": 24, "seed": 9}
leases: list[dict] = []


def pack_and_emulate(engine, packed: Path) -> None:
    """What `spaces` does at launch, and the parts of its worker that need a GPU."""
    import torch
    from spaces.zero import torch as emulation
    from spaces.zero import wrappers
    from spaces.zero.torch import patching

    placed = {fake: real.clone() for fake, real in patching.cuda_aliases.items()}
    patching.Config.zerogpu_offload_dir = str(packed)
    emulation.pack()

    def move(callback=None) -> None:  # in the worker; each tensor arrives alone, as from the disk
        for fake, real in placed.items():
            fake.data = real
        engine.target.device = torch.device("cpu")
        engine.target.cache.devices = [engine.target.device] * engine.target.layers

    def schedule(**asked) -> SimpleNamespace:
        leases.append({"seconds": asked["duration"].seconds})
        again = len(leases) > 1  # the second run finds the first one's worker idle
        return SimpleNamespace(allowToken="t", nvidiaIndex=0, nvidiaUUID="u", idle=again)

    wrappers.client = SimpleNamespace(
        schedule=schedule,
        allow=lambda token: None,
        release=lambda token, **how: None,
        get_duration_seconds=lambda duration, size: duration.seconds,
        duration_warning=lambda: None,
    )
    wrappers.torch = SimpleNamespace(
        unpatch=emulation.unpatch,
        init=lambda uuid: None,
        size=lambda: 0,
        move=move,
        enter_mode=emulation.enter_mode,
    )


class Plain(pickle.Pickler):
    """Refuses what a process without torch could not read."""

    def reducer_override(self, value):
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__.split(".")[0] in ("torch", "numpy"):
            raise TypeError(f"a {kind.__module__}.{kind.__name__} crossed")
        return NotImplemented


def run(live_run, params, prompt: str = "the end of the river") -> dict:
    """A whole run: how often it answered, its text, or the sentence that it ended with."""
    from rheo.errors import RheoError

    whole, said, count = None, "", 0
    try:
        for piece in live_run.pieces("tiny", prompt, params):
            Plain(io.BytesIO()).dump(piece)
            whole, count = live_run.grown(whole, piece), count + 1
    except RheoError as error:
        said = str(error)
    shown = whole and {"text": whole.text, "stop": whole.stop, "device": whole.device}
    return {"run": shown, "pieces": count, "said": said}


def main(mode: str, folder: Path) -> None:
    if mode == "zero":
        os.environ |= {
            "SPACES_ZERO_GPU": "true",
            "SPACES_ZERO_DEVICE_API_URL": "http://127.0.0.1:1",
        }
        pretend.a_cuda_build()
    importlib.import_module("visual.runtime.zero_gpu")  # brings spaces first, as in app.py
    import torch

    from rheo.decoding.engine import Engine
    from rheo.models.hub.catalogue import custom
    from rheo.models.loader import load_pair
    from rheo.params import DecodeParams
    from visual.runtime import live_run

    def load(name: str, progress) -> Engine:
        device = None if mode == "zero" else "cpu"  # None: the engine finds the pretended GPU
        pair = custom(str(folder / "target"), str(folder / "head"))
        # the pass that a GPU has: another rounds otherwise in bfloat16
        as_there = {"device": device, "dtype": torch.bfloat16, "forward": "transformers"}
        engine = Engine(load_pair(pair, **as_there))
        engine.target.cache.bucket = engine.draft.bucket = 256  # as on a GPU
        return engine

    live_run.MODELS._load = load
    loading = live_run.MODELS.want("tiny", wait=True)
    if loading.error:
        raise SystemExit(loading.error)
    found = {
        "placed": str(loading.engine.target.device),
        "agreement": loading.engine.loaded.agreement,
    }
    if mode == "zero":
        pack_and_emulate(loading.engine, folder / "packed")
    params = DecodeParams(**ASKED)
    found["first"], found["second"] = run(live_run, params), run(live_run, params)
    found["refused"] = run(live_run, params, "the end " * 5000)
    stopped = live_run.pieces("tiny", "the end", params)
    next(stopped)
    stopped.close()
    found["after"] = run(live_run, params)
    found["leases"] = leases
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
