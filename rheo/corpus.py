"""A corpus that the target writes itself (`python -m rheo corpus`): answers, and their states."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from rheo.catalogue import ASSETS
from rheo.errors import RheoError
from rheo.prompts import read_prompts
from rheo.sampler import answer
from rheo.shards import States, Text, write
from rheo.target import Target

PROMPTS = ASSETS / "prompts" / "corpus"
TEMPERATURES = (1.0, 0.7, 1.0, 0.0, 1.0, 0.7, 1.0, 0.7, 1.0, 0.0)  # 5 : 3 : 2
ABOUT = "corpus.json"

Report = Callable[[str], None]


def head_layers(target: Target) -> tuple[int, int, int]:
    """The hidden states that a SafeAILab head of this target reads."""
    n = target.layers
    return 2, n // 2, n - 3


@torch.inference_mode()
def states(target: Target, text: Text) -> States:
    """What the target thinks at every token of a text, in one pass.

    The target must tap its `head_layers` and then the input of its final norm, index `layers`.
    """
    target.reset(len(text.tokens))
    _, tapped = target.prefill(text.tokens.to(target.device))
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
    report: Report = print,
) -> None:
    """Write a corpus, or what is missing of it, one shard a batch of prompts.

    Each pass answers every prompt once, at a temperature that goes round with the pass, in an
    order drawn anew. A shard depends on the arguments and its number alone, so a job that was
    stopped goes on where it was and ends with the same files on the same machine.

    Raises:
        RheoError: `folder` holds a corpus made with other arguments.
    """
    about = {
        "target": name, "layers": list(head_layers(target)), "passes": passes, "max_new": max_new,
        "batch": batch, "seed": seed, "prompts": _digest(prompts),
    }  # fmt: skip
    _claim(folder, about)
    target.tap((*head_layers(target), target.layers))
    jobs = [
        (p, start) for p in range(passes) for start in range(0, len(prompts), batch)
    ]  # fmt: skip
    missing = [number for number in range(len(jobs)) if not _shard(folder, number).exists()]
    start, tokens = time.monotonic(), 0
    for done, number in enumerate(missing, start=1):
        generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
        chosen = _turn(target, prompts, *jobs[number], batch, seed)
        texts = answer(target, *zip(*chosen, strict=True), max_new, generator)
        found = [states(target, text) for text in texts]
        write(
            _shard(folder, number), texts, found, {"target": name, "layers": str(about["layers"])}
        )
        tokens += sum(len(text.answer) for text in texts)
        seconds = time.monotonic() - start
        left = seconds / done * (len(missing) - done)
        report(
            f"shard {number + 1} of {len(jobs)}: {tokens} tokens so far, "
            f"{tokens / seconds:.0f} a second, about {_minutes(left)} left"
        )


def _turn(
    target: Target, prompts: Sequence[str], number: int, start: int, batch: int, seed: int
) -> list[tuple[list[int], float]]:
    """Ids and temperature of the prompts of one shard of pass `number`."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + 500_009 + number)
    order = torch.randperm(len(prompts), generator=generator).tolist()
    return [
        (target.encode(prompts[i]), TEMPERATURES[(i + number) % len(TEMPERATURES)])
        for i in order[start : start + batch]
    ]


def _claim(folder: Path, about: dict) -> None:
    """Note in the folder what it is made from; refuse one that was made from something else."""
    path = folder / ABOUT
    if path.exists():
        if json.loads(path.read_text(encoding="utf-8")) != about:
            raise RheoError(
                f"{folder} holds a corpus made with other prompts or settings; go on with the "
                f"settings in its {ABOUT}, or choose another folder."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _shard(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:05d}.safetensors"


def _digest(prompts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(prompts).encode()).hexdigest()[:16]


def _minutes(seconds: float) -> str:
    """
    >>> _minutes(42), _minutes(4000)
    ('42 s', '67 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main(args) -> None:
    """The command: arguments of `rheo.cli`."""
    prompts = [p.text for p in read_prompts(args.prompts or sorted(PROMPTS.glob("*.jsonl")))]
    target = Target.load(args.target, device=args.device, dtype=args.dtype)
    generate(
        target, prompts[: args.limit], args.out, passes=args.passes, max_new=args.max_new_tokens,
        batch=args.batch, seed=args.seed, name=args.name,
    )  # fmt: skip
