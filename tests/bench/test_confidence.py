"""Intervals against SciPy, written figures, by hand, and against what they promise."""

import numpy as np
import pytest
from scipy import stats

from rheo.bench.confidence import (
    Interval,
    bootstrap,
    mean_interval,
    median_interval,
    ratio_interval,
    spawn,
)
from rheo.ranges import RANGES

QUANTILES = {
    1: 12.706204736174659,
    2: 4.302652729749458,
    3: 3.182446305283705,
    4: 2.7764451051977908,
    5: 2.570581835636314,
    8: 2.3060041352041662,
    9: 2.2621571627982036,
    29: 2.0452296421327043,
    59: 2.0009953780882688,
    299: 1.9679296690656611,
    1000: 1.9623390808263348,
}  # by degrees of freedom, from the finite series 26.7.3-4 of Abramowitz and Stegun


@pytest.mark.parametrize("df", QUANTILES)
def test_students_quantile_is_that_of_the_finite_series(df):
    x = np.arange(df + 1.0) ** 1.5
    value, low, high = mean_interval(x.tolist())
    error = x.std(ddof=1) / (df + 1) ** 0.5
    for half in (high - value, value - low):
        assert half / error == pytest.approx(QUANTILES[df], rel=1e-9)


def test_mean_by_hand():
    # mean 2, standard deviation 1, standard error 1 / sqrt(3), t of 2 degrees of freedom 4.302653
    half = 4.302652729911275 / 3**0.5
    assert mean_interval([1, 2, 3]) == pytest.approx((2, 2 - half, 2 + half))


def test_mean_is_scipys():
    x = np.random.default_rng(0).exponential(size=37)
    low, high = stats.t.interval(0.95, 36, loc=x.mean(), scale=stats.sem(x))
    assert mean_interval(x.tolist()) == pytest.approx((x.mean(), low, high))


@pytest.mark.parametrize("values", [[], [3.0]])
def test_too_few_observations_give_no_ends(values):
    value = values[0] if values else None
    nothing = Interval(value, None, None)
    assert median_interval(values, np.random.default_rng(0)) == nothing
    assert ratio_interval(values, [1.0] * len(values), np.random.default_rng(0)) == nothing
    if values:
        assert mean_interval(values) == nothing


def test_ratio_is_of_sums_not_a_mean_of_ratios():
    assert ratio_interval([10, 1], [2, 1], np.random.default_rng(0)).value == 11 / 3


def test_bootstrap_is_scipys():
    rng = np.random.default_rng(1)
    a, b = rng.poisson(9, 40) + 1.0, rng.poisson(3, 40) + 1.0

    def ratio(x, y, axis=-1):
        return x.sum(axis) / y.sum(axis)

    theirs = stats.bootstrap(
        (a, b), ratio, paired=True, method="percentile", n_resamples=20000, vectorized=True,
        rng=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    ours = ratio_interval(a, b, np.random.default_rng(3))
    assert ours[1:] == pytest.approx((theirs.low, theirs.high), rel=0.02)
    middle = median_interval(a, np.random.default_rng(3))
    theirs = stats.bootstrap((a,), np.median, method="percentile", rng=np.random.default_rng(2))
    assert middle[1:] == pytest.approx(tuple(theirs.confidence_interval), abs=0.51)


def test_bootstrap_repeats_with_its_seed():
    x = np.arange(20.0)
    first, again = (median_interval(x, np.random.default_rng(5)) for _ in range(2))
    assert first == again
    assert first.low < first.value < first.high


def covered(make, truth: float, runs: int) -> float:
    """Share of seeded runs whose interval holds the truth."""
    hits = 0
    for run in range(runs):
        _, low, high = make(np.random.default_rng([9, run]))
        hits += low <= truth <= high
    return hits / runs


def test_mean_interval_covers():
    assert covered(lambda g: mean_interval(g.normal(3, 2, 6)), 3, 3000) == pytest.approx(
        0.95, abs=0.012
    )


def test_control_a_normal_quantile_in_place_of_students_covers_too_little():
    def wrong(generator):
        x = generator.normal(3, 2, 6)
        half = 1.96 * x.std(ddof=1) / len(x) ** 0.5
        return x.mean(), x.mean() - half, x.mean() + half

    assert covered(wrong, 3, 3000) < 0.92


def test_ratio_interval_covers():
    def tau(generator):
        rounds = generator.integers(5, 40, 60)
        return ratio_interval(rounds + generator.poisson(1.5 * rounds), rounds, generator)

    assert covered(tau, 2.5, 300) == pytest.approx(0.95, abs=0.04)


def test_control_paired_columns_must_not_be_shuffled():
    """Rows are resampled whole: apart, tokens and rounds give an interval many times wider."""
    rounds = np.arange(1.0, 41)
    tokens = 2 * rounds
    together = ratio_interval(tokens, rounds, np.random.default_rng(0))
    assert together.high - together.low < 1e-12
    other = np.random.default_rng(1).permutation(rounds)
    apart = bootstrap((tokens, other), lambda a, b: a.sum(-1) / b.sum(-1), np.random.default_rng(0))
    assert apart.high - apart.low > 0.3


def test_spawned_seeds_differ_and_are_seeds():
    seeds = [
        spawn(seed, *key) for seed in (0, 1, 2**62) for key in ((1, 0), (1, 1), (2, 0), (2, 1))
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(RANGES["seed"].holds(seed) for seed in seeds)
    assert spawn(7, 1, 3) == spawn(7, 1, 3)
