"""The draft tree as tensors: expand, grow, prune (algorithm.md section 2, steps 1-5).

Shapes: `...` any leading axes; K child slots; E = 1 + K (depth - 1) expanded nodes, the root first,
then each level's beam in creation order; N = E K candidates, candidate i being slot i % K of
expanded node i // K, so that a candidate's index *is* its creation order. Nothing here waits for
the host, and every shape follows from (K, depth, R).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import Support, draw, log_tail_mass, support, tail

DETERMINISTIC, PROBE, FILLER = 0, 1, 2
KINDS = ("deterministic", "probe", "filler")
_ROOT = -1
GRID = 2.0**40  # steps per nat in which scores are compared


class Policy(NamedTuple):
    """How a strategy fills a node's slots and ranks nodes.

    `proxy=False` scores the probe by its own q, and `ties="token"` breaks equal scores by token
    ids (its keys hold ids below 64): both are biased, and exist to show the damage.
    """

    m: int
    J: int
    proxy: bool = True
    ties: str = "structure"


class Expansion(NamedTuple):
    """Expanded nodes (..., n) with their K children."""

    ids: Tensor  # (..., n, S) int64 target ids of the support, in the node's order
    log_q: Tensor  # (..., n, S)
    q_tilde: Tensor  # (..., n, J, S) what probe j was drawn from: q-tilde without the earlier draws
    coverage: Tensor  # (..., n)
    log_z: Tensor  # (..., n) the tail's mass
    rank: Tensor  # (..., n, K) int64, each child's place in the order
    kind: Tensor  # (..., n, K) int64, an index of KINDS
    log_proxy: Tensor  # (..., n, K) what growth and pruning see
    true: Tensor  # (..., n, K) the draft probability that verification uses

    def token(self) -> Tensor:
        """Target ids of the children (..., n, K)."""
        return self.ids.gather(-1, self.rank)


class Tree(NamedTuple):
    """All N candidates of a round, in creation order."""

    expanded: Expansion  # n = E
    node: Tensor  # (..., E) int64, the candidate that was expanded; _ROOT for the first
    token: Tensor  # (..., N) int64
    score: Tensor  # (..., N) sum of log proxies along the path
    depth: Tensor  # (N,) int64, the root's children have 1
    tie: Tensor | None  # (..., N) int64 keys of ties="token"


class Kept(NamedTuple):
    """The root (row 0) and the kept nodes (rows 1..R), in creation order, so parents come first."""

    node: Tensor  # (..., R + 1) candidate index; _ROOT in row 0
    token: Tensor  # (..., R + 1)
    parent: Tensor  # (..., R + 1) row; the root's is 0
    depth: Tensor  # (..., R + 1)
    expansion: Tensor  # (..., R + 1) row of Tree.expanded, -1 where the node was not expanded
    child: Tensor  # (..., R + 1, K) row of the child in each slot, -1 where it was pruned
    mask: Tensor  # (..., R + 1, R + 1) bool, row attends column: its ancestors and itself


def draw_probes(q_tilde: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Draw J probes without replacement.

    Args:
        q_tilde: (..., S).
        uniforms: (..., J) in [0, 1).

    Returns:
        ranks (..., J), the distributions they were drawn from (..., J, S), and whether there was
        mass left to draw from (..., J).
    """
    ranks, laws, valid = [], [], []
    remaining = q_tilde
    for j in range(uniforms.shape[-1]):
        mass = remaining.sum(-1, keepdim=True)  # (..., 1)
        law = remaining if j == 0 else torch.where(mass > 0, remaining / mass, 0.0)
        rank = draw(law, uniforms[..., j])  # (...)
        remaining = law.scatter(-1, rank[..., None], 0.0)
        ranks.append(rank)
        laws.append(law)
        valid.append(mass[..., 0] > 0)
    return torch.stack(ranks, -1), torch.stack(laws, -2), torch.stack(valid, -1)


