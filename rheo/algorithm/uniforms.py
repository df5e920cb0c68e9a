"""A run's uniforms: one seeded generator, one fixed block a round (algorithm section 2.7)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.tree import ProbeUniforms
from rheo.params import DecodeParams

STEPS = 10**9  # a uniform is a multiple of 1e-9: nine digits print it whole


class Block(NamedTuple):
    """One round's uniforms in [0, 1), float64."""

    u2: Tensor  # (depth + 1,) the draw over children and residual at each step
    u1: Tensor  # (depth + 1, J) one per probe at each step
    probes: Tensor  # (E, J) the probes' own draws, in the order of expansion

    def levels(self, K: int, depth: int) -> list[Tensor]:
        """Return `probes` cut by expanded level: (1, J), then (K, J) a beam."""
        return list(self.probes[: 1 + K * (depth - 1)].split([1] + [K] * (depth - 1)))


def recorded(levels: Sequence[Tensor]) -> ProbeUniforms:
    """Return the uniforms of the probes as `grow` asks for them: those of one round, by level."""
    return lambda level, logits: levels[level]


class UniformSource:
    """The source of a run's blocks, drawn on the host: a seed means the same on every device.

    A block's size follows from K, depth and probes, never from the strategy: strategies run with
    one seed see the same numbers round by round.
    """

    def __init__(self, params: DecodeParams) -> None:
        self._generator = torch.Generator().manual_seed(params.seed)
        self._params = params

    def one(self) -> Tensor:
        """Draw a single uniform (), for the token sampled at prefill."""
        return self._draw(1)[0]

    def block(self) -> Block:
        """Draw the next round's block."""
        p = self._params
        steps, E = p.depth + 1, 1 + p.K * (p.depth - 1)
        flat = self._draw(steps * (1 + p.probes) + E * p.probes)
        u2, u1, probes = flat.split([steps, steps * p.probes, E * p.probes])
        return Block(u2, u1.view(steps, p.probes)[:, : p.J], probes.view(E, p.probes)[:, : p.J])

    def _draw(self, count: int) -> Tensor:
        return torch.randint(STEPS, (count,), generator=self._generator).double() / STEPS
