"""Compare strategies at the same contexts by the expected accepted tokens given the drawn tree.

No verdict is drawn: what a tree is worth follows from the target's row at each of its nodes. What
is left of chance, the probes' draws, is paired between strategies by their uniforms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, NotRequired, TypedDict

import torch
from tqdm import tqdm

from rheo.algorithm.expansion import Policy
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.uniforms import Block, UniformSource
from rheo.bench.confidence import IntervalDict, mean, mean_interval, spawn
from rheo.bench.contexts import ComparedContext, contexts
from rheo.bench.drawn_trees import TreeFigures, draw_trees, path_products, tree_figures
from rheo.bench.prompts import Prompt
from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.params import DecodeParams

TREES = 8  # drawn and verified in one go: it bounds the memory of their logits


class Sweep(NamedTuple):
    """One parameter at several values."""

    parameter: str
    values: Sequence[float | str]


class StrategyWorth(TypedDict):
    """Means over all contexts; the shares are None where no tree has a probe."""

    expected_accepted: IntervalDict
    first_acceptance: IntervalDict
    probe_survival: float | None
    probe_acceptance: float | None
    coverage: float


class PairedDifference(IntervalDict):
    """Expected accepted tokens of one strategy minus another's, paired by context."""

    of: str
    over: str
    share_of_tau: float


class Compared(TypedDict):
    """All that `compare` finds; `closed_form_gap` where a deterministic tree was among it."""

    contexts: int
    draws: int
    strategies: dict[str, StrategyWorth]
    differences: list[PairedDifference]
    suites: dict[str, dict[str, IntervalDict]]
    each: list[dict[str, str | int | float]]
    closed_form_gap: NotRequired[float]


TreeKey = tuple[Policy, int, int, int, int | None, float]  # see `_trees_of`
Groups = dict[TreeKey, dict[str, DecodeParams]]


def compare(
    engine: Engine,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    strategies: Sequence[str],
    count: int,
    draws: int,
    raw: bool = False,
    sweep: Sweep | None = None,
) -> Compared:
    """Return expected accepted tokens of each strategy, and all paired differences, by context.

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
    seen: list[ComparedContext] = []
    found: list[tuple[dict[str, TreeFigures], float]] = []
    with tqdm(total=count, desc="contexts", unit="", delay=2) as bar, torch.inference_mode():
        for batch in contexts(engine, prompts, params, count, raw):
            measured = _measure(engine, batch, groups, draws)
            for context, figures in zip(batch, measured, strict=True):
                seen.append(context)
                found.append(figures)
                bar.update()
    if not seen:
        raise RheoError("The prompts give no context: the answers to them are empty.")
    by_name = {name: [figures[name] for figures, _ in found] for name in asked}
    out = _report(seen, by_name, _pairs(asked, len(strategies) == 1 and sweep is not None), draws)
    if not all(of.J for of in asked.values()):
        out["closed_form_gap"] = max(gap for _, gap in found)
    return out


def variants(
    params: DecodeParams, strategies: Sequence[str], sweep: Sweep | None = None
) -> dict[str, DecodeParams]:
    """Return what is compared, by name.

    Raises:
        RheoError: a value that cannot be, or a strategy that draws no tree.

    >>> list(variants(DecodeParams(), ["topk", "rheo"], Sweep("m", [0, 2])))
    ['topk m=0', 'rheo m=0', 'topk m=2', 'rheo m=2']
    """
    asked = {}
    for value in [None] if sweep is None else sweep.values:
        for name in strategies:
            changed = {} if sweep is None else {sweep.parameter: value}
            of = DecodeParams.from_dict(params.as_dict() | {"strategy": name} | changed)
            if not of.drafts:
                sentence = "draws no tree, so there is nothing to expect: leave it out."
                raise RheoError(f"{name} {sentence}")
            asked[name if sweep is None else f"{name} {sweep.parameter}={value}"] = of
    return asked


def _trees_of(of: DecodeParams) -> TreeKey:
    """Return what the trees depend on: rules that agree in it share trees and forward passes."""
    return TABLE[of.strategy].policy(of), of.K, of.R, of.depth, of.S, of.T


def _pairs(asked: dict[str, DecodeParams], to_first: bool) -> list[tuple[str, str]]:
    """Return which names are compared: those that differ in the strategy alone, or all to one."""
    if to_first:
        first, *others = asked
        return [(first, other) for other in others]
    plain = {name: replace(of, strategy="rheo") for name, of in asked.items()}
    return [(a, b) for a, b in combinations(asked, 2) if plain[a] == plain[b]]


def _measure(
    engine: Engine, batch: list[ComparedContext], groups: Groups, draws: int
) -> Iterator[tuple[dict[str, TreeFigures], float]]:
    """Yield each strategy's figures at each context of one prompt, and the gap to closed forms."""
    target, done = engine.target, 0
    parts: list[torch.Tensor] = []
    R = max(of.R for members in groups.values() for of in members.values())
    target.reset(len(batch[-1].ids) + min(TREES, draws) * (R + 1))
    for context in batch:
        ids = torch.tensor(context.ids, device=target.device)
        taken = target.prefill(ids[done:-1])[1]
        parts += [] if taken is None else [taken]
        done = len(ids) - 1
        features = torch.cat(parts) if parts else None  # (n - 1, taps * d)
        figures, gap = {}, 0.0
        for (policy, *_), members in groups.items():
            first = next(iter(members.values()))
            # without probes no uniform matters, and one tree says all
            blocks = _blocks(first, context.number, draws if policy.J else 1)
            chunks = [blocks[i : i + TREES] for i in range(0, len(blocks), TREES)]
            drawn = [draw_trees(engine, ids, features, first, policy, c) for c in chunks]
            for name, of in members.items():
                rule = TABLE[of.strategy].rule
                each = torch.cat([tree_figures(t, rule, policy, of.depth) for t in drawn])
                figures[name] = TreeFigures(*each.mean(0).tolist())
                if not of.J:  # a deterministic tree
                    truth = path_products(drawn[0])
                    gap = max(gap, abs(figures[name].accepted - truth))
        yield figures, gap


