"""Run a training, from a corpus to a head on disk, with a log that can be plotted."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.models.draft.checkpoints import read
from rheo.models.target.target import Target
from rheo.training.corpus import head_layers, states
from rheo.training.corpus_files import Shard, Text, shards
from rheo.training.evaluate import HeldOut
from rheo.training.init_head import coverage, draft_vocabulary, initial_head, save
from rheo.training.trainer import CHECKPOINT, Recipe, Trainer
from rheo.training.unrolled_head import UnrolledHead

_HEAD, _LOG = "head", "log.jsonl"
DEPTHS = 5  # that evaluations report
EVERY = 10  # steps between two lines of progress

_Report = Callable[[dict[str, object]], None]


def train(
    target: Target,
    corpus: Sequence[Path],
    out: Path,
    recipe: Recipe,
    *,
    init: Path | None = None,
    draft_vocab: int = 8192,
    held_out_tokens: int = 8000,
    half: bool = False,
    report: _Report = print,
) -> Path:
    """Train a head of `target`; go on with the checkpoint in `out` if there is one.

    Args:
        corpus: folders that `rheo.training.corpus.generate` wrote.
        init: a head to start from, in any public layout; None makes one from the target.
        draft_vocab: of a new head: so many of the corpus's most frequent tokens.
        held_out_tokens: how many of the held-out prompts' tokens are evaluated, at most.
        half: matrix products in bfloat16.
        report: called with every line that the log in `out` gets.

    Returns:
        The folder of the head, in the SafeAILab layout.

    Raises:
        RheoError: no corpus, one of other hidden states than the head reads, or a head that does
            not fit the target.
    """
    log = _Log(out, report)
    found = shards(corpus)
    config, head = _start(target, found, init, draft_vocab, log)
    _check_layers(found, head, target)
    trainer = Trainer(head, target.model, list(corpus), recipe, half)
    if (out / CHECKPOINT).exists():
        trainer.resume(out / CHECKPOINT)
    held = _held_out(target, found, held_out_tokens, head)
    _evaluate(trainer, held, log)
    _loop(trainer, held, out, log)
    trainer.save(out / CHECKPOINT)
    shared = head.embeddings.shape == target.embeddings.shape
    shared = shared and torch.equal(head.embeddings, target.embeddings.float())
    save(head, config, out / _HEAD, None if shared else head.embeddings)
    return out / _HEAD


def _loop(trainer: Trainer, held: HeldOut | None, out: Path, log: "_Log") -> None:
    """Take all steps that are left."""
    recipe = trainer.recipe
    losses: list[float] = []
    start, first, before = time.monotonic(), trainer.step, trainer.tokens
    for batch in trainer.batches():
        if trainer.step >= recipe.steps:
            return
        losses.append(trainer.learn(batch))
        if trainer.step % EVERY == 0 or trainer.step == recipe.steps:
            seconds = time.monotonic() - start
            left = seconds / (trainer.step - first) * (recipe.steps - trainer.step)
            log(
                step=trainer.step, tokens=trainer.tokens, loss=sum(losses) / len(losses),
                tokens_per_s=(trainer.tokens - before) / seconds, minutes_left=left / 60,
            )  # fmt: skip
            losses.clear()
        if trainer.step % recipe.checkpoint == 0:
            trainer.save(out / CHECKPOINT)
        if trainer.step % recipe.evaluate == 0 or trainer.step == recipe.steps:
            _evaluate(trainer, held, log)


def _start(
    target: Target, found: Sequence[Shard], init: Path | None, size: int, log: "_Log"
) -> tuple[JsonObject, UnrolledHead]:
    """Return the config.json and the head before the first step."""
    answers = [text.answer for shard in found for text in shard.texts if not text.held_out]
    if init is None:
        size, ends = min(size, target.vocab_size), sorted(target.eos_ids)
        ids, share = draft_vocabulary(answers, target.vocab_size, size, ends)
        config, checkpoint = initial_head(target.model, ids)
    else:
        checkpoint = read(init)
        share = coverage(answers, target.vocab_size, checkpoint.target_ids)
        # what the head computes is in there, whatever its layout: only the weights will change
        config = json.loads((init / "config.json").read_text(encoding="utf-8"))
    head = UnrolledHead(
        checkpoint,
        target.embeddings.float(),
        target.layers,
        device=target.device,
        dtype=torch.float32,
    )
    log(draft_vocabulary=head.vocab_size, coverage=share)
    return config, head


def _check_layers(found: Sequence[Shard], head: UnrolledHead, target: Target) -> None:
    """Check that the corpus holds the hidden states that the head reads. Raises RheoError."""
    stored = found[0].about.get("layers")
    if stored != str(list(head.feature_layers)):
        raise RheoError(
            f"The corpus holds the hidden states {stored} and the head reads "
            f"{list(head.feature_layers)}; make a corpus with this version, or start from a head "
            "that reads those."
        )


def _held_out(
    target: Target, found: Sequence[Shard], tokens: int, head: UnrolledHead
) -> HeldOut | None:
    """Return the first held-out texts of the corpus, their states anew in the target's dtype."""
    target.tap((*head_layers(target), target.layers))
    texts: list[Text] = []
    for shard in found:
        for text in shard.texts:
            if text.held_out and len(text.answer) > 1 and tokens > 0:
                texts.append(text)
                tokens -= len(text.answer)
    if not texts:
        return None
    with torch.inference_mode():
        known = [states(target, text) for text in texts]
    return HeldOut(texts, known, target.model, head.target_ids)


def _evaluate(trainer: Trainer, held: HeldOut | None, log: "_Log") -> None:
    """Log the head's figures on the held-out texts, if there are any."""
    if held is not None:
        scores = held.score(trainer.head, DEPTHS)
        log(
            step=trainer.step, tokens=trainer.tokens,
            overlap=[round(score.overlap, 4) for score in scores],
            agreement=[round(score.agreement, 4) for score in scores],
            slots=[score.slots for score in scores],
        )  # fmt: skip


class _Log:
    """A file of JSON lines, each also reported."""

    def __init__(self, out: Path, report: _Report) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.path, self.report = out / _LOG, report
        if self.path.exists():  # a run that was killed may have left half a line
            whole, end, _ = self.path.read_bytes().rpartition(b"\n")
            self.path.write_bytes(whole + end)

    def __call__(self, **figures: object) -> None:
        line = {k: round(x, 4) if isinstance(x, float) else x for k, x in figures.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.report(line)
