"""Small worlds: a target and a draft as tables by context, small enough to enumerate or to play."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import target_distribution
from rheo.exact.audit import World


class Tables(NamedTuple):
    """Logits by context: the row of context t1..tL is (V**L - 1) / (V - 1) + its base-V code."""

    draft: Tensor  # (contexts, V)
    target: Tensor  # (contexts, V) untempered

    @property
    def V(self) -> int:
        """The vocabulary's size."""
        return self.target.shape[-1]

    def row(self, code: Tensor, length: Tensor | int) -> Tensor:
        """Rows of contexts of `length` tokens with these base-V codes."""
        return (self.V**length - 1) // (self.V - 1) + code


def contexts(V: int, depth: int) -> list[tuple[int, ...]]:
    """All token sequences up to `depth`, in the order of a table's rows.

    >>> contexts(2, 1)
    [(), (0,), (1,)]
    """
    return [c for n in range(depth + 1) for c in itertools.product(range(V), repeat=n)]


def tables(world: World, depth: int) -> Tables:
    """A world's log q and log p; its p counts as untempered here."""
    q = [world.q[c] for c in contexts(world.vocab, depth - 1)]
    p = [world.p[c] for c in contexts(world.vocab, depth)]
    return Tables(*(torch.tensor(rows, dtype=torch.float64).log() for rows in (q, p)))


def tempered(world: World, T: float) -> World:
    """The world whose p is the law at T, as an audit takes it; q stays at temperature 1."""

    def law(row: list[float]) -> list[float]:
        return target_distribution(torch.tensor(row, dtype=torch.float64).log(), T).tolist()

    return World(world.vocab, world.q, {c: law(row) for c, row in world.p.items()})


def random_world(
    generator: torch.Generator, V: int, depth: int, sharpness: float = 1.0, ties: bool = False
) -> World:
    """Random distributions by context; with `ties`, draft logits on a coarse grid."""

    def table(levels: int, coarse: bool) -> dict[tuple[int, ...], list[float]]:
        rows = {}
        for c in contexts(V, levels):
            logits = torch.randn(V, generator=generator, dtype=torch.float64) * sharpness
            if coarse:
                logits = logits.round()
            rows[c] = logits.softmax(-1).tolist()
        return rows

    return World(V, q=table(depth - 1, ties), p=table(depth, False))


def joint_distribution(tables: Tables, T: float) -> Tensor:
    """The target's law of two tokens (V, V), float64."""
    first = target_distribution(tables.target[0].double(), T)
    second = target_distribution(tables.target[1 : tables.V + 1].double(), T)
    return first[:, None] * second
