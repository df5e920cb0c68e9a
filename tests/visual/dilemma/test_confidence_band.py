"""The band of a simulation: it keeps the level that it states, and finds a cheat quickly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rheo.exact import scenarios
from rheo.exact.comparison import ROWS
from rheo.exact.monte_carlo import tally
from rheo.exact.worlds import joint_distribution, tables
from visual.dilemma import confidence_band
from visual.dilemma.binomial import bounds

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("error", [0.05, 1e-3, 1e-5])
@pytest.mark.parametrize("p", [0.0, 3e-10, 1e-5, 0.004, 0.3, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("n", [1, 7, 100, 10_000, 400_000])
def test_bounds_are_the_binomials_quantiles(n, p, error):
    expected = stats.binom.ppf(error / 2, n, p), stats.binom.isf(error / 2, n, p)
    assert bounds(n, p, error) == (pytest.approx(expected) if 0 < p < 1 else (n * p, n * p))


def left_bands(shares, law, runs: int, generator) -> tuple[float, float]:
    """The share of simulations that ever leave the band, and of those that leave 4.5 sigma."""
    rounds = scenarios.CHUNK
    counts = np.zeros((runs, len(law)), dtype=int)
    left, left_normal = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    for look in range(1, confidence_band.LOOKS + 1):
        counts += generator.multinomial(rounds, shares, size=runs)
        n = rounds * look
        band = confidence_band.pairs([n] + [0] * (len(law) - 1), law)
        low, high = (np.array([getattr(pair, end) for pair in band]) for end in ("low", "high"))
        left |= ((counts / n < low) | (counts / n > high)).any(1)
        sigma = np.sqrt(law * (1 - law) / n)
        left_normal |= (abs(counts / n - law) > 4.5 * sigma).any(1)
    return left.mean(), left_normal.mean()


@pytest.mark.parametrize(("T", "normal"), [(0.25, 0.2), (0.5, 0.03), (1.0, 0.0)])
def test_a_lossless_run_leaves_the_band_in_under_one_of_a_hundred(T, normal):
    """The pairs' counts of a lossless strategy are the multinomial itself, at every temperature."""
    world, params = scenarios.world_of(scenarios.load("world"))
    law = joint_distribution(tables(world, params.depth), T).flatten().numpy()
    generator = np.random.default_rng(11)
    share, by_sigmas = left_bands(law / law.sum(), law, 2000, generator)
    assert share <= confidence_band.FALSE_ALARMS
    assert by_sigmas >= normal  # the control: normal bounds accuse rare pairs


@pytest.mark.parametrize("T", [0.25, 0.5, 1.0])
def test_the_naive_probe_is_found_out_at_the_first_look(T):
    world, params = scenarios.world_of(scenarios.load("world"))
    table = tables(world, params.depth)
    law = joint_distribution(table, T).flatten().tolist()
    first = next(tally(table, replace(params, T=T), ROWS["naive"], scenarios.CHUNK, 1))
    assert any(pair.outside for pair in confidence_band.pairs(first.tolist(), law))
