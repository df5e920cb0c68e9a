"""Run strategies side by side: tau, tokens a second, the ratio to autoregressive decoding."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypedDict

import numpy as np
from tqdm import tqdm

from rheo.bench.confidence import IntervalDict, median_interval, ratio_interval, spawn
from rheo.bench.prompts import Prompt
from rheo.decoding.engine import Engine
from rheo.decoding.timing import PARTS
from rheo.errors import RheoError
from rheo.params import STRATEGY_FIELDS, DecodeParams

_WARM_UP = 4  # tokens


class Sample(NamedTuple):
    """One prompt decoded by one strategy."""

    suite: str
    tokens: int  # new, the prefill's included
    seconds: float  # from the prompt's ids to the last token, prefill included
    rounds: int
    counted: int  # tokens that count for tau
    expected: float | None  # sum over rounds of the expected accepted tokens, where recorded
    ms: dict[str, float]  # by part, sums over rounds

    @property
    def speed(self) -> float:
        """Return new tokens a second."""
        return self.tokens / self.seconds


class StrategyFigures(TypedDict):
    """What one strategy reached; None where there was nothing to measure."""

    tau: IntervalDict
    expected_accepted: float | None  # a round
    tokens_per_s: float
    ratio: IntervalDict | None  # of tokens/s to autoregressive decoding
    rounds: int
    ms: dict[str, float]  # a round, by part and in total
    outside_models: float | None  # share of a round outside the two models' forwards
    lossless: bool


class Throughput(TypedDict):
    """All strategies' figures, over all prompts and by suite."""

    prompts: int
    strategies: dict[str, StrategyFigures]
    suites: dict[str, dict[str, StrategyFigures]]


Samples = dict[str, list[Sample]]  # by strategy, in the order of the prompts


def bench(
    engine: Engine,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    strategies: Sequence[str],
    raw: bool = False,
    record: bool = True,
) -> Throughput:
    """Decode every prompt by every strategy, in one run, the order rotating with the prompt.

    At a prompt all strategies have one seed, so that they meet the same uniforms. Without `record`
    rounds do what the text needs and nothing more, and nobody's expectation is known.

    Raises:
        RheoError: a prompt that does not fit the context.
    """
    _check_lengths(engine, prompts, raw)
    samples: Samples = {name: [] for name in strategies}
    for name in strategies:
        short = replace(params, strategy=name, max_new_tokens=_WARM_UP)
        sample(engine, prompts[0], short, raw, record)
    with tqdm(total=len(prompts) * len(strategies), desc="runs", unit="", delay=2) as bar:
        for i, prompt in enumerate(prompts):
            turn = i % len(strategies)
            for name in (*strategies[turn:], *strategies[:turn]):
                of = replace(params, strategy=name, seed=spawn(params.seed, 1, i))
                samples[name].append(sample(engine, prompt, of, raw, record))
                bar.update()
    suites = sorted({prompt.suite for prompt in prompts})
    return {
        "prompts": len(prompts),
        "strategies": _summaries(samples, params.seed),
        "suites": {suite: _summaries(_of_suite(samples, suite), params.seed) for suite in suites},
    }


def _check_lengths(engine: Engine, prompts: Sequence[Prompt], raw: bool) -> None:
    """Raise RheoError for a prompt that does not fit the context."""
    for prompt in prompts:
        if (length := len(engine.target.encode(prompt.text, raw))) >= engine.target.context:
            raise RheoError(
                f"Prompt {prompt.id} of {prompt.suite} has {length:,} tokens and the model's "
                f"context ends at {engine.target.context:,}: leave it out."
            )


def sample(
    engine: Engine, prompt: Prompt, params: DecodeParams, raw: bool = False, record: bool = True
) -> Sample:
    """Decode one prompt and time it."""
    decoding = engine.decode(prompt.text, params, raw, record=record)
    start = time.perf_counter()
    for _ in decoding:
        pass
    seconds = time.perf_counter() - start - decoding.budget_s
    rounds = decoding.rounds
    return Sample(
        prompt.suite,
        1 + sum(len(r.emitted) for r in rounds),
        seconds,
        len(rounds),
        sum(r.counted for r in rounds),
        sum(r.expected_accepted or 0.0 for r in rounds) if record else None,
        {part: sum(getattr(r.ms, part) for r in rounds) for part in PARTS},
    )


def _of_suite(samples: Samples, suite: str) -> Samples:
    return {name: [s for s in column if s.suite == suite] for name, column in samples.items()}


def _summaries(samples: Samples, seed: int) -> dict[str, StrategyFigures]:
    """Sum up each strategy; those that draw trees are compared with the one that does not."""
    base = next((c for n, c in samples.items() if not STRATEGY_FIELDS[n].draws_tree), None)
    return {
        name: _summary(name, column, base, np.random.default_rng(seed))
        for name, column in samples.items()
    }


def _summary(
    name: str, column: list[Sample], base: list[Sample] | None, generator: np.random.Generator
) -> StrategyFigures:
    """Sum up one strategy; tau is resampled by prompt, the ratio is a median over prompts."""
    ran = [s for s in column if s.rounds]  # an answer that ends at once has no round
    rounds = sum(s.rounds for s in ran)
    ms = {part: sum(s.ms[part] for s in ran) / max(rounds, 1) for part in PARTS}
    total = sum(ms.values())
    tau = ratio_interval([s.counted for s in ran], [s.rounds for s in ran], generator)
    speeds = [a.speed / b.speed for a, b in zip(column, base, strict=True)] if base else None
    return {
        "tau": tau.as_dict(),
        "expected_accepted": _per_round([s.expected for s in ran], rounds),
        "tokens_per_s": sum(s.tokens for s in column) / sum(s.seconds for s in column),
        "ratio": median_interval(speeds, generator).as_dict() if speeds else None,
        "rounds": rounds,
        "ms": ms | {"total": total},
        "outside_models": (ms["verify"] + ms["other"]) / total if total else None,
        "lossless": STRATEGY_FIELDS[name].lossless,
    }


def _per_round(sums: Sequence[float | None], rounds: int) -> float | None:
    """Return the mean over rounds of sums by prompt; None where they were not recorded."""
    known = [x for x in sums if x is not None]
    return sum(known) / rounds if rounds and len(known) == len(sums) else None
