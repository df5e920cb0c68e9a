"""What this machine can hold and run, found out before a model is loaded.

Weights are counted from the headers of their files, so that nothing is read to learn that it would
not have fitted.
"""

import contextlib
import math
import os
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import torch
from safetensors import SafetensorError, safe_open

from rheo.errors import RheoError
from rheo.models.requirements import STILL_WORKS
from rheo.models.target.pretrained import HEADROOM

CGROUP = Path("/sys/fs/cgroup")
GB = 1e9


def device(asked: str | None) -> torch.device:
    """Return the device to run on; None or "auto" is a GPU if there is one, else the CPU.

    Raises:
        RheoError: the device asked for is not there.
    """
    if asked is None or asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, index = asked.partition(":")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(index or 0) >= count:
            have = f"{count} CUDA GPUs" if count else "no CUDA GPU"
            raise RheoError(
                f"The device {asked} was asked for and torch {torch.__version__} sees {have} "
                f"here: choose cpu or auto, or install a torch build for this GPU; {STILL_WORKS}."
            )
    usable(asked)
    return torch.device(asked)


def usable(name: str | None) -> str | None:
    """Return `name` itself, once something has been put there; None leaves it to the loader.

    Raises:
        RheoError: there is no such device here.
    """
    try:
        if name is not None:
            torch.empty(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError):
        raise RheoError(
            f"The device {name!r} cannot be used here: leave --device out to get what there is."
        ) from None
    return name


def dtype(asked: str | None) -> torch.dtype | None:
    """Return a dtype by its name; None or "auto" is None, which lets the device decide."""
    return None if asked in (None, "auto") else getattr(torch, asked)


def weights(folder: Path) -> int:
    """Return how many numbers the weight files of a folder hold, by their headers; 0 without any.

    A pickle has no header: its tensors are mapped, so that their numbers are not read.

    >>> weights(Path("nowhere"))
    0
    """
    total = 0
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, "pt") as tensors:
                shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
        except (OSError, SafetensorError):
            continue  # whoever loads it says what is wrong with it
        total += sum(map(math.prod, shapes))
    if total:
        return total
    for file in folder.glob("pytorch_model*.bin"):
        with contextlib.suppress(Exception):  # whoever loads it says what is wrong with it
            pickled = torch.load(file, "cpu", weights_only=True, mmap=True)
            total += sum(x.numel() for x in pickled.values() if isinstance(x, torch.Tensor))
    return total


def available(on: torch.device) -> int:
    """Return the free bytes on a device: of all GPUs, or of this process's share of the memory."""
    if on.type == "cuda":
        return sum(torch.cuda.mem_get_info(i)[0] for i in range(torch.cuda.device_count()))
    free = psutil.virtual_memory().available
    try:  # a container may have less than the machine
        most = (CGROUP / "memory.max").read_text().strip()
        if most != "max":
            free = min(free, int(most) - int((CGROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return max(0, free)


def check_fit(name: str, numbers: int, on: torch.device, as_: torch.dtype | None) -> None:
    """Refuse weights that need more than what is free.

    Args:
        name: of the pair, for the sentence.
        numbers: that the weights have.
        as_: dtype they will have; None is bfloat16 on CUDA, float32 elsewhere.

    Raises:
        RheoError: they do not fit; both numbers are in the sentence.
    """
    if os.getenv("SPACES_ZERO_GPU"):  # its GPU comes with a run and cannot be asked now
        return
    as_ = as_ or (torch.bfloat16 if on.type == "cuda" else torch.float32)
    need, free = numbers * as_.itemsize, available(on)
    if need > HEADROOM * free:
        shown = str(as_).removeprefix("torch.")
        raise RheoError(
            f"{name} needs about {need / GB:.1f} GB in {shown} and this machine has "
            f"{free / GB:.1f} GB free on {on.type}: choose a smaller pair; {STILL_WORKS}."
        )
