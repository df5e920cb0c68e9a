"""The walk: a pruned tree against the target's rows, from the root to the emitted token.

Sampling is a thin layer over the rules of `verify` (algorithm section 2, steps 6 and 7): `walk`
samples one node a step; `acceptance` computes at all nodes the probabilities, before u1 and u2 are
drawn.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.distribution import locate_in, target_distribution, tempered
from rheo.algorithm.expansion import Expansion
from rheo.algorithm.tree import Kept, Tree
from rheo.algorithm.verify import Children, NodeRule, Rule


class GatheredNodes(NamedTuple):
    """The draft's side of kept nodes (..., n): all that verification knows of it."""

    ids: Tensor  # (..., n, S)
    q_tilde: Tensor  # (..., n, J, S)
    children: Children
    expanded: Tensor  # (..., n) bool


class VisitedNode(NamedTuple):
    """One step of the walk: a node and what was decided there."""

    row: Tensor  # (...) of Kept
    live: Tensor  # (...) bool: False where the walk had ended before
    slot: Tensor  # (...) of the child it went on to, K where it stopped
    p: Tensor  # (..., S + 1)
    at_node: NodeRule
    share: Tensor  # (...) in [0, 1): the second uniform, rescaled behind children tested first
    outside: Tensor  # (..., V) p without the node's support


class Walk(NamedTuple):
    """A verified round: the steps from the root, and the token emitted where the walk stopped."""

    visits: list[VisitedNode]
    row: Tensor  # (...) where it stopped
    token: Tensor  # (...) the emitted token: residual, or bonus at a leaf
    low: Tensor  # (...) float64: the emitted token's interval, in shares of the residual's mass
    high: Tensor  # (...)
    p_token: Tensor  # (...) the target's probability of the emitted token


class TargetRows(NamedTuple):
    """The target's side of a round: logits of every kept node, and how p is made of them."""

    logits: Tensor  # (..., R + 1, V) untempered
    T: float
    top_k: int = 0
    top_p: float = 1.0

    def distribution(self, row: Tensor) -> Tensor:
        """Return p (..., V) at row (...)."""
        logits = self.logits
        if row.dim():
            index = row[..., None, None].expand(*row.shape, 1, logits.shape[-1])
            logits = logits.gather(-2, index)[..., 0, :]
        else:
            logits = logits.index_select(0, row[None])[0]
        return target_distribution(logits, self.T, self.top_k, self.top_p)


def gather_nodes(tree: Tree, kept: Kept, rows: Tensor, m: int) -> GatheredNodes:
    """Return the draft's side of kept rows (..., n).

    A node that was not expanded has no support of its own. Any distinct ids stand in for it:
    without children, no rule tells support from outside.
    """
    e = kept.expansion.gather(-1, rows)  # (..., n)
    at, x = e.clamp(min=0)[..., None], tree.expanded

    def pick(values: Tensor, index: Tensor) -> Tensor:  # (..., E, w) -> (..., n, w)
        return values.gather(-2, index.expand(*index.shape[:-1], values.shape[-1]))

    J, S = x.q_tilde.shape[-2:]
    q_tilde = pick(x.q_tilde.flatten(-2), at).unflatten(-1, (J, S)) if J else _no_probe(at, S, x)
    kept_child = pick(kept.child, rows[..., None]) >= 0
    children = Children(pick(x.rank, at), kept_child, pick(x.kind, at), m)
    return GatheredNodes(pick(x.ids, at), q_tilde, children, e >= 0)


def _no_probe(at: Tensor, S: int, expanded: Expansion) -> Tensor:
    return expanded.log_q.new_zeros(*at.shape[:-1], 0, S)


def _single(node: GatheredNodes) -> GatheredNodes:
    """Return the same without the axis n, which is 1 long."""
    c = node.children
    children = Children(c.rank[..., 0, :], c.kept[..., 0, :], c.kind[..., 0, :], c.m)
    return GatheredNodes(
        node.ids[..., 0, :], node.q_tilde[..., 0, :, :], children, node.expanded[..., 0]
    )


