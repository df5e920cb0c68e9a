"""What the decoder asks of a draft model."""

from typing import Protocol

import torch
from torch import Tensor


class Draft(Protocol):
    """A draft model over one growing sequence (batch of one).

    A round calls `extend` once with what the last round committed, then `level` once for each
    expanded level of the tree. Rows made by `level` are scratch: the next `extend` drops them, and
    accepted tokens come back through `extend` with the target's true features.
    """

    @property
    def name(self) -> str:
        """Return the draft's name, shown to people."""

    @property
    def vocab_size(self) -> int:
        """Return Vd, the number of logits a row has."""

    @property
    def target_ids(self) -> Tensor | None:
        """Return the target's id of each draft id (Vd,) int64, ascending; None for the same ids."""

    @property
    def feature_layers(self) -> tuple[int, int, int] | None:
        """Return which of the target's hidden states `extend` wants, lowest first.

        Indices of transformers' `hidden_states`: i is the input of layer i. None where the draft
        reads tokens only.
        """

    def reset(self, capacity: int, scratch: int) -> None:
        """Forget the sequence; make room for `capacity` true rows and `scratch` tree rows."""

    def extend(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        """Commit true rows; return the logits of what follows the last token.

        Args:
            tokens: (n,) int64, every token committed since the last call. The last one is the
                root, which the target has not processed; the first call brings the whole prompt.
            features: (f, 3 * dt) the target's tapped hidden states, low to high, of the f tokens
                *before* each of the last f tokens (f = n - 1 on the first call, n after). None
                where `feature_layers` is None.

        Returns:
            (Vd,) float32 logits of the root's children.
        """

    def level(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """Run one beam of tree nodes.

        Args:
            tokens: (b,) int64 target ids of the nodes, in creation order.
            parents: (b,) int64, each node's parent as an index into the previous call's nodes;
                zeros on the first level, whose parent is the root.

        Returns:
            (b, Vd) float32 logits of the nodes' children.
        """


def descend(mask: Tensor, parents: Tensor) -> Tensor:
    """Return which scratch rows the next level attends to: its parent's, and itself.

    Args:
        mask: (b', s) bool, the previous level's rows; (1, 0) before the first level.
        parents: (b,) int64 into the b' rows.

    Returns:
        (b, s + b) bool.

    >>> one = descend(torch.ones(1, 0, dtype=torch.bool), torch.tensor([0, 0]))
    >>> descend(one, torch.tensor([1, 1])).int().tolist()
    [[0, 1, 1, 0], [0, 1, 0, 1]]
    """
    own = torch.eye(parents.shape[0], dtype=torch.bool, device=parents.device)
    return torch.cat([mask[parents], own], dim=-1)
