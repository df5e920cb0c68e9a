"""The exact law of a round: every probe draw, with its weight (algorithm section 5).

"Exact law" is the statisticians' word for a distribution that is computed and not sampled; here it
is that of the first depth + 1 emitted tokens. Nothing is implemented a second time: trees are grown
and pruned by `tree`, judged by the rules of `verify` through `walk`, in float64 and batched over
forced draws. What is new is only the bookkeeping: which uniforms force which draw, and how
probabilities add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.budget import ALL, Budget
from rheo.algorithm.expansion import KINDS, Policy
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.tree import Kept, Tree, grow, prune
from rheo.algorithm.walk import TargetRows, acceptance, gather_nodes, on_support, reach
from rheo.errors import RheoError
from rheo.exact.forced_draws import force
from rheo.exact.worlds import TableDraft, Tables, World, tables
from rheo.json_object import JsonObject
from rheo.params import DecodeParams

_CHUNK = 1 << 14  # forced draws at a time
MAX_DRAWS = 1 << 20
MAX_VOCABULARY = 8


@dataclass(frozen=True)
class Audit:
    """What a strategy does in a world, exactly."""

    tv: float  # total variation between the exact law and the target
    expected_accepted: float
    first_acceptance: float
    accepted_by_kind: dict[str, float]
    worst: tuple[int, ...]  # the sequence whose probability is furthest off
    worst_law: float
    worst_target: float
    exact_law: Tensor  # (V,) * (depth + 1) float64
    target: Tensor  # same shape

    def as_dict(self) -> JsonObject:
        """Return the figures of the vectors."""
        return {
            "tv": self.tv,
            "expected_accepted": self.expected_accepted,
            "first_acceptance": self.first_acceptance,
            "accepted_by_kind": self.accepted_by_kind,
        }


class _Case(NamedTuple):
    """What is audited: a world's tables and one strategy with its parameters."""

    tables: Tables
    p: Tensor  # (contexts up to depth, V) the target's rows, at T already
    ends: Tensor  # (n,) ids of the tokens that end the text
    params: DecodeParams
    policy: Policy
    rule: verify.Rule
    budget: Budget


def audit(
    world: World,
    params: DecodeParams,
    strategy: str | Strategy | None = None,
    ties: str | None = None,
    budget: Budget = ALL,
) -> Audit:
    """Return the exact law of the first depth + 1 emitted tokens, and what a round accepts.

    When the round has ended, emission continues from p.

    Args:
        params: m, K, R, depth, T, S and probes are read. p is not tempered.
        strategy: instead of params.strategy; a row that is not in the table (`biased`) will do.
        ties: "token" breaks ties between nodes by token ids, to show what that does.
        budget: what a tree may cost; one that is biased shows what that does.

    Raises:
        RheoError: no such world, or one with too many combinations of probe draws.
    """
    case = _case(world, params, strategy, ties, budget)
    tally = _Tally(case)
    for digits in _forced_draws(case):
        tree, weight = _grow_forced(case, digits)
        root = torch.zeros(digits.shape[0], dtype=torch.int64)
        kept = prune(tree, root, params.R, budget)
        tally.add(tree, kept, weight)
    law, target = tally.complete()
    gap, shape = (law - target).abs(), (world.vocab,) * (params.depth + 1)
    worst = int(gap.argmax())
    sequence = torch.unravel_index(torch.tensor(worst), shape)
    return Audit(
        tv=float(gap.sum() / 2),
        expected_accepted=float(tally.accepted.sum()),
        first_acceptance=float(tally.accepted[1].sum()),
        accepted_by_kind=dict(zip(KINDS, tally.accepted.sum(0).tolist(), strict=True)),
        worst=tuple(int(token) for token in sequence),
        worst_law=float(law[worst]),
        worst_target=float(target[worst]),
        exact_law=law.reshape(shape),
        target=target.reshape(shape),
    )


def _case(
    world: World,
    params: DecodeParams,
    strategy: str | Strategy | None,
    ties: str | None,
    budget: Budget,
) -> _Case:
    V = world.vocab
    if not 2 <= V <= MAX_VOCABULARY:
        raise RheoError(f"An audit takes a vocabulary of 2 to {MAX_VOCABULARY} tokens, not {V}.")
    if params.K > V:
        raise RheoError(f"K = {params.K} slots need as many tokens, and the world has {V}.")
    row = strategy if isinstance(strategy, Strategy) else TABLE[strategy or params.strategy]
    policy = row.policy(params)
    if ties == "token":
        policy = policy._replace(ties="token")
    made = tables(world, params.depth)
    ends = torch.tensor(world.ends, dtype=torch.int64)
    return _Case(made, made.target.exp(), ends, params, policy, row.rule, budget)


