"""How large a drawn tree may become: rules that stop on the way down the ranked list.

A rule walks down the candidates in the order of pruning and stops by what it has seen so far. Then
what is emitted still follows the target's distribution; a rule that looks further is biased
(algorithm section 7).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rheo.errors import RheoError

_STEPS = 2.0**40


class Budget(NamedTuple):
    """What a round may spend beside its R nodes. The default spends all of R.

    Attributes:
        theta: nodes whose score, a probability, is below it are not kept.
        cost: (at least R + 1,) milliseconds C(n) of a round whose tree has n nodes. Nodes are added
            while (1 + sum of scores) / C does not fall; with a convex C that is the best tree.
        grow_min: another level is drafted only if the best score of the level before reaches it.
        look_ahead: take the best n of the whole list instead. BIASED, for comparison only.
        grow_sum: like `grow_min` for the sum of the beam's scores. BIASED, for comparison only.
    """

    theta: float = 0.0
    cost: Tensor | None = None
    grow_min: float = 0.0
    look_ahead: bool = False
    grow_sum: float = 0.0

    @property
    def prunes(self) -> bool:
        """Return whether fewer than R nodes may be kept."""
        return self.theta > 0 or self.cost is not None

    @property
    def stops_growth(self) -> bool:
        """Return whether levels may be left undrafted."""
        return self.grow_min > 0 or self.grow_sum > 0

    def size(self, score: Tensor) -> Tensor:
        """Return how many nodes are kept.

        Args:
            score: (..., n) logs of the scores, highest first; -inf where there is no node.

        Returns:
            (...) int64, at most n.

        Raises:
            RheoError: the cost is not given up to n nodes.

        >>> score = torch.tensor([0.5, 0.25, 0.01]).log()
        >>> Budget(theta=0.1).size(score).item()
        2
        >>> Budget(cost=torch.tensor([1.0, 1.2, 1.4, 1.6])).size(score).item()  # 1.25, 1.25, 1.1
        2
        """
        probability = score.double().exp()
        going = score > -torch.inf
        if self.theta > 0:
            going = going & (grid(probability) >= grid(self.theta))
        if self.cost is not None:
            going = going & self._pays(probability)
        return going.long().cumprod(-1).sum(-1)

    def _pays(self, probability: Tensor) -> Tensor:
        """Return at which nodes (..., n) the list goes on."""
        n = probability.shape[-1]
        if self.cost is None or len(self.cost) <= n:
            known = 0 if self.cost is None else len(self.cost) - 1
            raise RheoError(f"The cost is known up to {known} nodes and the tree may have {n}.")
        cost = self.cost[: n + 1].to(probability)
        tokens = 1 + torch.nn.functional.pad(probability.cumsum(-1), (1, 0))  # (..., n + 1)
        rate = grid(tokens / cost)
        if self.look_ahead:
            best = rate.argmax(-1, keepdim=True)
            return torch.arange(n, device=rate.device) < best
        return rate[..., 1:] >= rate[..., :-1]

    def grows(self, score: Tensor) -> Tensor:
        """Return whether another level is drafted below a beam of these scores (..., K): (...)."""
        probability = score.double().exp()
        if self.grow_sum > 0:
            return grid(probability.sum(-1)) >= grid(self.grow_sum)
        return grid(probability.amax(-1)) >= grid(self.grow_min)


ALL = Budget()


def grid(x: Tensor | float) -> Tensor:
    """Return x (...) in steps of 2^-40, float64: what is equal on paper is equal here.

    Sums of logs may differ in their last bits, and a verdict between equals would be one more thing
    that a tree depends on. The steps are far below float32's own.
    """
    return (torch.as_tensor(x, dtype=torch.float64) * _STEPS).round() / _STEPS
