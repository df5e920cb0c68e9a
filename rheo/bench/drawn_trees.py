"""Draw trees at a context, and compute what they are worth without drawing a verdict."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import target_distribution
from rheo.algorithm.expansion import PROBE, Policy
from rheo.algorithm.tree import Kept, Tree, grow, prune
from rheo.algorithm.uniforms import Block, recorded
from rheo.algorithm.verify import Rule
from rheo.algorithm.walk import TargetRows, acceptance, expected, reach
from rheo.decoding.engine import Engine
from rheo.decoding.finite import check_trees
from rheo.params import DecodeParams


class TreeFigures(NamedTuple):
    """What one strategy's trees are worth at one context: means over draws."""

    accepted: float  # expected accepted tokens
    first: float  # probability that the first draft token is accepted
    slots: float  # probes of expanded nodes, weighted by the probability of getting there
    survived: float  # of them, those whose probe was kept
    taken: float  # of them, those that the walk goes on to
    coverage: float  # mean over kept nodes that were expanded


class DrawnTrees(NamedTuple):
    """Trees (B, ...) drawn at one context, with the target's rows."""

    tree: Tree
    kept: Kept
    rows: TargetRows
    ends: Tensor  # (n,) ids of the tokens that end the text


def draw_trees(
    engine: Engine,
    ids: Tensor,
    features: Tensor | None,
    params: DecodeParams,
    policy: Policy,
    blocks: Sequence[Block],
) -> DrawnTrees:
    """Draw one tree per block below `ids`, grown side by side, and verify all in one forward.

    Args:
        ids: (n,) the context; all but the last are committed in the target's cache.
        features: (n - 1, taps * d) of the committed tokens, None for a draft that reads none.
        blocks: the uniforms of B trees.
    """
    target, draft, B, K = engine.target, engine.draft, len(blocks), params.K
    draft.reset(len(ids) + 1, B * K * params.depth)
    root_logits = draft.extend(ids, features).expand(B, -1)  # (B, Vd)
    first = torch.arange(B, device=ids.device)[:, None] * K  # where each tree's beam begins
    beams: list[Tensor] = []

    def level(tokens: Tensor, parents: Tensor) -> Tensor:
        beams.append(parents + first if beams else parents)  # all trees have the root in common
        logits = draft.level(tokens.flatten(), beams[-1].flatten())  # (B * K, Vd)
        return logits.view(B, K, -1)

    levels = zip(*(block.levels(K, params.depth) for block in blocks), strict=True)
    tree = grow(
        root_logits,
        level,
        recorded([torch.stack(part).to(ids.device) for part in levels]),  # (B, 1 or K, J)
        policy,
        K=K,
        depth=params.depth,
        S=params.S,
        T=params.T,
        target_ids=draft.target_ids,
    )
    kept = prune(tree, ids[-1].expand(B), params.R)
    mask = torch.block_diag(*kept.mask)  # no tree sees another
    positions = target.length + kept.depth
    logits = target.verify(kept.token.flatten(), positions.flatten(), mask.bool())[0]
    logits = logits.view(*kept.token.shape, -1)  # (B, R + 1, V)
    check_trees(tree.expanded.coverage, logits, draft.name, len(ids))
    ends = torch.tensor(sorted(target.eos_ids), dtype=torch.int64, device=ids.device)
    return DrawnTrees(tree, kept, TargetRows(logits, params.T, params.top_k, params.top_p), ends)


def tree_figures(trees: DrawnTrees, rule: Rule, policy: Policy, depth: int) -> Tensor:
    """Return the fields of `TreeFigures` of each tree (B, 6), float64.

    Nothing below an end token counts.
    """
    tree, kept, rows, ends = trees
    inner = (kept.child >= 0).any(-1).any(0).nonzero()[:, 0]
    accept = acceptance(tree, kept, rows, rule, policy.m, inner)[1]  # (B, R + 1)
    reached = reach(kept, accept, depth, ends)
    kind = tree.expanded.kind.flatten(-2).gather(-1, kept.node.clamp(min=0))
    probe = ((kind == PROBE) & (kept.depth > 0)).double()
    expanded = (kept.expansion >= 0).double()
    drawn = (tree.expanded.kind == PROBE).sum(-1)  # (B, E) fewer than J where the tail ran out
    drawn = drawn.gather(-1, kept.expansion.clamp(min=0))  # (B, R + 1)
    coverage = tree.expanded.coverage.gather(-1, kept.expansion.clamp(min=0)).double()
    columns = (
        expected(kept, accept, depth, ends),
        (accept * (kept.depth == 1)).sum(-1),
        (reached * expanded * drawn).sum(-1),
        (reached.gather(-1, kept.parent) * probe).sum(-1),
        (reached * probe).sum(-1),
        (coverage * expanded).sum(-1) / expanded.sum(-1),
    )
    return torch.stack(columns, -1)


def path_products(trees: DrawnTrees) -> float:
    """Return what any lossless rule accepts of a deterministic tree: the sum of path products of p.

    Taken from whole float64 rows, node by node, as a check of everything on the other way. Nothing
    below an end token counts.
    """
    kept, rows, ends = trees.kept, trees.rows, {*trees.ends.tolist()}
    p = target_distribution(rows.logits[0].double(), *rows[1:])  # (R + 1, V)
    parents, tokens = kept.parent[0].tolist(), kept.token[0].tolist()
    product = [1.0]
    for row in range(1, len(parents)):
        above = parents[row]
        ended = above > 0 and tokens[above] in ends
        product.append(0.0 if ended else product[above] * float(p[above, tokens[row]]))
    return sum(product[1:])
