"""What a visited node would look like under another m, T or K, from what its trace stored.

The draft's side is exact: a trace keeps q, untempered, on the whole support. The target's law at
another temperature T' is p ** (T / T'), renormalised over the whole vocabulary, and a trace keeps p
on the support, its most probable tokens outside, and the rest's count and mass by octave. The
rest's tempered mass is bounded from both sides; the middle is used, and the largest error that it
can cause is told. Which nodes survive pruning would need a new draft: the slots that the run kept
stay kept.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.expansion import KINDS, PROBE, Expansion, expand
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.verify import Children, NodeRule, child_probability
from rheo.decoding.round_buffer import OCTAVES
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.schema import Round, Run, Visit

LARGEST_VOCABULARY = 1 << 18  # tokens of the largest vocabularies there are
LOOKS = 9  # laws looked at between the two bounds
LAST = OCTAVES - 1  # the octave that is open below


@dataclass(frozen=True)
class Slot:
    """A child slot; accept is None where the child was pruned."""

    kind: str
    token: int
    proxy: float
    true: float
    p: float
    accept: float | None


@dataclass(frozen=True)
class Look:
    """A node under m, T and K.

    Attributes:
        z: the tail's mass.
        uniforms: what the probes are drawn with, one a probe slot.
        sure: whether those are known to be the run's own for this node.
        probe: with what probability the first kept probe is accepted when tested; None without.
        accept: with what probability the walk goes on to a child.
        overlap: sum of min(p, q-tilde) of the first probe: a probe's mean acceptance; None without.
        ids, p, q_tilde: of the support, in the node's order.
        residual: the same after every test is lost, normalised, and last all other tokens.
        error: the most by which a probability here can be off.
    """

    m: int
    K: int
    T: float
    z: float
    slots: tuple[Slot, ...]
    uniforms: tuple[float, ...]
    sure: bool
    probe: float | None
    accept: float
    overlap: float | None
    ids: tuple[int, ...]
    p: tuple[float, ...]
    q_tilde: tuple[float, ...]
    residual: tuple[float, ...]
    error: float


def look(
    run: Run,
    round: Round,
    node: int,
    m: int,
    T: float,
    K: int,
    vocabulary: int = LARGEST_VOCABULARY,
) -> Look:
    """The node under m, T and K, by the functions of the engine in float64.

    Args:
        vocabulary: of the target, an upper bound.

    Raises:
        RheoError: nothing stored to compute from, or values that cannot go together.
    """
    own = DecodeParams.from_dict(run.params)
    asked = replace(own, m=m, T=T, K=K)
    visit = _stored(round, node, own, asked)
    q = torch.tensor(visit.q, dtype=torch.float64)
    uniforms, sure = _uniforms(round, visit, own, q)
    grown = _slots(q, uniforms, asked)
    places = {child.slot for child in round.children(node)}
    kept = torch.tensor([slot in places for slot in range(asked.K)])
    first = TABLE[own.strategy].policy(asked).m
    children = Children(grown.rank[0], kept, grown.kind[0], first)
    laws = _target(visit, own.T, asked.T, vocabulary)  # (LOOKS, S + 1), the middle one last
    return _seen(visit, asked, grown, children, laws, (uniforms, sure))


def _stored(round: Round, node: int, own: DecodeParams, asked: DecodeParams) -> Visit:
    visit = round.visit_of(node)
    if visit is None:
        raise RheoError("The walk never came to this node: choose one that it visited.")
    if not visit.ids:
        raise RheoError("A leaf has no draft: whatever m is, its token is drawn from p.")
    if len(visit.ids) < visit.support_size:
        raise RheoError(
            f"This run's support of {visit.support_size:,} tokens is larger than what a trace "
            f"stores ({len(visit.ids):,}): run it again with a smaller S."
        )
    if len(visit.ids) < asked.K:
        raise RheoError(
            f"Only {len(visit.ids)} tokens of the draft are stored here, too few for K = {asked.K} "
            "slots: choose a smaller K."
        )
    if asked.T != own.T and own.T == 0:
        raise RheoError("This run was greedy (T = 0): p is a single token, so only m can move.")
    if asked.T != own.T and (own.top_k or own.top_p < 1):
        raise RheoError("This run cut the target with top-k or top-p, so only m can move.")
    return visit


def _slots(q: Tensor, uniforms: Tensor, params: DecodeParams) -> Expansion:
    """The node (1, ...) expanded anew."""
    policy = TABLE[params.strategy].policy(params)
    return expand(q.log()[None], uniforms[None, : policy.J], policy, params.K, None, params.T)


def _uniforms(round: Round, visit: Visit, own: DecodeParams, q: Tensor) -> tuple[Tensor, bool]:
    """What the node's probes were drawn with (J,), and whether that is certain.

    A trace keeps the uniforms in the order of expansion, pruned nodes among them. Of those that the
    node can have had, the first that draws the recorded children is taken.
    """
    if own.J == 0:
        return torch.zeros(0, dtype=torch.float64), True
    known = {child.slot: child.token for child in round.children(visit.node)}
    known |= {ghost.slot: ghost.token for ghost in round.nodes[visit.node].ghosts}
    rows = torch.tensor(round.uniforms.probes, dtype=torch.float64).view(-1, own.J)
    drawn = []
    for row in (rows[i] for i in _rows(round, visit.node, own.K) if i < len(rows)):
        tokens = [visit.ids[rank] for rank in _slots(q, row, own).rank[0].tolist()]
        if all(tokens[slot] == token for slot, token in known.items()):
            drawn.append(row)
    if not drawn:
        raise RheoError("The children of this node do not follow from what the trace stored.")
    return drawn[0], len(drawn) == 1


def _rows(round: Round, node: int, K: int) -> range:
    """Where the node can stand in the order of expansion: level by level, K a level."""
    there = round.nodes[node]
    if there.depth == 0:
        return range(1)
    base = 1 + (there.depth - 1) * K
    if there.depth == 1:  # all of the root's children are expanded
        return range(base + there.slot, base + there.slot + 1)
    level = [i for i in round.rows_at(there.depth) if round.nodes[i].expanded]
    before = level.index(node)
    return range(base + before, base + K - (len(level) - 1 - before))


class Bounds(NamedTuple):
    """Between which the tempered mass of a rest lies."""

    low: float
    high: float


def rest_bounds(mass: float, count: int, least: float, most: float, power: float) -> Bounds:
    """sum of x ** power over `count` masses in [least, most] that sum to `mass`.

    It is extreme where they are all equal, and where all but one stand at an end.

    >>> rest_bounds(0.4, 4, 0.0, 0.2, 2.0)
    Bounds(low=0.04000000000000001, high=0.08000000000000002)
    """
    if mass <= 0 or most <= 0:
        return Bounds(0.0, 0.0)
    count = max(count, 1, math.ceil(mass / most))
    least = min(least, mass / count)
    full = min(count - 1, int((mass - count * least) / (most - least))) if most > least else 0
    between = max(0.0, mass - full * most - (count - full - 1) * least)
    peaked = full * most**power + between**power + (count - full - 1) * least**power
    equal = count * (mass / count) ** power
    return Bounds(min(peaked, equal), max(peaked, equal))


def _rest(visit: Visit, count: int, power: float) -> Bounds:
    """The same of all that a trace tells of the visit's rest: octave by octave, or, in a trace
    without them, as `count` masses below the least one that it names."""
    if not visit.rest_counts:
        named = visit.outside_p or (visit.rest,)
        return rest_bounds(visit.rest, count, 0.0, min(named), power)
    bounds = [
        rest_bounds(mass, n, 0.0 if k == LAST else 2.0 ** -(k + 1), 2.0**-k, power)
        for k, (n, mass) in enumerate(zip(visit.rest_counts, visit.rest_masses, strict=True))
    ]
    return Bounds(*(math.fsum(ends) for ends in zip(*bounds, strict=True)))


def _target(visit: Visit, T: float, wanted: float, vocabulary: int) -> Tensor:
    """p (n, S + 1) at `wanted`: the support's tokens, then all others; the middle one last."""
    inside = torch.tensor(visit.p, dtype=torch.float64)
    outside = torch.tensor(visit.outside_p, dtype=torch.float64)
    if wanted == T:
        return torch.cat([inside, outside.sum()[None] + visit.rest])[None]
    known = torch.cat([inside, outside])
    if wanted == 0:
        return _greedy(visit, known)[None]
    power = T / wanted
    w = (known / known.max()) ** power  # scaled, so that nothing underflows
    scale = float(known.max()) ** -power
    rest = _rest(visit, vocabulary - len(known), power)
    ends = [1 / (w.sum() + scale * bound) for bound in (rest.high, rest.low)]
    steps = torch.linspace(float(ends[0]), float(ends[1]), LOOKS, dtype=torch.float64)
    laws = w[: len(inside)] * torch.cat([steps, steps.mean()[None]])[:, None]
    return torch.cat([laws, (1 - laws.sum(-1, keepdim=True)).clamp(min=0.0)], -1)


