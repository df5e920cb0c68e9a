"""Let the target write a corpus (`python -m rheo corpus`): its answers, and their hidden states."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from rheo.errors import RheoError, reason
from rheo.models.hub.catalogue import ASSETS
from rheo.models.target.target import Target
from rheo.training.batch_generate import answer
from rheo.training.corpus_files import States, Text, write
from rheo.whole_file import whole_file

PROMPTS = ASSETS / "prompts" / "corpus"
TEMPERATURES = (1.0, 0.7, 1.0, 0.0, 1.0, 0.7, 1.0, 0.7, 1.0, 0.0)  # 5 : 3 : 2
ABOUT = "corpus.json"

_Report = Callable[[str], None]


def head_layers(target: Target) -> tuple[int, int, int]:
    """Return which hidden states a SafeAILab head of this target reads: low, middle, high."""
    n = target.layers
    return 2, n // 2, n - 3


@torch.inference_mode()
def states(target: Target, text: Text) -> States:
    """Return the target's hidden states at every token of a text, from one forward pass.

    The target must tap its `head_layers` and then the input of its final norm, index `layers`.
    """
    target.reset(len(text.tokens))
    tapped = target.prefill(text.tokens.to(target.device))[1]
    assert tapped is not None  # the taps are on
    features, top = tapped.split([3 * target.hidden_size, target.hidden_size], dim=-1)
    return States(features, target.model.get_decoder().norm(top))


def generate(
    target: Target,
    prompts: Sequence[str],
    folder: Path,
    *,
    passes: int = 1,
    max_new: int = 240,
    batch: int = 64,
    seed: int = 0,
    name: str = "target",
    report: _Report = print,
) -> None:
    """Write a corpus, or what is missing of it, one shard a batch of prompts.

    Each pass answers every prompt once, at a temperature that goes round with the pass, in an
    order drawn anew. A shard depends on the arguments and its number alone, so a job that was
    stopped goes on where it was and ends with the same texts on the same machine.

    Raises:
        RheoError: `folder` holds a corpus made with other arguments.
    """
    starts = [(p, start) for p in range(passes) for start in range(0, len(prompts), batch)]

    def make(number: int) -> list[Text]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        ids, temperatures = _shard_prompts(target, prompts, *starts[number], batch, seed)
        return answer(target, ids, temperatures, max_new, generator)

    digest = _digest("\n".join(prompts).encode())
    about: dict[str, object] = {
        "passes": passes,
        "max_new": max_new,
        "batch": batch,
        "seed": seed,
        "prompts": digest,
    }
    _write_missing(target, folder, len(starts), make, about, name, report)


def take_in(
    target: Target,
    texts: Sequence[Text],
    folder: Path,
    *,
    batch: int = 64,
    name: str = "target",
    report: _Report = print,
) -> None:
    """Write a corpus of texts that the target wrote before; otherwise like `generate`."""
    shards = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    digest = _digest(torch.cat([text.tokens for text in texts]).numpy().tobytes())
    about: dict[str, object] = {"batch": batch, "texts": digest}
    _write_missing(target, folder, len(shards), shards.__getitem__, about, name, report)


def read_texts(path: Path) -> list[Text]:
    """Read the texts of an .npz file.

    Its arrays: tokens of all texts, one after the other; prompt_len, total_len and temperature of
    each.

    Raises:
        RheoError: not such a file.
    """
    try:
        with np.load(path) as arrays:
            tokens = torch.from_numpy(arrays["tokens"].astype(np.int64))
            each = [arrays[key].tolist() for key in ("prompt_len", "temperature")]
            parts = tokens.split(arrays["total_len"].tolist())
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise RheoError(
            f"{path} is no file of texts ({error}); it needs the arrays tokens, prompt_len, "
            "total_len and temperature."
        ) from error
    return [Text(*fields) for fields in zip(parts, *each, strict=True)]


def _write_missing(
    target: Target,
    folder: Path,
    count: int,
    make: Callable[[int], Sequence[Text]],
    about: dict[str, object],
    name: str,
    report: _Report,
) -> None:
    """Write the shards that are missing, each made by its number."""
    layers = head_layers(target)
    _check_settings(folder, {"target": name, "layers": list(layers), **about})
    target.tap((*layers, target.layers))
    missing = [number for number in range(count) if not _shard(folder, number).exists()]
    start, tokens = time.monotonic(), 0
    for done, number in enumerate(missing, start=1):
        texts = make(number)
        found = [states(target, text) for text in texts]
        write(_shard(folder, number), texts, found, {"target": name, "layers": str(list(layers))})
        tokens += sum(len(text.answer) for text in texts)
        seconds = time.monotonic() - start
        left = seconds / done * (len(missing) - done)
        report(
            f"shard {number + 1} of {count}: {tokens} tokens so far, "
            f"{tokens / seconds:.0f} a second, about {_minutes(left)} left"
        )


def _shard_prompts(
    target: Target, prompts: Sequence[str], number: int, start: int, batch: int, seed: int
) -> tuple[list[list[int]], list[float]]:
    """Return the ids and the temperatures of the prompts of one shard of pass `number`."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + 500_009 + number)
    order = torch.randperm(len(prompts), generator=generator).tolist()
    chosen = order[start : start + batch]
    temperatures = [TEMPERATURES[(i + number) % len(TEMPERATURES)] for i in chosen]
    return [target.encode(prompts[i]) for i in chosen], temperatures


def _check_settings(folder: Path, about: dict[str, object]) -> None:
    """Note in the folder what it is made from; refuse one that was made from something else."""
    path = folder / ABOUT
    if path.exists():
        if _read_settings(path) != about:
            raise RheoError(
                f"{folder} holds a corpus made with other prompts or settings; go on with the "
                f"settings in its {ABOUT}, or choose another folder."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _read_settings(path: Path) -> object:
    """Return what a corpus says that it is made from. Raises RheoError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RheoError(
            f"{path} cannot be read ({reason(error)}), so nobody knows what this corpus is made "
            "from: choose another folder."
        ) from error


def _shard(folder: Path, number: int) -> Path:
    """Return the file of shard `number`."""
    return folder / f"shard-{number:05d}.safetensors"


def _digest(content: bytes) -> str:
    """Return the beginning of a SHA-256, enough to tell two corpora apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def _minutes(seconds: float) -> str:
    """Return a duration as a person says it.

    >>> _minutes(42), _minutes(4000)
    ('42 s', '67 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