def fill_slots(m: int, K: int, ranks: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Slots in the order deterministic 1..m, probes, fillers; a filler never repeats a probe.

    Args:
        ranks, valid: (..., J) from `draw_probes`; an invalid draw leaves its slot to a filler.

    Returns:
        rank (..., K) and kind (..., K).

    >>> rank, kind = fill_slots(1, 4, torch.tensor([2]), torch.tensor([True]))
    >>> rank.tolist(), [KINDS[k] for k in kind]
    ([0, 2, 1, 3], ['deterministic', 'probe', 'filler', 'filler'])
    """
    lead, J = ranks.shape[:-1], ranks.shape[-1]
    places = torch.arange(K, device=ranks.device).expand(*lead, K)
    head, rest = places[..., :m], places[..., m:]  # (..., m), (..., K - m)
    if J == 0:
        return places, torch.where(places < m, DETERMINISTIC, FILLER)
    drawn = (rest[..., None] == ranks[..., None, :]) & valid[..., None, :]  # (..., K - m, J)
    fillers = rest.gather(-1, drawn.any(-1).long().argsort(dim=-1, stable=True))
    slot, probes = rest - m, valid.sum(-1, keepdim=True)
    is_probe = slot < probes
    ranks = torch.nn.functional.pad(ranks, (0, K - m - J))
    rank = torch.where(is_probe, ranks, fillers.gather(-1, (slot - probes).clamp(min=0)))
    kind = torch.where(is_probe, PROBE, FILLER)
    return torch.cat([head, rank], -1), torch.cat([torch.full_like(head, DETERMINISTIC), kind], -1)


def log_proxies(s: Support, log_z: Tensor, rank: Tensor, kind: Tensor, policy: Policy) -> Tensor:
    """log proxy (..., K): q(v) for a token in its own right; for a probe min{q(x_m), z}, whatever
    was drawn, and never below the first filler's q, so that it stands before them in any dtype."""
    own = s.log_q.gather(-1, rank)
    if policy.J == 0 or not policy.proxy:
        return own.clamp(max=0.0)
    probe = s.log_q[..., policy.m]
    if policy.m > 0:
        probe = torch.maximum(torch.minimum(s.log_q[..., policy.m - 1], log_z), probe)
    return torch.where(kind == PROBE, probe[..., None], own).clamp(max=0.0)


def expand(
    logits: Tensor, uniforms: Tensor, policy: Policy, K: int, S: int | None, T: float
) -> Expansion:
    """Fill the K slots of nodes from their draft logits.

    Args:
        logits: (..., n, Vd) untempered.
        uniforms: (..., n, J), one per probe.
        policy, K, S, T: as in `DecodeParams`; T enters the probe's draw alone.
    """
    s = support(logits, S)
    log_z = log_tail_mass(s, min(policy.m, s.ids.shape[-1]))
    lead = s.ids.shape[:-1]
    if policy.J:
        ranks, laws, valid = draw_probes(tail(s, policy.m, T), uniforms)
    else:
        ranks = valid = s.ids.new_zeros(*lead, 0)
        laws = s.log_q.new_zeros(*lead, 0, s.ids.shape[-1])
    rank, kind = fill_slots(policy.m, K, ranks, valid)
    true = torch.ones_like(rank, dtype=s.log_q.dtype)
    if policy.J:
        drawn = laws.gather(-1, ranks[..., None])[..., 0]  # (..., J)
        drawn = torch.nn.functional.pad(drawn, (policy.m, K - policy.m - policy.J), value=1.0)
        true = torch.where(kind == PROBE, drawn, true)
    log_proxy = log_proxies(s, log_z, rank, kind, policy)
    return Expansion(s.ids, s.log_q, laws, s.coverage, log_z, rank, kind, log_proxy, true)


def best(score: Tensor, count: int, tie: Tensor | None = None) -> Tensor:
    """Indices (..., count) of the highest scores (..., n), in creation order.

    Equal scores are taken in creation order: a stable sort, never the order of `topk`. With `tie`
    (..., n) they are taken by that key instead, which is biased (algorithm.md section 2, step 5).
    Sums of logs that are equal on paper may differ in their last bits, and which way would be one
    more thing a ranking depends on: scores are compared on a grid, far below float32's own.
    """
    score = (score * GRID).round()
    if tie is None:
        ranked = score.sort(dim=-1, descending=True, stable=True).indices
    else:
        ranked = tie.sort(dim=-1, stable=True).indices
        by_score = score.gather(-1, ranked).sort(dim=-1, descending=True, stable=True).indices
        ranked = ranked.gather(-1, by_score)
    return ranked[..., :count].sort(-1).values


def grow(
    root_logits: Tensor,
    level: Callable[[Tensor, Tensor], Tensor],
    uniforms: Sequence[Tensor],
    policy: Policy,
    *,
    K: int,
    depth: int,
    S: int | None,
    T: float,
    target_ids: Tensor | None = None,
) -> Tree:
    """Grow the tree level by level: expand the K best nodes of the level before.

    Args:
        root_logits: (..., Vd) draft logits after the root.
        level: (tokens (..., K), parents (..., K)) -> logits (..., K, Vd): runs the draft on one
            beam; `parents` index the beam before (zeros for the root's children).
        uniforms: of the probes, one tensor per expanded level: (..., 1, J) for the root, then
            (..., K, J) for each beam, asked for once the level's logits are there.
        target_ids: (Vd,) the target's id of each draft id, ascending; None where they are equal.
    """
    expansions = [expand(root_logits[..., None, :], uniforms[0], policy, K, S, T)]
    beams = [torch.full_like(expansions[0].rank[..., 0], _ROOT)]  # candidate indices (..., 1)
    tokens = [_target_token(expansions[0], target_ids)]  # (..., n K)
    scores = [expansions[0].log_proxy.flatten(-2)]
    ties = [_tie_key(tokens[0], torch.zeros_like(tokens[0]), policy)]
    for d in range(1, depth):
        base = 0 if d == 1 else K + (d - 2) * K * K
        chosen = best(scores[-1], K, ties[-1])  # (..., K) in this level
        logits = level(tokens[-1].gather(-1, chosen), chosen // K)  # (..., K, Vd)
        expansion = expand(logits, uniforms[d], policy, K, S, T)
        score = scores[-1].gather(-1, chosen)[..., None] + expansion.log_proxy  # (..., K, K)
        token = _target_token(expansion, target_ids)
        if ties[-1] is not None:
            ties.append(
                _tie_key(token, ties[-1].gather(-1, chosen).repeat_interleave(K, -1), policy)
            )
        else:
            ties.append(None)
        expansions.append(expansion)
        beams.append(base + chosen)
        tokens.append(token)
        scores.append(score.flatten(-2))
    expanded = Expansion(
        *(torch.cat(part, _NODE_AXIS[i]) for i, part in enumerate(zip(*expansions, strict=True)))
    )
    if target_ids is not None:
        expanded = expanded._replace(ids=target_ids[expanded.ids])
    tie = None if ties[0] is None else torch.cat(ties, -1)
    depths = _depths(K, depth, root_logits.device)
    return Tree(
        expanded, torch.cat(beams, -1), torch.cat(tokens, -1), torch.cat(scores, -1), depths, tie
    )


# where an Expansion's fields have their n nodes: ids, log_q, q_tilde, coverage, log_z, rank, ...
_NODE_AXIS = (-2, -2, -3, -1, -1, -2, -2, -2, -2)


def _target_token(expansion: Expansion, target_ids: Tensor | None) -> Tensor:
    token = expansion.token().flatten(-2)  # (..., n K)
    return token if target_ids is None else target_ids[token]


def _depths(K: int, depth: int, device: torch.device) -> Tensor:
    candidate = torch.arange(K + (depth - 1) * K * K, device=device)
    return torch.where(candidate < K, 1, 2 + (candidate - K).div(K * K, rounding_mode="floor"))


def _tie_key(token: Tensor, parent_key: Tensor, policy: Policy) -> Tensor | None:
    """Own id, then the parent's, then its parent's, ... as digits of base 64, nine of them."""
    if policy.ties == "structure":
        return None
    return token * 64**8 + parent_key // 64


def prune(tree: Tree, root: Tensor, R: int) -> Kept:
    """Keep the R best candidates (all, where there are fewer).

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
    """No draft at all: one row, the root () itself, which no walk can leave."""
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
    """Which rows a row attends to: itself, its parent, and so on up to `depth` levels.

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
