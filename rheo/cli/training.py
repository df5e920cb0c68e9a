"""Run the commands `corpus` and `train`. Heavy imports happen inside them, as in `main`."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rheo.cli.arithmetic import add_arithmetic
from rheo.cli.types import positive, real, whole
from rheo.models.hub.catalogue import DEFAULT, PAIRS

if TYPE_CHECKING:
    from rheo.models.target.target import Target


def add_corpus(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `corpus`."""
    add = command.add_argument
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the corpus is, or will be")
    _add_target(command)
    add(
        "--prompts",
        type=Path,
        nargs="+",
        metavar="FILE.jsonl",
        help='files of {"suite", "id", "prompt"} lines (default: those of assets/prompts/corpus); '
        "never name prompts that will measure the head",
    )
    add(
        "--texts",
        type=Path,
        metavar="FILE.npz",
        help="instead of asking: answers that the target gave before, as the arrays tokens, "
        "prompt_len, total_len and temperature",
    )
    for option, default, text in (
        ("--limit", None, "prompts at most, taken in turn by suite (default: all)"),
        ("--passes", 1, "answers to every prompt, each at another temperature"),
        ("--max-new-tokens", 240, "tokens after which an answer is cut"),
        ("--batch", 64, "answers written side by side"),
        ("--seed", 0, "of the one generator that every draw comes from"),
    ):
        kind = whole if option == "--seed" else positive
        _add_number(command, option, default, text, kind)


def add_train(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `train`."""
    add = command.add_argument
    add("--corpus", type=Path, nargs="+", required=True, metavar="FOLDER", help="to train on")
    add("--out", type=Path, required=True, metavar="FOLDER",
        help="gets checkpoint.pt, log.jsonl and at the end head/; a checkpoint there is gone on "
        "with")  # fmt: skip
    _add_target(command)
    add("--init", type=Path, metavar="FOLDER", help="a head to start from (default: a new one)")
    for option, default, text in (
        ("--steps", 2000, "in all"),
        ("--tokens", 2048, "of a step, padding included"),
        ("--warmup", 30, "steps in which the learning rate rises"),
        ("--unroll", 4, "depth to which the head is unrolled on its own outputs"),
        ("--draft-vocab", 8192, "of a new head: so many of the most frequent tokens"),
        ("--held-out-tokens", 8000, "of held-out prompts that are evaluated, at most"),
        ("--evaluate", 100, "steps between evaluations"),
        ("--checkpoint", 25, "steps between checkpoints"),
        ("--seed", 0, "of the order of the texts"),
    ):
        kind = whole if option in ("--seed", "--warmup") else positive
        _add_number(command, option, default, text, kind)
    for option, value, text in (
        ("--rate", 6e-4, "learning rate at its highest"),
        ("--decay", 0.5, "share of the steps in which it falls to zero"),
        ("--fading", 0.8, "weight of each depth, relative to the one before"),
        ("--tv", 0.0, "share of the total variation in the loss, the rest being cross-entropy"),
        ("--weight-decay", 0.0, "of AdamW"),
        ("--clip", 0.5, "largest norm of a gradient"),
    ):
        _add_number(command, option, value, text, real)
    add("--half", action="store_true", help="matrix products in bfloat16: several times faster "
        "where the processor knows it; the weights stay float32")  # fmt: skip


def corpus(args: argparse.Namespace) -> None:
    """Write a corpus, or what is missing of it; one line of progress a shard."""
    from rheo.bench.prompts import read_prompts
    from rheo.training.corpus import PROMPTS, generate, read_texts, take_in

    common = {"batch": args.batch, "report": lambda line: print(line, flush=True)}
    if args.texts:
        texts = read_texts(args.texts)[: args.limit]
        name, target = _target(args)
        take_in(target, texts, args.out, name=name, **common)
        return
    prompts = read_prompts(args.prompts or sorted(PROMPTS.glob("*.jsonl")), args.limit)
    name, target = _target(args)
    generate(
        target,
        [prompt.text for prompt in prompts],
        args.out,
        passes=args.passes,
        max_new=args.max_new_tokens,
        seed=args.seed,
        name=name,
        **common,
    )


def train(args: argparse.Namespace) -> None:
    """Train a head; prints the lines of its log, then its folder."""
    from dataclasses import fields

    from rheo.training import run
    from rheo.training.trainer import Recipe

    recipe = Recipe(**{field.name: getattr(args, field.name) for field in fields(Recipe)})
    _, target = _target(args)
    head = run.train(
        target,
        args.corpus,
        args.out,
        recipe,
        init=args.init,
        draft_vocab=args.draft_vocab,
        held_out_tokens=args.held_out_tokens,
        half=args.half,
        report=lambda line: print(json.dumps(line), flush=True),
    )
    print(head)


def _add_target(command: argparse.ArgumentParser) -> None:
    """Add which model, where, and in which dtype."""
    add = command.add_argument
    names = f"one of {', '.join(PAIRS)}; its target is used (default: %(default)s)"
    add("--pair", default=DEFAULT, metavar="NAME", help=names)
    add("--target", metavar="ID", help="a Hub id or a folder, instead of a named pair")
    add("--device", metavar="NAME", help="such as cpu or cuda:0 (default: a GPU if there is one)")
    add_arithmetic(command)


def _target(args: argparse.Namespace) -> tuple[str, "Target"]:
    """Return the target's name and the target, fetched if it is not here."""
    import torch

    from rheo.models.hub.catalogue import pair, source
    from rheo.models.hub.fetch import console_progress, ensure_source
    from rheo.models.placement import usable
    from rheo.models.target.target import Target

    wanted = source(args.target) if args.target else pair(args.pair).target
    folder = ensure_source(wanted, console_progress(), tokenizer=True)
    device = usable(args.device) or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, args.dtype) if args.dtype else None
    name = args.target or args.pair
    return name, Target.load(str(folder), device=device, dtype=dtype, forward=args.forward)


def _add_number(
    command: argparse.ArgumentParser,
    option: str,
    default: float | None,
    text: str,
    kind: Callable[[str], float],
) -> None:
    """Add an option that takes a number; its help names the default, if it has one."""
    text = text if default is None else f"{text} (default: %(default)s)"
    metavar = "X" if kind is real else "N"
    command.add_argument(option, type=kind, default=default, metavar=metavar, help=text)
