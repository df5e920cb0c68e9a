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

from rheo.algorithm.budget import ALL, Budget, grid
from rheo.algorithm.expansion import Expansion, Policy, expand

_ROOT = -1

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
    grown: Tensor | None = None  # (..., N) bool, False where a budget left the level undrafted


class Kept(NamedTuple):
    """The pruned tree: the root (row 0) and the kept nodes (rows 1..R), in creation order, so that
    parents come before their children.

    A budget may keep fewer than R nodes. One tree on a CPU has fewer rows then; elsewhere the rows
    left over stand at the end, as nodes that no walk can come to: node _ROOT, depth 0, no children.
    """

    node: Tensor  # (..., R + 1) candidate index; _ROOT in row 0
    token: Tensor  # (..., R + 1)
    parent: Tensor  # (..., R + 1) row; the root's is 0
    depth: Tensor  # (..., R + 1)
    expansion: Tensor  # (..., R + 1) row of Tree.expanded, -1 where the node was not expanded
    child: Tensor  # (..., R + 1, K) row of the child in each slot, -1 where it was pruned
    mask: Tensor  # (..., R + 1, R + 1) bool, row attends column: its ancestors and itself


def best(score: Tensor, count: int, tie: Tensor | None = None) -> Tensor:
    """Return the indices (..., count) of the highest scores (..., n), in creation order."""
    return ranked(score, tie)[..., :count].sort(-1).values


def ranked(score: Tensor, tie: Tensor | None = None) -> Tensor:
    """Return the indices (..., n) of scores (..., n) from the highest to the lowest.

    Equal scores are taken in creation order: a stable sort, never the order of `topk`. With `tie`
    (..., n) they are taken by that key instead, which is biased (algorithm section 2, step 5).
    Scores are compared on a grid, so that sums which are equal on paper are equal.
    """
    score = grid(score)
    if tie is None:
        return score.sort(dim=-1, descending=True, stable=True).indices
    by_key = tie.sort(dim=-1, stable=True).indices
    by_score = score.gather(-1, by_key).sort(dim=-1, descending=True, stable=True).indices
    return by_key.gather(-1, by_score)


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
    budget: Budget = ALL,
) -> Tree:
    """Grow the candidate tree level by level: expand the K best nodes of the level before.

    Args:
        root_logits: (..., Vd) draft logits after the root.
        draft_level: (tokens (..., K), parents (..., K)) -> logits (..., K, Vd): runs the draft on
            one beam; `parents` index the beam before (zeros for the root's children).
        probe_uniforms: asked once per expanded level, with its logits: (..., 1, Vd) for the root
            (level 0), then (..., K, Vd) for each beam.
        target_ids: (Vd,) the target's id of each draft id, ascending; None where they are equal.
        budget: may leave levels undrafted; except for one tree on a CPU they are marked instead.
    """

    def expand_level(d: int, logits: Tensor, node: Tensor, score: Tensor, tie: Tensor) -> _Level:
        x = expand(logits, probe_uniforms(d, logits), policy, K, S, T)
        token = x.token().flatten(-2)  # (..., n K)
        token = token if target_ids is None else target_ids[token]
        key = _tie_key(token, tie.repeat_interleave(K, -1)) if policy.ties == "token" else None
        return _Level(node, x, token, (score[..., None] + x.log_proxy).flatten(-2), key)

    none = torch.zeros_like(root_logits[..., :1])  # (..., 1)
    levels = [expand_level(0, root_logits[..., None, :], none.long() + _ROOT, none, none.long())]
    grown = [torch.ones_like(none, dtype=torch.bool)]  # (..., 1) a level
    host_is_free = root_logits.device.type == "cpu" and root_logits.dim() == 1
    for d in range(1, depth):
        last = levels[-1]
        chosen = best(last.score, K, last.tie)  # (..., K) in the level before
        score = last.score.gather(-1, chosen)
        if budget.stops_growth:
            grown.append(grown[-1] & budget.grows(score)[..., None])
            if host_is_free and not grown[-1]:
                break
        logits = draft_level(last.token.gather(-1, chosen), chosen // K)  # (..., K, Vd)
        first = 0 if d == 1 else K + (d - 2) * K * K  # candidate index where that level begins
        tie = chosen if last.tie is None else last.tie.gather(-1, chosen)
        levels.append(expand_level(d, logits, first + chosen, score, tie))
    tree = _join(levels, K, target_ids)
    return tree if host_is_free or len(grown) == 1 else _marked(tree, grown)


def _marked(tree: Tree, grown: list[Tensor]) -> Tree:
    """Return the tree with the levels marked that count: grown is one (..., 1) bool a level."""
    K = tree.expanded.rank.shape[-1]
    counts = [K, *[K * K] * (len(grown) - 1)]  # candidates of each level
    parts = [g.expand(*g.shape[:-1], n) for g, n in zip(grown, counts, strict=True)]
    return tree._replace(grown=torch.cat(parts, -1))


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


def prune(tree: Tree, root: Tensor, R: int, budget: Budget = ALL) -> Kept:
    """Prune a candidate tree to its R best nodes (all, where there are fewer), or to a budget's.

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
    score = tree.score
    if tree.grown is not None:
        score = score.masked_fill(~tree.grown, -torch.inf)
    kept = ranked(score, tie)[..., :R]
    if budget.prunes or tree.grown is not None:
        place = torch.arange(R, device=root.device)
        over = place >= budget.size(score.gather(-1, kept))[..., None]
        kept = kept.masked_fill(over, N)  # which is no candidate
    kept = kept.sort(-1).values
    if not lead and kept.device.type == "cpu":  # a host that can look for free
        kept = kept[kept < N]
    R, there = kept.shape[-1], kept < N

    def with_root(first: Tensor, rest: Tensor) -> Tensor:
        return torch.cat([first[..., None], torch.where(there, rest, first[..., None])], -1)

    zero = torch.zeros_like(root)
    at = kept.clamp(max=N - 1)
    node = with_root(zero + _ROOT, kept)
    rows = torch.arange(R + 1, device=root.device).expand(*lead, R + 1)
    # the root, N candidates, and a place for those that are none
    places = torch.cat([zero[..., None], kept + 1], -1)  # (..., R + 1)
    row_of = torch.full((*lead, N + 2), -1, device=root.device).scatter(-1, places, rows)
    expansions = torch.arange(tree.node.shape[-1], device=root.device).expand(tree.node.shape)
    expansion_of = torch.full((*lead, N + 2), -1, device=root.device)
    expansion = expansion_of.scatter(-1, tree.node + 1, expansions).gather(-1, places)
    row_of[..., -1] = -1
    parent = with_root(zero, row_of.gather(-1, 1 + tree.node.gather(-1, at // K)))
    child = _children(row_of, expansion, K)
    depth = with_root(zero, tree.depth[at])
    token = with_root(root, tree.token.gather(-1, at))
    mask = ancestors(parent, 1 + (N - K) // (K * K))
    return Kept(node, token, parent, depth, expansion, child, mask)


def _children(row_of: Tensor, expansion: Tensor, K: int) -> Tensor:
    """Return the rows (..., R + 1, K) of each row's children, -1 where there is none.

    Args:
        row_of: (..., N + 2) the row of each candidate, the root before them.
        expansion: (..., R + 1) which of the expanded nodes a row is, or -1.
    """
    slots = torch.arange(K, device=expansion.device)
    places = expansion.clamp(min=0)[..., None] * K + slots + 1  # (..., R + 1, K)
    child = row_of.gather(-1, places.flatten(-2)).unflatten(-1, places.shape[-2:])
    return torch.where(expansion[..., None] >= 0, child, -1)


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
