"""Compute 95 % intervals of measured figures; every resampling is by a given generator."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from scipy import stats

_LEVEL = 0.95
RESAMPLES = 4000


def spawn(seed: int, *key: int) -> int:
    """Return a seed of its own for each whole-number key, below 2**63 as `DecodeParams` wants it.

    Prompts that shared one seed would share their uniforms, and would not be independent.
    """
    return int(np.random.SeedSequence([seed, *key]).generate_state(1, np.uint64)[0]) >> 1


class IntervalDict(TypedDict):
    """An `Interval` as JSON has it."""

    value: float | None
    low: float | None
    high: float | None


class Interval(NamedTuple):
    """A value and its 95 % interval; None where there are too few observations."""

    value: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> IntervalDict:
        """Return plain values, for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value, summed without rounding."""
    return math.fsum(values) / len(values)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent observations (at least one), with Student's interval.

    >>> value, low, high = mean_interval([1.0, 2.0, 3.0])
    >>> value, round(low, 3), round(high, 3)
    (2.0, -0.484, 4.484)
    """
    middle = mean(values)
    if len(values) < 2:
        return Interval(middle, None, None)
    spread = math.sqrt(math.fsum((x - middle) ** 2 for x in values) / (len(values) - 1))
    t = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1))
    half = t * spread / math.sqrt(len(values))
    return Interval(middle, middle - half, middle + half)


def bootstrap(
    columns: Sequence[Sequence[float]],
    statistic: Callable[..., np.ndarray],
    generator: np.random.Generator,
) -> Interval:
    """Return a statistic of rows of observations, with a percentile bootstrap over the rows.

    Args:
        columns: each (n,); row i of all of them is one observation.
        statistic: of as many arrays (..., n) as there are columns, over the last axis.
        generator: draws the resamples.
    """
    data = np.asarray(columns, dtype=float)  # (columns, n)
    n = data.shape[1]
    if n == 0:
        return Interval(None, None, None)
    value = float(statistic(*data))
    if n < 2:
        return Interval(value, None, None)
    rows = generator.integers(n, size=(RESAMPLES, n))
    tail = 100 * (1 - _LEVEL) / 2
    low, high = np.percentile(statistic(*data[:, rows]), [tail, 100 - tail])
    return Interval(value, float(low), float(high))


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], generator: np.random.Generator
) -> Interval:
    """Return sum / sum over prompts, such as tokens / rounds, resampled by prompt."""
    return bootstrap((numerators, denominators), lambda a, b: a.sum(-1) / b.sum(-1), generator)


def median_interval(values: Sequence[float], generator: np.random.Generator) -> Interval:
    """Return the median, resampled."""
    return bootstrap((values,), lambda x: np.median(x, axis=-1), generator)
