"""A visited node under another strategy, m, T or K, recomputed from what its trace stored.

The draft's side is exact: a trace keeps q, untempered, on the whole support. The target at another
temperature is known within bounds (`tempered_target`); the middle is used, and the largest error
that it can cause is given with it. Which nodes survive pruning would need a new draft: the slots
that the run kept stay kept.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.expansion import KINDS, PROBE, Expansion, expand
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.verify import Children, NodeRule, child_probability
from rheo.counting import counted
from rheo.errors import RheoError
from rheo.exact.tempered_target import target_at
from rheo.params import DecodeParams
from rheo.trace.schema import Round, Run, Visit

LARGEST_VOCABULARY = 1 << 18  # tokens of the largest vocabularies there are
UNDRAWN = 0.5  # for the uniform of a probe that the run did not draw


@dataclass(frozen=True)
class RecomputedSlot:
    """A child slot; accept is None where the child was pruned."""

    kind: str
    token: int
    proxy: float
    true: float
    p: float
    accept: float | None


@dataclass(frozen=True)
class RecomputedNode:
    """A node under a strategy, m, T and K.

    Attributes:
        z: the tail's mass.
        uniforms: what the probes are drawn with, one a probe slot.
        sure: whether those are known to be the run's own for this node.
        stand_ins: how many of them the run did not draw: `UNDRAWN`, at the end.
        probe: with what probability the first kept probe is accepted when tested; None without.
        accept: with what probability the walk goes on to a child.
        overlap: sum of min(r, q-tilde), r being what the first probe is tested against: its mean
            acceptance over all draws; None without.
        ids, p, q_tilde: of the support, in the node's order.
        residual: the same after every test is lost, normalised, and last all other tokens.
        error: the most by which a probability here can be off.
    """

    m: int
    K: int
    T: float
    z: float
    slots: tuple[RecomputedSlot, ...]
    uniforms: tuple[float, ...]
    sure: bool
    stand_ins: int
    probe: float | None
    accept: float
    overlap: float | None
    ids: tuple[int, ...]
    p: tuple[float, ...]
    q_tilde: tuple[float, ...]
    residual: tuple[float, ...]
    error: float


def recompute(
    run: Run,
    round: Round,
    node: int,
    m: int,
    T: float,
    K: int,
    vocabulary: int = LARGEST_VOCABULARY,
    strategy: str | None = None,
) -> RecomputedNode:
    """Recompute a visited node under m, T and K, by the functions of the engine in float64.

    Args:
        vocabulary: of the target, an upper bound.
        strategy: None for the run's own.

    Raises:
        RheoError: nothing stored to compute from, or values that cannot go together.
    """
    own = DecodeParams.from_dict(run.params)
    asked = replace(own, m=m, T=T, K=K, strategy=own.strategy if strategy is None else strategy)
    visit = _stored(round, node, own, asked)
    q, kept = torch.tensor(visit.q, dtype=torch.float64), _kept(round, node)  # (S,)
    uniforms, sure = _uniforms(round, visit, own, q)
    stand_ins = max(0, asked.J - own.J)
    uniforms = torch.cat([uniforms, uniforms.new_full((stand_ins,), UNDRAWN)])  # (J,)
    grown = _expand(q, uniforms, asked)
    p = target_at(visit, own.T, asked.T, vocabulary)  # (n, S + 1), the middle one last
    verified = _verify(asked, grown, kept, p)
    at_node, taken, residual = verified.at_node, verified.taken, verified.residual
    tilde = verified.q_tilde[-1, 0] if asked.J else p.new_zeros(0)
    probed = bool((verified.children.kept & (verified.children.kind == PROBE)).any())
    return RecomputedNode(
        m=asked.m,
        K=asked.K,
        T=asked.T,
        z=float(grown.log_z[0].exp()),
        slots=_slots(visit, grown, verified, p),
        uniforms=tuple(uniforms.tolist()[: asked.J]),
        sure=sure,
        stand_ins=stand_ins,
        probe=float(at_node.accept[-1, 0]) if probed else None,
        accept=float(taken[-1].sum()),
        overlap=float(_overlap(p, verified)[-1]) if asked.J else None,
        ids=visit.ids,
        p=tuple(p[-1, :-1].tolist()),
        q_tilde=tuple(tilde.tolist()),
        residual=tuple(residual[-1].tolist()),
        error=_error(p, verified),
    )


def _stored(round: Round, node: int, own: DecodeParams, asked: DecodeParams) -> Visit:
    """Return the visit to recompute, or refuse what was not stored or cannot be."""
    visit = round.visit_of(node)
    if not asked.drafts:
        raise RheoError("This strategy drafts nothing: every token is drawn from p.")
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
        stored = counted(len(visit.ids), ("{count} token", "{count} tokens"))
        raise RheoError(
            f"The trace stores {stored} of the draft here, too few for K = {asked.K}: choose a "
            "smaller K."
        )
    if asked.T != own.T and own.T == 0:
        raise RheoError("This run was greedy (T = 0): p is a single token, so only m can move.")
    if asked.T != own.T and (own.top_k or own.top_p < 1):
        raise RheoError("This run cut the target with top-k or top-p, so only m can move.")
    return visit


def _kept(round: Round, node: int) -> set[int]:
    """Return the slots whose child survived pruning."""
    return {child.slot for child in round.children(node)}


def _expand(q: Tensor, uniforms: Tensor, params: DecodeParams) -> Expansion:
    """Expand the node (1, ...) anew."""
    policy = TABLE[params.strategy].policy(params)
    return expand(q.log()[None], uniforms[None, : policy.J], policy, params.K, None, params.T)


def _uniforms(round: Round, visit: Visit, own: DecodeParams, q: Tensor) -> tuple[Tensor, bool]:
    """Return what the node's probes were drawn with (J,), and whether that is certain.

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
        tokens = [visit.ids[rank] for rank in _expand(q, row, own).rank[0].tolist()]
        if all(tokens[slot] == token for slot, token in known.items()):
            drawn.append(row)
    if not drawn:
        raise RheoError("The children of this node do not follow from what the trace stored.")
    return drawn[0], len(drawn) == 1


