"""The candidate tree and the pruned tree as tensors (algorithm section 2, steps 4 and 5).

Shapes: `...` any leading axes; K child slots; E = 1 + K (depth - 1) expanded nodes, the root first,
then each level's beam in creation order; N = E K candidates, candidate i being slot i % K of
expanded node i // K, so that a candidate's index *is* its creation order. Nothing here waits for
the host, and every shape follows from (K, depth, R).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.expansion import Expansion, Policy, expand

_ROOT = -1
GRID = 2.0**40  # steps per nat in which scores are compared

# (level d, logits (..., n, Vd) of the nodes to expand) -> uniforms (..., n, J) of their probes
ProbeUniforms = Callable[[int, Tensor], Tensor]


class Tree(NamedTuple):
    """The candidate tree: all N candidates of a round, in creation order."""

    expanded: Expansion  # n = E
    node: Tensor  # (..., E) int64, the candidate that was expanded; _ROOT for the first
    token: Tensor  # (..., N) int64
    score: Tensor  # (..., N) sum of log proxies along the path
    depth: Tensor  # (N,) int64, the root's children have 1
    tie: Tensor | None  # (..., N) int64 keys of ties="token"


class Kept(NamedTuple):
    """The pruned tree: the root (row 0) and the kept nodes (rows 1..R), in creation order, so that
    parents come before their children."""

    node: Tensor  # (..., R + 1) candidate index; _ROOT in row 0
    token: Tensor  # (..., R + 1)
    parent: Tensor  # (..., R + 1) row; the root's is 0
    depth: Tensor  # (..., R + 1)
    expansion: Tensor  # (..., R + 1) row of Tree.expanded, -1 where the node was not expanded
    child: Tensor  # (..., R + 1, K) row of the child in each slot, -1 where it was pruned
    mask: Tensor  # (..., R + 1, R + 1) bool, row attends column: its ancestors and itself


def best(score: Tensor, count: int, tie: Tensor | None = None) -> Tensor:
    """Return the indices (..., count) of the highest scores (..., n), in creation order.

    Equal scores are taken in creation order: a stable sort, never the order of `topk`. With `tie`
    (..., n) they are taken by that key instead, which is biased (algorithm section 2, step 5).
    Sums of logs that are equal on paper may differ in their last bits, and which way would be one
    more thing that a ranking depends on: scores are compared on a grid, far below float32's own.
    """
    score = (score * GRID).round()
    if tie is None:
        ranked = score.sort(dim=-1, descending=True, stable=True).indices
    else:
        ranked = tie.sort(dim=-1, stable=True).indices
        by_score = score.gather(-1, ranked).sort(dim=-1, descending=True, stable=True).indices
        ranked = ranked.gather(-1, by_score)
    return ranked[..., :count].sort(-1).values


class _Level(NamedTuple):
    """Nodes expanded together, and their children as candidates."""

    node: Tensor  # (..., n) candidate index of each expanded node
    expansion: Expansion
    token: Tensor  # (..., n K) target ids of the children
    score: Tensor  # (..., n K)
    tie: Tensor | None  # (..., n K)


def grow(
    root_logits: Tensor,
    draft_level: Callable[[Tensor, Tensor], Tensor],
    probe_uniforms: ProbeUniforms,
    policy: Policy,
    *,
    K: int,
    depth: int,
    S: int | None,
    T: float,
    target_ids: Tensor | None = None,
) -> Tree:
    """Grow the candidate tree level by level: expand the K best nodes of the level before.

    Args:
        root_logits: (..., Vd) draft logits after the root.
        draft_level: (tokens (..., K), parents (..., K)) -> logits (..., K, Vd): runs the draft on
            one beam; `parents` index the beam before (zeros for the root's children).
        probe_uniforms: asked once per expanded level, with its logits: (..., 1, Vd) for the root
            (level 0), then (..., K, Vd) for each beam.
        target_ids: (Vd,) the target's id of each draft id, ascending; None where they are equal.
    """

    def expand_level(d: int, logits: Tensor, node: Tensor, score: Tensor, tie: Tensor) -> _Level:
        x = expand(logits, probe_uniforms(d, logits), policy, K, S, T)
        token = x.token().flatten(-2)  # (..., n K)
        token = token if target_ids is None else target_ids[token]
        scores = (score[..., None] + x.log_proxy).flatten(-2)
        by_token = policy.ties == "token"
        key = _tie_key(token, tie.repeat_interleave(K, -1)) if by_token else None
        return _Level(node, x, token, scores, key)

    none = torch.zeros_like(root_logits[..., :1])  # (..., 1)
    root = none.long() + _ROOT
    levels = [expand_level(0, root_logits[..., None, :], root, none, none.long())]
    for d in range(1, depth):
        last = levels[-1]
        chosen = best(last.score, K, last.tie)  # (..., K) in the level before
        logits = draft_level(last.token.gather(-1, chosen), chosen // K)  # (..., K, Vd)
        first = 0 if d == 1 else K + (d - 2) * K * K  # candidate index where that level begins
        score = last.score.gather(-1, chosen)
        tie = chosen if last.tie is None else last.tie.gather(-1, chosen)
        levels.append(expand_level(d, logits, first + chosen, score, tie))
    return _join(levels, K, target_ids)


# where an Expansion's fields have their n nodes: ids, log_q, q_tilde, coverage, log_z, rank, ...
_NODE_AXIS = (-2, -2, -3, -1, -1, -2, -2, -2, -2)


def _join(levels: list[_Level], K: int, target_ids: Tensor | None) -> Tree:
    """Return the levels as one candidate tree."""
    fields = zip(*(level.expansion for level in levels), strict=True)
    expanded = Expansion(
        *(torch.cat(parts, axis) for parts, axis in zip(fields, _NODE_AXIS, strict=True))
    )
    if target_ids is not None:
        expanded = expanded._replace(ids=target_ids[expanded.ids])
    ties = [level.tie for level in levels if level.tie is not None]
    return Tree(
        expanded,
        torch.cat([level.node for level in levels], -1),
        torch.cat([level.token for level in levels], -1),
        torch.cat([level.score for level in levels], -1),
        _depths(K, len(levels), expanded.rank.device),
        torch.cat(ties, -1) if ties else None,
    )


def _depths(K: int, depth: int, device: torch.device) -> Tensor:
    candidate = torch.arange(K + (depth - 1) * K * K, device=device)
    return torch.where(candidate < K, 1, 2 + (candidate - K).div(K * K, rounding_mode="floor"))


def _tie_key(token: Tensor, parent_key: Tensor) -> Tensor:
    """Return own id, then the parent's, then its parent's, ... as nine digits of base 64."""
    return token * 64**8 + parent_key // 64


def prune(tree: Tree, root: Tensor, R: int) -> Kept:
    """Prune a candidate tree to its R best nodes (all, where there are fewer).

    Args:
        root: (...) int64, the root's token.

    Ancestors are kept with every node: a score never rises along a path, and of equals the one
    created earlier ranks first.
    """
    lead, N = tree.token.shape[:-1], tree.token.shape[-1]
    K, R = tree.expanded.rank.shape[-1], min(R, N)
    tie = tree.tie
    if tie is not None:  # the depth goes before the ids
        tie = tree.depth * 64**9 + tie
    kept = best(tree.score, R, tie)  # (..., R)

    def with_root(first: Tensor, rest: Tensor) -> Tensor:
        return torch.cat([first[..., None], rest], -1)

    zero = torch.zeros_like(root)
    node = with_root(zero + _ROOT, kept)
    rows = torch.arange(R + 1, device=root.device).expand(*lead, R + 1)
    row_of = torch.full((*lead, N + 1), -1, device=root.device).scatter(-1, node + 1, rows)
    places = torch.arange(tree.node.shape[-1], device=root.device).expand(tree.node.shape)
    expansion_of = torch.full((*lead, N + 1), -1, device=root.device)
    expansion = expansion_of.scatter(-1, tree.node + 1, places).gather(-1, node + 1)
    parent = with_root(zero, row_of.gather(-1, 1 + tree.node.gather(-1, kept // K)))
    slots = torch.arange(K, device=root.device)
    children = expansion.clamp(min=0)[..., None] * K + slots + 1  # (..., R + 1, K)
    child = row_of.gather(-1, children.flatten(-2)).unflatten(-1, (R + 1, K))
    child = torch.where(expansion[..., None] >= 0, child, -1)
    depth = with_root(zero, tree.depth[kept])
    token = with_root(root, tree.token.gather(-1, kept))
    mask = ancestors(parent, 1 + (N - K) // (K * K))
    return Kept(node, token, parent, depth, expansion, child, mask)


def root_only(root: Tensor) -> tuple[Tree, Kept]:
    """Return trees without a draft: one row, the root () itself, which no walk can leave."""
    zero = torch.zeros_like(root)
    place, mass = zero[None, None], torch.zeros(1, 1, device=root.device)
    expanded = Expansion(
        place, mass, mass[..., :0, None], mass[0], mass[0], place, place, mass, mass
    )
    tree = Tree(expanded, zero[None] + _ROOT, zero[None], mass[0], zero[None] + 1, None)
    none = zero[None] + _ROOT
    mask = torch.ones(1, 1, dtype=torch.bool, device=root.device)
    return tree, Kept(none, root[None], zero[None], zero[None], none, none[None], mask)


def ancestors(parent: Tensor, depth: int) -> Tensor:
    """Return which rows a row attends to: itself, its parent, and so on up to `depth` levels.

    Args:
        parent: (..., n) rows; the root is its own.

    >>> ancestors(torch.tensor([0, 0, 0, 2]), 2).int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]]
    """
    n = parent.shape[-1]
    own = torch.eye(n, dtype=torch.bool, device=parent.device).expand(*parent.shape, n)
    mask = own
    for _ in range(depth):
        mask = own | mask.gather(-2, parent[..., None].expand(*parent.shape, n))
    return mask
