"""Training batches: texts of like length side by side, in an order that only the seed decides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from rheo.training.corpus_files import Shard, States, Text

POOL = 32  # batches among which texts are sorted by length


@dataclass(frozen=True)
class Batch:
    """B texts of S + 1 tokens, shorter ones padded at their end.

    Attributes:
        tokens: (B, S + 1) int64.
        features: (B, S, 3dt) of all tokens but the last.
        last: (B, S, dt) the target's hidden state that predicts what slot t predicts, that of
            token t + 1.
        first, stop: (B,) int64, the range of slots that learn.
    """

    tokens: Tensor
    features: Tensor
    last: Tensor
    first: Tensor
    stop: Tensor

    def learning(self, steps: int) -> Tensor:
        """Return (K, B, S) bool: slots whose root, k slots before, is one decoding drafts from.

        The first root is the answer's first token, in the slot before it; the last slot that
        learns predicts the text's last token.
        """
        slot = torch.arange(self.features.shape[1], device=self.first.device)  # (S,)
        root = slot - torch.arange(steps, device=slot.device)[:, None]  # (K, S)
        return (root[:, None] >= self.first[:, None]) & (slot < self.stop[:, None])


def collate(texts: Sequence[Text], states: Sequence[States], device: torch.device) -> Batch:
    """Put texts of three tokens or more beside each other; states keep their dtype."""
    batch = Batch(
        tokens=pad_sequence([text.tokens for text in texts], batch_first=True),
        features=pad_sequence([s.features[:-1] for s in states], batch_first=True),
        last=pad_sequence([s.last[1:] for s in states], batch_first=True),
        first=torch.tensor([max(text.prompt, 1) - 1 for text in texts]),
        stop=torch.tensor([len(text.tokens) - 2 for text in texts]),
    )
    return Batch(*(field.to(device) for field in vars(batch).values()))


def plan(lengths: Sequence[int], budget: int, generator: torch.Generator) -> list[list[int]]:
    """Divide texts into batches of at most `budget` padded tokens, as lists of their indices.

    Args:
        lengths: of each text, in tokens. A text longer than the budget is a batch of its own.

    >>> plan([3, 9, 3, 9], 6, torch.Generator().manual_seed(0))
    [[0, 2], [3], [1]]
    """
    order = torch.randperm(len(lengths), generator=generator).tolist()
    average = max(1, sum(lengths) // max(1, len(lengths)))
    pool = POOL * max(1, budget // average)
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        current: list[int] = []
        for index in sorted(order[start : start + pool], key=lengths.__getitem__):
            if current and lengths[index] * (len(current) + 1) > budget:
                batches.append(current)
                current = []
            current.append(index)
        batches.append(current)
    shuffled = torch.randperm(len(batches), generator=generator).tolist()
    return [batches[index] for index in shuffled]


def epoch_batches(
    found: Sequence[Shard], budget: int, seed: int, epoch: int, skip: int, device: torch.device
) -> Iterator[Batch]:
    """Yield the batches of epoch number `epoch` but the first `skip`, held-out prompts left out."""
    places = [
        (shard, index)
        for shard in found
        for index, text in enumerate(shard.texts)
        if not text.held_out and len(text.tokens) > max(2, text.prompt + 1)
    ]
    lengths = [len(shard.texts[index].tokens) for shard, index in places]
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    for chosen in plan(lengths, budget, generator)[skip:]:
        texts = [places[i][0].texts[places[i][1]] for i in chosen]
        states = [places[i][0].states(places[i][1]) for i in chosen]
        yield collate(texts, states, device)
