"""Small worlds as tables, and whole rounds played in them by the engine's own functions."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.audit import World
from rheo.distribution import draw, target_law
from rheo.strategies import Strategy
from rheo.tree import Policy, grow, prune
from rheo.walk import Target, walk


class Tables(NamedTuple):
    """Logits by context: the row of context t1..tL is (V**L - 1) / (V - 1) + its base-V code."""

    draft: Tensor  # (contexts, V)
    target: Tensor  # (contexts, V)

    @property
    def V(self) -> int:
        return self.target.shape[-1]

    def row(self, code: Tensor, length: Tensor | int) -> Tensor:
        return (self.V**length - 1) // (self.V - 1) + code


def contexts(V: int, depth: int) -> list[tuple[int, ...]]:
    """All token sequences up to `depth`, in the order of a table's rows."""
    return [c for n in range(depth + 1) for c in itertools.product(range(V), repeat=n)]


def tables_of(draft, target, root: int, depth: int) -> Tables:
    """The tables of two causal LMs behind a fixed root token."""
    V = target.config.vocab_size

    def logits(model) -> Tensor:
        with torch.inference_mode():
            rows = [model(torch.tensor([[root, *c]])).logits[0, -1] for c in contexts(V, depth)]
        return torch.stack(rows).clone()

    return Tables(logits(draft), logits(target))


def play(
    tables: Tables,
    strategy: Strategy,
    policy: Policy,
    generator: torch.Generator,
    rounds: int,
    *,
    K: int,
    depth: int,
    R: int,
    S: int | None,
    T: float,
) -> Tensor:
    """Decode `rounds` rounds at once; return the first two tokens of each (rounds, 2).

    A round that emitted one token goes on from the target, like the next round's first.
    """
    V = tables.V

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    state = {"code": torch.zeros(rounds, 1, dtype=torch.int64), "length": 0}

    def level(tokens: Tensor, parents: Tensor) -> Tensor:
        state["code"] = state["code"].gather(-1, parents) * V + tokens
        state["length"] += 1
        return tables.draft[tables.row(state["code"], state["length"])]

    probes = [uniform(rounds, K if d else 1, policy.J) for d in range(depth)]
    root_logits = tables.draft[0].expand(rounds, V)
    tree = grow(root_logits, level, probes, policy, K=K, depth=depth, S=S, T=T)
    kept = prune(tree, torch.zeros(rounds, dtype=torch.int64), R)
    code = torch.zeros_like(kept.token)
    for _ in range(depth):
        code = torch.where(kept.depth > 0, code.gather(-1, kept.parent) * V + kept.token, 0)
    target = Target(tables.target[tables.row(code, kept.depth)], T)
    u1, u2 = uniform(rounds, depth + 1, policy.J), uniform(rounds, depth + 1)
    walked = walk(tree, kept, target, strategy.rule, u1, u2, policy.m)
    stop = walked.row[:, None]
    path, length = code.gather(-1, stop)[:, 0], kept.depth.gather(-1, stop)[:, 0]
    sequence = path * V + walked.token  # base-V code of the length + 1 emitted tokens
    law = target_law(tables.target[tables.row(sequence, length + 1).clamp(max=V)], T)
    second = draw(law, uniform(rounds))
    first = torch.where(length == 0, sequence, sequence // V**length)
    then = torch.where(length == 0, second, sequence // V ** (length - 1).clamp(min=0) % V)
    return torch.stack([first, then], -1)


def joint_law(tables: Tables, T: float) -> Tensor:
    """The target's law of two tokens (V, V), float64."""
    first = target_law(tables.target[0].double(), T)
    second = target_law(tables.target[1 : tables.V + 1].double(), T)
    return first[:, None] * second


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
