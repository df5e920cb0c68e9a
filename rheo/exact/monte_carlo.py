"""Whole rounds played in a small world by the functions that decode, many at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from rheo.algorithm.distribution import draw, target_distribution
from rheo.algorithm.expansion import Policy
from rheo.algorithm.strategies import Strategy
from rheo.algorithm.tree import grow, prune
from rheo.algorithm.uniforms import recorded
from rheo.algorithm.walk import TargetRows, walk
from rheo.exact.worlds import TableDraft, Tables
from rheo.params import DecodeParams


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
    """Decode `rounds` rounds at once and return the first two tokens of each (rounds, 2).

    A round that emitted one token goes on from the target, like the next round's first.
    """
    V = tables.V

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    probes = recorded([uniform(rounds, K if d else 1, policy.J) for d in range(depth)])
    draft = TableDraft(tables, rounds)
    tree = grow(draft.root_logits, draft, probes, policy, K=K, depth=depth, S=S, T=T)
    kept = prune(tree, torch.zeros(rounds, dtype=torch.int64), R)
    code = tables.codes(kept, depth)
    target = TargetRows(tables.target[tables.row(code, kept.depth)], T)
    u1, u2 = uniform(rounds, depth + 1, policy.J), uniform(rounds, depth + 1)
    walked = walk(tree, kept, target, strategy.rule, u1, u2, policy.m)
    stop = walked.row[:, None]
    path, length = code.gather(-1, stop)[:, 0], kept.depth.gather(-1, stop)[:, 0]
    sequence = path * V + walked.token  # base-V code of the length + 1 emitted tokens
    p = target_distribution(tables.target[tables.row(sequence, length + 1).clamp(max=V)], T)
    second = draw(p, uniform(rounds))
    first = torch.where(length == 0, sequence, sequence // V**length)
    then = torch.where(length == 0, second, sequence // V ** (length - 1).clamp(min=0) % V)
    return torch.stack([first, then], -1)


def tally(
    tables: Tables, params: DecodeParams, strategy: Strategy, chunk: int, chunks: int
) -> Iterator[Tensor]:
    """Yield how often each pair of first tokens (V * V,) has come, after every `chunk` rounds."""
    generator = torch.Generator().manual_seed(params.seed)
    V, policy = tables.V, strategy.policy(params)
    counts = torch.zeros(V * V, dtype=torch.int64)
    for _ in range(chunks):
        pairs = play(
            tables,
            strategy,
            policy,
            generator,
            chunk,
            K=params.K,
            depth=params.depth,
            R=params.R,
            S=params.S,
            T=params.T,
        )
        counts = counts + torch.bincount(pairs[:, 0] * V + pairs[:, 1], minlength=V * V)
        yield counts
