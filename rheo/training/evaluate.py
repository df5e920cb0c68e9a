"""Measure how well a head drafts texts it never saw: by depth, against the target at T = 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from rheo.models.target.own_logits import OwnLogits
from rheo.training.batches import Batch, collate
from rheo.training.corpus_files import States, Text
from rheo.training.unrolled_head import UnrolledHead


@dataclass(frozen=True)
class Score:
    """Means over the slots of one depth, 1 being right below the root.

    Attributes:
        overlap: sum(min(p, q)) with p the target's softmax at T = 1 over its full vocabulary and q
            the head's softmax over the draft vocabulary: the probability that a token drawn from q
            is accepted.
        agreement: how often both have the same best token.
        slots: over how many slots these are means.
    """

    depth: int
    overlap: float
    agreement: float
    slots: int


class HeldOut:
    """Texts kept for evaluation, with the target's distribution at every slot worked out once.

    Args:
        texts, states: of the same texts; float32 states where the figures are to be exact.
        model: the target's.
        target_ids: (Vd,) of the head, None where both vocabularies are one.
    """

    def __init__(
        self,
        texts: Sequence[Text],
        states: Sequence[States],
        model: PreTrainedModel,
        target_ids: Tensor | None,
    ) -> None:
        device = model.get_output_embeddings().weight.device
        self.batches = [
            collate([text], [state], device)
            for text, state in zip(texts, states, strict=True)
            if len(text.tokens) > max(2, text.prompt + 1)
        ]
        logits = OwnLogits(model, dtype=torch.float32)
        targets = [_target_at_slots(batch, logits, target_ids) for batch in self.batches]
        self.p, self.best = zip(*targets, strict=True)

    @torch.inference_mode()
    def score(self, head: UnrolledHead, steps: int) -> list[Score]:
        """Return the head's figures at depths 1 to `steps`, in float32."""
        shared, agreed, count = torch.zeros(3, steps, device=self.best[0].device)
        for batch, p, best in zip(self.batches, self.p, self.best, strict=True):
            outputs = head.unroll(batch.tokens, batch.features.float(), steps)[:, 0]  # (K, S, d)
            learning = batch.learning(steps)[:, 0]  # (K, S)
            slots = slice(int(batch.first), int(batch.stop))  # of the rows in p
            for k in range(steps):
                q = (outputs[k, slots] @ head.weights["lm_head"]).softmax(-1)  # (r, Vd)
                drafted = q.argmax(-1)
                if head.target_ids is not None:
                    drafted = head.target_ids[drafted]
                counted = learning[k, slots]
                shared[k] += torch.minimum(p, q).sum(-1)[counted].sum()
                agreed[k] += (drafted == best)[counted].sum()
                count[k] += counted.sum()
        means = zip(
            (shared / count).tolist(), (agreed / count).tolist(), count.tolist(), strict=True
        )
        return [Score(k + 1, a, b, int(c)) for k, (a, b, c) in enumerate(means)]


@torch.inference_mode()
def _target_at_slots(
    batch: Batch, logits: OwnLogits, target_ids: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return p at the draft ids (r, Vd) and the target's best tokens (r,), slot by slot."""
    last = batch.last[0, int(batch.first) : int(batch.stop)].float()
    p = logits(last).softmax(-1)  # (r, V)
    return p if target_ids is None else p[:, target_ids], p.argmax(-1)