def _blocks(params: DecodeParams, number: int, count: int) -> list[Block]:
    """Return a context's uniforms: the same for all strategies, others at each context."""
    uniforms = UniformSource(replace(params, seed=spawn(params.seed, 2, number)))
    return [uniforms.block() for _ in range(count)]


def _report(
    seen: list[ComparedContext],
    by_name: dict[str, list[TreeFigures]],
    pairs: Sequence[tuple[str, str]],
    draws: int,
) -> Compared:
    """Return means with intervals, paired differences, and every context's figures."""
    accepted = {name: [x.accepted for x in found] for name, found in by_name.items()}
    suites = {
        suite: {
            name: mean_interval(
                [x for x, c in zip(column, seen, strict=True) if c.prompt.suite == suite]
            ).as_dict()
            for name, column in accepted.items()
        }
        for suite in sorted({context.prompt.suite for context in seen})
    }
    each: list[dict[str, str | int | float]] = [
        {
            "suite": c.prompt.suite,
            "id": c.prompt.id,
            "new": c.new,
            **{name: column[i] for name, column in accepted.items()},
        }
        for i, c in enumerate(seen)
    ]
    return {
        "contexts": len(seen),
        "draws": draws,
        "strategies": {name: _summary(found) for name, found in by_name.items()},
        "differences": [_difference(accepted, base, other) for base, other in pairs],
        "suites": suites,
        "each": each,
    }


def _difference(accepted: dict[str, list[float]], base: str, other: str) -> PairedDifference:
    """Return the mean gain of `other` over `base`, paired by context."""
    both = zip(accepted[other], accepted[base], strict=True)
    gains = [a - b for a, b in both]
    gain, tau = mean_interval(gains), 1 + mean(accepted[base])
    return {"of": other, "over": base, **gain.as_dict(), "share_of_tau": mean(gains) / tau}


def _summary(found: list[TreeFigures]) -> StrategyWorth:
    """Return one strategy's means over all contexts."""
    slots, survived, taken = (sum(column) for column in list(zip(*found, strict=True))[2:5])
    return {
        "expected_accepted": mean_interval([x.accepted for x in found]).as_dict(),
        "first_acceptance": mean_interval([x.first for x in found]).as_dict(),
        "probe_survival": survived / slots if slots else None,
        "probe_acceptance": taken / survived if survived else None,
        "coverage": sum(x.coverage for x in found) / len(found),
    }