def _rows(round: Round, node: int, K: int) -> range:
    """Return where the node can stand in the order of expansion: level by level, K a level."""
    there = round.nodes[node]
    if there.depth == 0:
        return range(1)
    base = 1 + (there.depth - 1) * K
    if there.depth == 1:  # all of the root's children are expanded
        return range(base + there.slot, base + there.slot + 1)
    level = [i for i in round.rows_at(there.depth) if round.nodes[i].expanded]
    before = level.index(node)
    return range(base + before, base + K - (len(level) - 1 - before))


class _Verified(NamedTuple):
    """The node judged against n candidates for p."""

    children: Children  # (n, K)
    q_tilde: Tensor  # (n, J, S)
    at_node: NodeRule
    taken: Tensor  # (n, K) with what probability the walk goes on to each child
    residual: Tensor  # (n, S + 1) normalised


def _verify(asked: DecodeParams, grown: Expansion, kept: set[int], p: Tensor) -> _Verified:
    n, strategy = len(p), TABLE[asked.strategy]
    children = Children(
        grown.rank[0].expand(n, -1),
        torch.tensor([slot in kept for slot in range(asked.K)]).expand(n, -1),
        grown.kind[0].expand(n, -1),
        strategy.policy(asked).m,
    )
    q_tilde = grown.q_tilde[0].expand(n, -1, -1)
    at_node = strategy.rule(p, q_tilde, children)
    residual = at_node.residual / at_node.residual.sum(-1, keepdim=True)
    return _Verified(children, q_tilde, at_node, child_probability(p, at_node, children), residual)


def _overlap(p: Tensor, verified: _Verified) -> Tensor:
    """Return the first probe's mean acceptance (n,): p after what is tested before it, normalised,
    against q-tilde."""
    rank, first = verified.children.rank, verified.at_node.tested_first
    rest = p.scatter(-1, rank, torch.where(first > 0, 0.0, p.gather(-1, rank)))
    r = rest / rest.sum(-1, keepdim=True).clamp(min=torch.finfo(p.dtype).tiny)
    return torch.minimum(r[:, :-1], verified.q_tilde[:, 0]).sum(-1)


def _slots(
    visit: Visit, grown: Expansion, verified: _Verified, p: Tensor
) -> tuple[RecomputedSlot, ...]:
    children = verified.children
    rows = zip(
        children.kind[-1].tolist(),
        children.rank[-1].tolist(),
        grown.log_proxy[0].exp().tolist(),
        grown.true[0].tolist(),
        p[-1].gather(-1, children.rank[-1]).tolist(),
        verified.taken[-1].tolist(),
        children.kept[-1].tolist(),
        strict=True,
    )
    return tuple(
        RecomputedSlot(KINDS[kind], visit.ids[rank], proxy, true, mass, accept if kept else None)
        for kind, rank, proxy, true, mass, accept, kept in rows
    )


def _error(p: Tensor, verified: _Verified) -> float:
    """Return the most by which any candidate for p gives another number than the middle one."""
    at_node, taken, residual = verified.at_node, verified.taken, verified.residual
    shown = [p[:, :-1], residual[:, :-1], at_node.accept, taken, taken.sum(-1, keepdim=True)]
    if verified.q_tilde.shape[1]:
        shown.append(_overlap(p, verified)[:, None])
    return max(float((x - x[-1:]).abs().max()) for x in shown if x.shape[-1])