def on_support(p_row: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Split p_row (..., V) at a node's support (..., S).

    Returns:
        p (..., S + 1) float64: the support's tokens, then the mass of all others; and the row with
        the support taken out (..., V).
    """
    outside = p_row.scatter(-1, ids, 0.0)
    mass = outside.sum(-1, keepdim=True, dtype=torch.float64)
    return torch.cat([p_row.gather(-1, ids).double(), mass], -1), outside


def walk(
    tree: Tree,
    kept: Kept,
    target: TargetRows,
    rule: Rule,
    u1: Tensor,
    u2: Tensor,
    m: int,
    ended: Callable[[Tensor], bool] | None = None,
) -> Walk:
    """Sample a verified round from the root, with one row of target logits per kept node.

    Args:
        rule: a function of `verify`.
        u1: (..., depth + 1, J). u2: (..., depth + 1): the uniforms of each step.
        m: deterministic slots of the tree's policy.
        ended: asked after each step whether all walks are over. Where the host can look for free
            (on a CPU) it spares the steps left; elsewhere all depth + 1 steps run.
    """
    row = torch.zeros_like(kept.token[..., 0])
    over = torch.zeros_like(row, dtype=torch.bool)
    share = torch.zeros_like(u2[..., 0], dtype=torch.float64)
    visits: list[VisitedNode] = []
    for step in range(u2.shape[-1]):
        p_row = target.distribution(row)  # (..., V)
        node = _single(gather_nodes(tree, kept, row[..., None], m))
        p, outside = on_support(p_row, node.ids)
        outside = torch.where(node.expanded[..., None], outside, p_row)
        at_node = rule(p, node.q_tilde, node.children)
        slot, left = verify.choose(p, at_node, node.children, u1[..., step, :], u2[..., step])
        share = torch.where(over, share, left)
        visits.append(VisitedNode(row, ~over, slot, p, at_node, share, outside))
        K = node.children.rank.shape[-1]
        over = over | (slot == K)
        at = row[..., None, None].expand(*row.shape, 1, K)
        child = kept.child.gather(-2, at)[..., 0, :]  # (..., K)
        child = child.gather(-1, slot.clamp(max=K - 1)[..., None])[..., 0]
        row = torch.where(over, row, child)
        if ended is not None and ended(over):
            break
    token, low, high = verify.emit(p, at_node, node.children, node.ids, p_row, share)
    return Walk(visits, row, token, low, high, p_row.gather(-1, token[..., None])[..., 0])


def sample_token(target: TargetRows, u2: Tensor) -> Walk:
    """Sample t ~ p on u2: what `walk` does at a root () without children, in fewer operations.

    Plain autoregressive decoding is nothing else.
    """
    p_row = target.distribution(torch.zeros_like(u2, dtype=torch.int64))  # (V,)
    cumulative = p_row.cumsum(-1, dtype=torch.float64)
    total = cumulative[-1]
    token = locate_in(cumulative, u2.double() * total)
    high, p_token = cumulative[token], p_row[token]
    p = torch.stack([p_row[0].double(), total - p_row[0]])
    at_node = NodeRule(p.new_zeros(1), p.new_zeros(0), p, p.new_zeros(0))
    zero = torch.zeros_like(token)
    visit = VisitedNode(zero, zero == 0, zero + 1, p, at_node, u2, p_row)
    return Walk([visit], zero, token, (high - p_token) / total, high / total, p_token)


def acceptance(
    tree: Tree, kept: Kept, target: TargetRows, rule: Rule, m: int, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Return each kept node's p, and the probability that a walk at its parent goes on to it.

    Args:
        rows: (n,) the rows that may have children.

    Returns:
        p (..., R + 1) and accept (..., R + 1), both float64; 1 in the root's place, 0 in a row that
        is no node's. The products of accept along paths give the expected accepted tokens
        (`expected`).
    """
    lead, width = kept.token.shape[:-1], kept.token.shape[-1]
    row = rows.expand(*lead, rows.shape[-1])  # (..., n)
    node = gather_nodes(tree, kept, row, m)
    p = _distribution_on_support(target, rows, node.ids)
    taken = verify.child_probability(p, rule(p, node.q_tilde, node.children), node.children)
    K = taken.shape[-1]
    child = kept.child.gather(-2, row[..., None].expand(*row.shape, K))
    index = torch.where(child >= 0, child, width).flatten(-2)  # pruned children fall off the end

    def by_row(values: Tensor) -> Tensor:  # (..., n, K) -> (..., R + 1)
        alone = torch.zeros(*lead, width + 1, dtype=values.dtype, device=values.device)
        alone[..., 0] = 1.0
        return alone.scatter(-1, index, values.flatten(-2))[..., :-1]

    return by_row(p.gather(-1, node.children.rank)), by_row(taken)


def _distribution_on_support(target: TargetRows, rows: Tensor, ids: Tensor) -> Tensor:
    """Return p (..., n, S + 1), without a softmax over the vocabulary where a logsumexp will do."""
    logits = target.logits.index_select(-2, rows)  # (..., n, V)
    if target.T == 0 or target.top_k or target.top_p < 1:
        return on_support(target_distribution(logits, *target[1:]), ids)[0]
    logits = logits if logits.dtype == torch.float64 else logits.float()
    scaled = tempered(logits, target.T)
    log_mass = scaled.logsumexp(-1, keepdim=True)
    inside = (scaled.gather(-1, ids) - log_mass).exp().double()
    return torch.cat([inside, (1 - inside.sum(-1, keepdim=True)).clamp(min=0.0)], -1)


def reach(kept: Kept, accept: Tensor, depth: int, ends: Tensor | None = None) -> Tensor:
    """Return the probability (..., R + 1) that a walk reaches each kept node; the root's is 1.

    Args:
        accept: (..., R + 1) of `acceptance`.
        ends: (n,) int64 ids that end the text. A walk that comes to one reaches nothing below it:
            what is decided there is not emitted, and tau does not count it (algorithm section 1).
    """
    if ends is not None:
        ended = (kept.token[..., None] == ends).any(-1) & (kept.depth > 0)  # (..., R + 1)
        accept = accept.masked_fill(ended.gather(-1, kept.parent), 0.0)
    reached = accept
    for _ in range(depth - 1):
        reached = accept * reached.gather(-1, kept.parent)
    return reached


def expected(kept: Kept, accept: Tensor, depth: int, ends: Tensor | None = None) -> Tensor:
    """Return the expected accepted tokens (...) given the drawn tree: `reach`, summed over draft
    nodes."""
    return reach(kept, accept, depth, ends)[..., 1:].sum(-1)
