"""Strategies compared at the same contexts by the expected accepted tokens given the drawn tree.

No verdict is drawn: what a tree is worth follows from the target's row at each of its nodes. What
is left of chance, the probes' draws, is paired between strategies by their uniforms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from rheo.algorithm.distribution import target_distribution
from rheo.algorithm.expansion import PROBE, Policy
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.tree import Kept, Tree, grow, prune
from rheo.algorithm.uniforms import Block, UniformSource, recorded
from rheo.algorithm.verify import Rule
from rheo.algorithm.walk import TargetRows, acceptance, expected, reach
from rheo.bench.confidence import mean_interval, spawn
from rheo.bench.contexts import Context, contexts
from rheo.bench.prompts import Prompt
from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.params import DecodeParams

TREES = 8  # drawn and verified in one go: it bounds the memory of their logits


class Worth(NamedTuple):
    """What one strategy's trees are worth at one context: means over draws."""

    accepted: float  # expected accepted tokens
    first: float  # probability that the first draft token is accepted
    slots: float  # probe slots of expanded nodes, weighted by the probability of getting there
    survived: float  # of them, those whose probe was kept
    taken: float  # of them, those that the walk goes on to
    coverage: float  # mean over kept nodes that were expanded


class Sweep(NamedTuple):
    """One parameter at several values."""

    parameter: str
    values: Sequence[Any]


Groups = dict[tuple, dict[str, DecodeParams]]  # by `_trees_of`, then by name


class Trees(NamedTuple):
    """Trees (B, ...) drawn at one context, with the target's rows."""

    tree: Tree
    kept: Kept
    rows: TargetRows


def compare(
    engine: Engine,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    strategies: Sequence[str],
    count: int,
    draws: int,
    raw: bool = False,
    sweep: Sweep | None = None,
) -> dict[str, Any]:
    """Expected accepted tokens of each strategy, and all paired differences, by context.

    Args:
        count: contexts, in all. draws: trees at each; a strategy without probes needs one.
        sweep: a parameter and the values it takes, at the contexts of `params`; the figures are
            then named "rheo m=2", and a difference is between strategies at one value, or of one
            strategy to its first value.

    Raises:
        RheoError: a strategy that draws no tree, or prompts that give no context.
    """
    asked = variants(params, strategies, sweep)
    groups: Groups = {}
    for name, of in asked.items():
        groups.setdefault(_trees_of(of), {})[name] = of
    seen: list[Context] = []
    found: list[tuple[dict[str, Worth], float]] = []
    with tqdm(total=count, desc="contexts", unit="", delay=2) as bar, torch.inference_mode():
        for batch in contexts(engine, prompts, params, count, raw):
            for context, judged in zip(batch, _judge(engine, batch, groups, draws), strict=True):
                seen.append(context)
                found.append(judged)
                bar.update()
    if not seen:
        raise RheoError("The prompts give no context: the answers to them are empty.")
    worths = {name: [worth[name] for worth, _ in found] for name in asked}
    pairs = [
        pair for pair in combinations(asked, 2) if _comparable(*(asked[name] for name in pair))
    ]
    if sweep and len(strategies) == 1:
        first, *others = asked
        pairs = [(first, other) for other in others]
    out = {"contexts": len(seen), "draws": draws} | _report(seen, worths, pairs)
    if not all(of.J for of in asked.values()):
        out["closed_form_gap"] = max(gap for _, gap in found)
    return out


def variants(
    params: DecodeParams, strategies: Sequence[str], sweep: Sweep | None = None
) -> dict[str, DecodeParams]:
    """What is compared, by name.

    Raises:
        RheoError: a value that cannot be, or a strategy that draws no tree.

    >>> list(variants(DecodeParams(), ["topk", "rheo"], Sweep("m", [0, 2])))
    ['topk m=0', 'rheo m=0', 'topk m=2', 'rheo m=2']
    """
    asked = {}
    for value in [None] if sweep is None else sweep.values:
        for name in strategies:
            changed = {} if sweep is None else {sweep.parameter: value}
            of = replace(params, strategy=name, **changed)
            if not of.drafts:
                sentence = "draws no tree, so there is nothing to expect: leave it out."
                raise RheoError(f"{name} {sentence}")
            asked[name if sweep is None else f"{name} {sweep.parameter}={value}"] = of
    return asked


def _trees_of(of: DecodeParams) -> tuple:
    """What the trees depend on: rules that agree in it share the trees and their forward pass."""
    return TABLE[of.strategy].policy(of), of.K, of.R, of.depth, of.S, of.T


def _comparable(a: DecodeParams, b: DecodeParams) -> bool:
    return replace(a, strategy="rheo") == replace(b, strategy="rheo")


def _judge(
    engine: Engine, batch: list[Context], groups: Groups, draws: int
) -> Iterator[tuple[dict[str, Worth], float]]:
    """Each strategy's worth at each context of one prompt, and Top-K's gap to its closed form."""
    target, parts, done = engine.target, [], 0
    R = max(of.R for members in groups.values() for of in members.values())
    target.reset(len(batch[-1].ids) + min(TREES, draws) * (R + 1))
    for context in batch:
        ids = torch.tensor(context.ids, device=target.device)
        parts.append(target.prefill(ids[done:-1])[1])
        done = len(ids) - 1
        features = None if parts[0] is None else torch.cat(parts)  # (n - 1, taps * d)
        worth, gap = {}, 0.0
        for (policy, *_), members in groups.items():
            first = next(iter(members.values()))
            # without probes no uniform matters, and one tree says all
            blocks = _blocks(first, context.index, draws if policy.J else 1)
            chunks = [blocks[i : i + TREES] for i in range(0, len(blocks), TREES)]
            drawn = [_draw(engine, ids, features, first, policy, c) for c in chunks]
            for name, of in members.items():
                rule = TABLE[of.strategy].rule
                means = torch.cat([_worth(t, rule, policy, of.depth) for t in drawn]).mean(0)
                worth[name] = Worth(*means.tolist())
                if not of.J:  # a deterministic tree
                    truth = closed_form(drawn[0].kept, drawn[0].rows)
                    gap = max(gap, abs(worth[name].accepted - truth))
        yield worth, gap