def _greedy(visit: Visit, known: Tensor) -> Tensor:
    """One-hot at the best token, the lowest id among equals, as `target_distribution` has it."""
    ids = (*visit.ids, *visit.outside_ids)
    best = min(range(len(ids)), key=lambda i: (-float(known[i]), ids[i]))
    law = torch.zeros(len(visit.ids) + 1, dtype=torch.float64)
    law[min(best, len(visit.ids))] = 1.0
    return law


def _seen(
    visit: Visit,
    asked: DecodeParams,
    grown: Expansion,
    children: Children,
    p: Tensor,
    drawn: tuple[Tensor, bool],
) -> Look:
    n = len(p)
    every = Children(*(x.expand(n, -1) for x in children[:3]), children.m)
    q_tilde = grown.q_tilde[0].expand(n, -1, -1)  # (n, J, S)
    law: NodeRule = TABLE[asked.strategy].rule(p, q_tilde, every)
    taken = child_probability(p, law, every)  # (n, K)
    residual = law.residual / law.residual.sum(-1, keepdim=True)  # (n, S + 1)
    probed = children.kept & (children.kind == PROBE)
    shown = [p[:, :-1], residual[:, :-1], law.accept, taken, taken.sum(-1, keepdim=True)]
    tilde = q_tilde[-1, 0] if q_tilde.shape[-2] else p.new_zeros(0)
    masses = p[-1].gather(-1, children.rank)
    rows = zip(
        children.kind.tolist(),
        children.rank.tolist(),
        grown.log_proxy[0].exp().tolist(),
        grown.true[0].tolist(),
        masses.tolist(),
        taken[-1].tolist(),
        children.kept.tolist(),
        strict=True,
    )
    return Look(
        m=asked.m,
        K=asked.K,
        T=asked.T,
        z=float(grown.log_z[0].exp()),
        slots=tuple(
            Slot(KINDS[kind], visit.ids[rank], proxy, true, mass, accept if kept else None)
            for kind, rank, proxy, true, mass, accept, kept in rows
        ),
        uniforms=tuple(drawn[0].tolist()[: q_tilde.shape[-2]]),
        sure=drawn[1],
        probe=float(law.accept[-1, 0]) if probed.any() else None,
        accept=float(taken[-1].sum()),
        overlap=float(torch.minimum(p[-1, :-1], tilde).sum()) if len(tilde) else None,
        ids=visit.ids,
        p=tuple(p[-1, :-1].tolist()),
        q_tilde=tuple(tilde.tolist()),
        residual=tuple(residual[-1].tolist()),
        error=max(float((x - x[-1:]).abs().max()) for x in shown if x.shape[-1]),
    )