def _forced_draws(case: _Case) -> Iterator[Tensor]:
    """Yield every combination of outcomes, one digit a probe: chunks (B, E, J) of places in the
    tail."""
    params, policy, V = case.params, case.policy, case.tables.V
    E = 1 + params.K * (params.depth - 1)
    outcomes = min(params.S or V, V) - policy.m
    probes = E * policy.J
    count = outcomes**probes if probes else 1
    if count > MAX_DRAWS:
        raise RheoError(
            f"This world has {count:,} combinations of probe draws, more than an audit enumerates: "
            "choose a smaller depth, K or S."
        )
    powers = torch.tensor([outcomes**i for i in range(probes)], dtype=torch.int64)
    for start in range(0, count, _CHUNK):
        number = torch.arange(start, min(start + _CHUNK, count))[:, None]
        yield (number // powers % max(outcomes, 1)).reshape(len(number), E, policy.J)


def _grow_forced(case: _Case, digits: Tensor) -> tuple[Tree, Tensor]:
    """Grow the engine's trees (batch B) under forced draws.

    Returns:
        the trees, and the probability (B,) of those draws.
    """
    params, B, K = case.params, digits.shape[0], case.params.K
    weight = torch.ones(B, dtype=torch.float64)

    def forced(d: int, logits: Tensor) -> Tensor:
        block = digits[:, :1] if d == 0 else digits[:, 1 + (d - 1) * K : 1 + d * K]
        uniforms, mass = force(logits, block, case.policy, params.S, params.T)
        weight.mul_(mass)
        return uniforms

    draft = TableDraft(case.tables, B)
    tree = grow(
        draft.root_logits,
        draft,
        forced,
        case.policy,
        K=K,
        depth=params.depth,
        S=params.S,
        T=params.T,
        budget=case.budget,
    )
    return tree, weight


class _Tally:
    """What rounds emit and accept, summed over forced draws with their probabilities.

    Attributes:
        emitted: by number of accepted tokens n = 0..depth, the mass (V ** (n + 1),) of each
            sequence that a round gave whole.
        accepted: (depth + 1, kinds) expected accepted tokens, none behind an end token.
    """

    def __init__(self, case: _Case) -> None:
        self._case = case
        V, levels = case.tables.V, case.params.depth + 1
        self.emitted = [torch.zeros(V ** (n + 1), dtype=torch.float64) for n in range(levels)]
        self.accepted = torch.zeros(levels, len(KINDS), dtype=torch.float64)

    def add(self, tree: Tree, kept: Kept, weight: Tensor) -> None:
        """Add what these trees (batch B) of probability weight (B,) emit and accept."""
        tables, p, ends, params, policy, rule, _ = self._case
        code = tables.codes(kept, params.depth)
        p_row = p[tables.row(code, kept.depth)]  # (B, R + 1, V)
        rows = torch.arange(kept.token.shape[-1])
        accept = acceptance(tree, kept, TargetRows(p_row.log(), 1.0), rule, policy.m, rows)[1]
        reached = reach(kept, accept, params.depth) * weight[:, None]  # (B, R + 1)
        counted = reach(kept, accept, params.depth, ends) * weight[:, None]  # none behind an end
        node = gather_nodes(tree, kept, rows.expand(kept.token.shape), policy.m)
        on = on_support(p_row, node.ids)[0]
        at_node = rule(on, node.q_tilde, node.children)
        left = verify.leftover(on, at_node, node.children, node.ids, p_row)
        mass = at_node.residual.sum(-1)
        stop = reached * verify.miss(on, at_node) / torch.where(mass > 0, mass, 1.0)
        last = stop[..., None] * left  # (B, R + 1, V) mass of the walks that stop here and emit
        sequence = code[..., None] * tables.V + torch.arange(tables.V)
        for length, into in enumerate(self.emitted):
            here = kept.depth == length
            into.index_add_(0, sequence[here].flatten(), last[here].flatten())
        kind = tree.expanded.kind.flatten(-2).gather(-1, kept.node.clamp(min=0))
        place = (kept.depth * len(KINDS) + kind)[:, 1:].flatten()
        self.accepted.view(-1).index_add_(0, place, counted[:, 1:].flatten())

    def complete(self) -> tuple[Tensor, Tensor]:
        """Return the exact law of depth + 1 tokens (V ** (depth + 1),) and the target's, where
        shorter rounds go on from p."""
        tables, target = self._case.tables, torch.ones(1, dtype=torch.float64)
        law = torch.zeros(1, dtype=torch.float64)
        for length, mass in enumerate(self.emitted):
            code = torch.arange(tables.V**length)
            p = self._case.p[tables.row(code, length)]  # (V ** length, V)
            law = (law[:, None] * p).flatten() + mass
            target = (target[:, None] * p).flatten()
        return law, target
