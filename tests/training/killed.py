"""Kill corpus, train, traces and gallery at random moments: `python -m tests.training.killed 20`.

Each attempt is a fork that is killed; a last one runs to its end. What is left must be what an
unbroken run leaves, and no unfinished file may ever be read as a finished one. Prints one JSON line
for each kind. It is a process of its own: forks of one that has threads may hang.
"""

import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file

from rheo.errors import RheoError
from rheo.gallery.listing import GalleryEntry, read_index, write_index
from rheo.models.target.target import Target
from rheo.trace.io import load, save
from rheo.training.corpus import generate
from rheo.training.corpus_files import shards
from rheo.training.run import train
from rheo.training.trainer import Recipe
from tests.decoding.tiny_runs import decoding, run_of, tiny_pair
from tests.tiny import byte_level_tokenizer, tiny_model

Job = Callable[[Path], None]
RECIPE = Recipe(steps=12, tokens=200, unroll=2, evaluate=6, checkpoint=1)
NAMES = [f"run{i}" for i in range(6)]


def corpus(folder: Path) -> None:
    prompts = [f"What is {i}?" for i in range(70)]
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    generate(target, prompts, folder / "corpus", max_new=6, batch=4, report=lambda line: None)


def training(folder: Path) -> None:
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    train(target, [SHARED / "corpus"], folder / "out", RECIPE, draft_vocab=40,
        held_out_tokens=20, report=lambda line: None)  # fmt: skip


def traces(folder: Path) -> None:
    for name in NAMES:
        save(RUN, folder / f"{name}.json.gz")


def gallery(folder: Path) -> None:
    index = []
    for number, name in enumerate(NAMES):
        save(RUN, folder / f"{name}.json.gz")
        index.append(GalleryEntry(name=name, title=name, sentence=name * 2000, round=number))
        write_index(folder, index)


def look_at_corpus(folder: Path) -> None:
    if any((folder / "corpus").glob("*.safetensors")):
        assert all(len(shard.texts) > 0 for shard in shards([folder / "corpus"]))


def look_at_training(folder: Path) -> None:
    log = folder / "out" / "log.jsonl"
    if log.exists():  # half a line may be its last until the next run
        [json.loads(line) for line in log.read_text().split("\n")[:-1]]


def look_at_traces(folder: Path) -> None:
    for file in folder.glob("*.json.gz"):
        load(file)


def look_at_gallery(folder: Path) -> None:
    look_at_traces(folder)
    for entry in read_index(folder):
        load(folder / f"{entry.name}.json.gz")


KINDS: dict[str, tuple[Job, Job]] = {
    "corpus": (corpus, look_at_corpus),
    "train": (training, look_at_training),
    "traces": (traces, look_at_traces),
    "gallery": (gallery, look_at_gallery),
}


def start(job: Job, folder: Path) -> int:
    """Run a job in a fork; return its process id."""
    if child := os.fork():
        return child
    try:
        job(folder)
        os._exit(0)
    except RheoError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(2)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)


def finish(job: Job, folder: Path) -> float:
    """Run a job to its end; return the seconds that it took."""
    begun = time.monotonic()
    status = os.waitpid(start(job, folder), 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0
    return time.monotonic() - begun


def digest(folder: Path) -> dict[str, str]:
    """Return what a folder holds, but logs, whose times differ, and leftovers of killed writers."""
    files = [f for f in sorted(folder.rglob("*")) if f.is_file()]
    found = {}
    for file in files:
        if file.name == "log.jsonl" or file.suffix == ".part":
            continue
        content = file.read_bytes()
        if file.suffix == ".pt":  # a zip with times in it
            content = repr(torch.load(file, weights_only=True)).encode()
        elif file.suffix == ".safetensors":  # whose header has no order
            content = repr(sorted(load_file(file).items())).encode()
        found[str(file.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def trial(kind: str, kills: int, root: Path, generator: torch.Generator) -> dict[str, object]:
    job, look = KINDS[kind]
    whole, broken = root / f"{kind}-whole", root / f"{kind}-broken"
    whole.mkdir(), broken.mkdir()
    seconds, expected = finish(job, whole), digest(whole)
    killed, unbroken = 0, 0
    while killed < kills:
        child = start(job, broken)
        time.sleep(float(torch.rand(1, generator=generator)) * seconds)
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), code
        look(broken)
        killed += code != 0
        if code == 0:  # it had gone to its end: the next begins anew
            unbroken += digest(broken) != expected
            shutil.rmtree(broken)
            broken.mkdir()
    finish(job, broken)
    look(broken)
    unbroken += digest(broken) != expected
    return {"kind": kind, "kills": killed, "different": unbroken, "files": len(expected)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    kills = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        SHARED = Path(scratch)
        d = decoding(tiny_pair(), max_new_tokens=30)
        list(d)
        RUN = run_of(d)
        finish(corpus, SHARED)
        for name in KINDS:
            seeded = torch.Generator().manual_seed(kills)
            print(json.dumps(trial(name, kills, SHARED, seeded)), flush=True)