def _blocks(params: DecodeParams, index: int, count: int) -> list[Block]:
    """A context's uniforms: the same for all strategies, others at each context."""
    uniforms = UniformSource(replace(params, seed=spawn(params.seed, 2, index)))
    return [uniforms.block() for _ in range(count)]


def _draw(
    engine: Engine,
    ids: Tensor,
    features: Tensor | None,
    params: DecodeParams,
    policy: Policy,
    blocks: Sequence[Block],
) -> Trees:
    """One tree per block below `ids`, grown side by side, and one target forward over all."""
    target, draft, B, K = engine.target, engine.draft, len(blocks), params.K
    draft.reset(len(ids) + 1, B * K * params.depth)
    root_logits = draft.extend(ids, features).expand(B, -1)  # (B, Vd)
    first = torch.arange(B, device=ids.device)[:, None] * K  # where each tree's beam begins
    beams: list[Tensor] = []

    def level(tokens: Tensor, parents: Tensor) -> Tensor:
        beams.append(parents + first if beams else parents)  # all trees have the root in common
        return draft.level(tokens.flatten(), beams[-1].flatten()).unflatten(0, (B, K))

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
    logits = logits.unflatten(0, kept.token.shape)  # (B, R + 1, V)
    return Trees(tree, kept, TargetRows(logits, params.T, params.top_k, params.top_p))


def _worth(trees: Trees, rule: Rule, policy: Policy, depth: int) -> Tensor:
    """(B, fields of Worth) float64."""
    tree, kept, rows = trees
    inner = (kept.child >= 0).any(-1).any(0).nonzero()[:, 0]
    accept = acceptance(tree, kept, rows, rule, policy.m, inner)[1]  # (B, R + 1)
    reached = reach(kept, accept, depth)
    kind = tree.expanded.kind.flatten(-2).gather(-1, kept.node.clamp(min=0))
    probe = ((kind == PROBE) & (kept.depth > 0)).double()
    expanded = (kept.expansion >= 0).double()
    coverage = tree.expanded.coverage.gather(-1, kept.expansion.clamp(min=0)).double()
    columns = (
        expected(kept, accept, depth),
        (accept * (kept.depth == 1)).sum(-1),
        (reached * expanded).sum(-1) * policy.J,
        (reached.gather(-1, kept.parent) * probe).sum(-1),
        (reached * probe).sum(-1),
        (coverage * expanded).sum(-1) / expanded.sum(-1),
    )
    return torch.stack(columns, -1)


def closed_form(kept: Kept, rows: TargetRows) -> float:
    """What any lossless rule accepts of a tree without probes: the sum of p's path products.

    Taken from whole float64 rows, node by node, as a check of everything on the other way.
    """
    law = target_distribution(rows.logits[0].double(), *rows[1:])  # (R + 1, V)
    parents, tokens = kept.parent[0].tolist(), kept.token[0].tolist()
    product = [1.0]
    for row in range(1, len(parents)):
        product.append(product[parents[row]] * float(law[parents[row], tokens[row]]))
    return sum(product[1:])


def _report(
    seen: list[Context], worths: dict[str, list[Worth]], pairs: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Means with intervals, paired differences, and every context's figures."""
    suites = sorted({context.prompt.suite for context in seen})
    accepted = {name: [w.accepted for w in found] for name, found in worths.items()}
    differences = []
    for base, other in pairs:
        both = zip(accepted[other], accepted[base], strict=True)
        gain = mean_interval([a - b for a, b in both])
        tau = 1 + mean_interval(accepted[base]).value
        differences.append(
            {"of": other, "over": base, **gain.as_dict(), "share_of_tau": gain.value / tau}
        )
    by_suite = {
        suite: {
            name: mean_interval(
                [x for x, c in zip(column, seen, strict=True) if c.prompt.suite == suite]
            ).as_dict()
            for name, column in accepted.items()
        }
        for suite in suites
    }
    each = [
        {"suite": c.prompt.suite, "id": c.prompt.id, "new": c.new}
        | {name: column[i] for name, column in accepted.items()}
        for i, c in enumerate(seen)
    ]
    strategies = {name: _summary(found) for name, found in worths.items()}
    return {
        "strategies": strategies,
        "differences": differences,
        "suites": by_suite,
        "each": each,
    }


def _summary(found: list[Worth]) -> dict[str, Any]:
    slots, survived, taken = (sum(column) for column in list(zip(*found, strict=True))[2:5])
    return {
        "expected_accepted": mean_interval([w.accepted for w in found]).as_dict(),
        "first_acceptance": mean_interval([w.first for w in found]).as_dict(),
        "probe_survival": survived / slots if slots else None,
        "probe_acceptance": taken / survived if survived else None,
        "coverage": sum(w.coverage for w in found) / len(found),
    }
