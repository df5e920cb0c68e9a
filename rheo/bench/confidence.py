"""Intervals: what a measurement says beside its value. Every resampling is by a given generator."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

_LEVEL = 0.95
RESAMPLES = 4000


def spawn(seed: int, *key: int) -> int:
    """A seed of its own for each whole-number key, below 2**63 as `DecodeParams` wants it.

    Prompts that shared one seed would share their uniforms, and would not be independent.
    """
    return int(np.random.SeedSequence([seed, *key]).generate_state(1, np.uint64)[0]) >> 1


class Interval(NamedTuple):
    """A value and its 95 % interval; None where there are too few observations."""

    value: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> dict[str, float | None]:
        """Plain values, for JSON."""
        return self._asdict()


def t_quantile(df: int, level: float = _LEVEL) -> float:
    """The t with P(|X| <= t) = level for Student's X of `df` >= 1 degrees of freedom.

    The finite series for whole df (Abramowitz and Stegun 26.7.3-4), bisected in the angle
    atan(t / sqrt(df)): it is exact, and SciPy stays out of the requirements.

    >>> round(t_quantile(9), 4)
    2.2622
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_mass(middle, df) < level else (low, middle)
    return math.sqrt(df) * math.tan(low)


def _t_mass(angle: float, df: int) -> float:
    """P(|X| <= sqrt(df) tan(angle))."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    k = np.arange(1 + odd, df - 1, 2)  # odd df: 2/3, 4/5, ...; even df: 1/2, 3/4, ...
    terms = np.cumprod(k / (k + 1) * cosine**2)
    if not odd:
        return sine * (1 + terms.sum())
    return (angle + (sine * cosine * (1 + terms.sum()) if df > 1 else 0.0)) * 2 / math.pi


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of independent observations, with Student's interval.

    >>> value, low, high = mean_interval([1.0, 2.0, 3.0])
    >>> value, round(low, 3), round(high, 3)
    (2.0, -0.484, 4.484)
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return Interval(mean, None, None)
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1))
    half = t_quantile(len(values) - 1) * spread / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def bootstrap(
    columns: Sequence[Sequence[float]],
    statistic: Callable[..., np.ndarray],
    generator: np.random.Generator,
) -> Interval:
    """A statistic of rows of observations, with a percentile bootstrap over the rows.

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
    """sum / sum over prompts, such as tokens / rounds, resampled by prompt."""
    return bootstrap((numerators, denominators), lambda a, b: a.sum(-1) / b.sum(-1), generator)


def median_interval(values: Sequence[float], generator: np.random.Generator) -> Interval:
    """The median, resampled."""
    return bootstrap((values,), lambda x: np.median(x, axis=-1), generator)
