"""Train an EAGLE-3 head on a corpus of its target: the recipe, the steps, the checkpoint."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from rheo.errors import RheoError, reason
from rheo.models.target.own_logits import OwnLogits
from rheo.training.batches import Batch, epoch_batches
from rheo.training.corpus_files import shards
from rheo.training.loss import soft_loss
from rheo.training.unrolled_head import UnrolledHead
from rheo.whole_file import whole_file

CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run; the same recipe, corpus and start give the same head.

    Attributes:
        steps: in all. tokens: of a step, padding included.
        rate: of learning; it rises over `warmup` steps, stays, and falls linearly to zero over the
            last `decay` of all steps.
        clip: largest norm of a gradient.
        unroll: K, how deep the head is unrolled; depth k + 1 weighs fading**k.
        tv: share of the total variation in the loss (see `rheo.training.loss`).
        evaluate, checkpoint: steps between evaluations, and between checkpoints.

    Raises:
        RheoError: a figure out of its range.
    """

    steps: int
    tokens: int = 2048  # of a step, padding included
    rate: float = 6e-4
    warmup: int = 30
    decay: float = 0.5
    clip: float = 0.5
    unroll: int = 4
    fading: float = 0.8
    tv: float = 0.0
    weight_decay: float = 0.0
    seed: int = 0
    evaluate: int = 100  # steps between evaluations
    checkpoint: int = 25  # steps between checkpoints

    def __post_init__(self) -> None:
        for name in ("rate", "clip", "fading", "tv", "decay", "weight_decay"):
            value = getattr(self, name)
            most = 1.0 if name in ("fading", "tv", "decay") else math.inf
            if not (math.isfinite(value) and 0 <= value <= most):
                top = "" if most == math.inf else " and at most 1"
                raise RheoError(f"The {name} of a recipe is a number of at least 0{top}.")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of step number `step`, counted from zero.

        >>> [round(Recipe(8, rate=1.0, warmup=2).rate_at(step), 2) for step in range(8)]
        [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
        """
        left = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.rate * min(1.0, (step + 1) / max(1, self.warmup), left)


class Trainer:
    """A head in training: its weights, its optimiser, and its place in the corpus.

    Args:
        head: takes gradients from now on.
        model: the target's, whose distribution the head learns.
        corpus: folders of shards; looked at again before each pass, so a corpus may grow.
        half: matrix products in bfloat16; softmax, loss, sums and weights stay float32.
    """

    def __init__(
        self,
        head: UnrolledHead,
        model: PreTrainedModel,
        corpus: list[Path],
        recipe: Recipe,
        half: bool,
    ) -> None:
        self.head, self.corpus, self.recipe, self.half = head.trainable(), corpus, recipe, half
        self.device = model.get_output_embeddings().weight.device
        self.dtype = torch.bfloat16 if half else torch.float32  # of matrix products
        self.teacher = OwnLogits(model, head.target_ids, self.dtype)
        self.optimiser = torch.optim.AdamW(
            head.weights.parameters(),
            lr=recipe.rate,
            betas=(0.9, 0.95),
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        self.step = self.epoch = self.place = self.tokens = 0

    def batches(self) -> Iterator[Batch]:
        """Yield batches from the trainer's place on, without end; `learn` each before the next."""
        while True:
            found, recipe = shards(self.corpus), self.recipe
            start = self.place
            batches = epoch_batches(
                found, recipe.tokens, recipe.seed, self.epoch, start, self.device
            )
            yield from batches
            if self.place == 0:
                raise RheoError("The corpus holds no text to train on; make a larger one.")
            self.epoch, self.place = self.epoch + 1, 0

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of a batch over its learning slots and depths, with gradients."""
        recipe, learning = self.recipe, batch.learning(self.recipe.unroll)  # (K, B, S)
        depth = torch.arange(recipe.unroll, device=learning.device)
        weights = learning * (recipe.fading**depth)[:, None, None]
        with torch.autocast(learning.device.type, torch.bfloat16, enabled=self.half):
            outputs = self.head.unroll(batch.tokens, batch.features, recipe.unroll)
        slots = learning[0]  # a deeper step learns at fewer of the same slots
        total = soft_loss(
            outputs[:, slots],
            self.head.weights["lm_head"],
            batch.last[slots],
            self.teacher,
            weights[:, slots],
            recipe.tv,
            self.dtype,
        )
        return total / weights.sum().clamp(min=1)

    def learn(self, batch: Batch) -> float:
        """Take one step on a batch; return its loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate_at(self.step)
        loss = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.head.weights.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.step, self.place = self.step + 1, self.place + 1
        self.tokens += int(batch.stop.sum() + 2 * len(batch.stop))
        return loss.item()

    def save(self, path: Path) -> None:
        """Write all that `resume` needs into one file that is replaced whole."""
        state = {
            "weights": self.head.weights.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "place": [self.step, self.epoch, self.place, self.tokens],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part:
            torch.save(state, part)

    def resume(self, path: Path) -> None:
        """Go on where `save` left off.

        Raises:
            RheoError: no such file, or one of another head.
        """
        try:
            state = torch.load(path, self.device, weights_only=True)
            self.head.weights.load_state_dict(state["weights"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step, self.epoch, self.place, self.tokens = state["place"]
        except Exception as error:  # unpickling damaged bytes raises whatever they happen to say
            raise RheoError(
                f"The checkpoint {path} is damaged or belongs to another head ({reason(error)}): "
                "delete it to begin anew, or choose another folder."
            ) from error
