"""Uniforms that force a wanted probe draw, and the probability of that draw.

They let the engine's own expansion be enumerated: every outcome of a probe once, with its weight.
"""

import torch
from torch import Tensor

from rheo.algorithm.distribution import support, tail
from rheo.algorithm.expansion import Policy


def force(
    logits: Tensor, digits: Tensor, policy: Policy, S: int | None, T: float
) -> tuple[Tensor, Tensor]:
    """Return uniforms in the middle of the wanted places' intervals, and their mass.

    Args:
        logits: (B, n, V) untempered, of the nodes to expand.
        digits: (B, n, J) wanted places in the tail's order, one a probe.
        policy, S, T: as in `expansion.expand`.

    Returns:
        uniforms (B, n, J) float64, and the probability (B,) of all these draws together.

    >>> logits = torch.tensor([[[0.5, 0.3, 0.2]]]).double().log()
    >>> uniforms, mass = force(logits, torch.tensor([[[1]]]), Policy(m=1, J=1), None, 1.0)
    >>> [round(float(x), 6) for x in (uniforms[0, 0, 0], mass[0])]
    [0.8, 0.4]
    """
    q = tail(support(logits, S), policy.m, T) if policy.J else logits  # (B, n, S)
    weight = torch.ones(logits.shape[0], dtype=torch.float64)
    uniforms = []
    for j in range(policy.J):
        place = digits[..., j, None] + policy.m  # (B, n, 1)
        total = q.sum(-1, keepdim=True)
        mass = q.gather(-1, place)
        before = q.cumsum(-1).gather(-1, place) - mass
        live = total > 0
        safe = torch.where(live, total, 1.0)
        uniforms.append(((before + mass / 2) / safe)[..., 0].clamp(max=1 - 1e-12))
        # without mass there is no draw, so one digit stands for all
        share = torch.where(live, mass / safe, (digits[..., j, None] == 0).double())
        weight = weight * share[..., 0].prod(-1)
        q = q.scatter(-1, place, 0.0)
    empty = torch.zeros(*digits.shape[:-1], 0, dtype=torch.float64)
    return torch.stack(uniforms, -1) if uniforms else empty, weight
