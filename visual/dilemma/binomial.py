"""Exact bounds of a binomial count, in plain Python: the page opens without scipy."""

import math
from functools import lru_cache


@lru_cache(maxsize=1 << 12)
def bounds(n: int, p: float, error: float) -> tuple[int, int]:
    """Return the smallest and largest count of n trials that are not too rare.

    A count below comes with probability at most error / 2, so does one above. A count lies inside
    exactly if its Clopper-Pearson interval of level 1 - error holds p.

    >>> bounds(10, 0.5, 0.05)
    (2, 8)
    >>> bounds(400_000, 1e-7, 0.01)
    (0, 1)
    """
    p = min(max(p, 0.0), 1.0)
    return n - _largest(n, 1 - p, p, error / 2), _largest(n, p, 1 - p, error / 2)


def _largest(n: int, p: float, q: float, error: float) -> int:
    """Return the smallest count that is exceeded with probability at most `error`; q is 1 - p."""
    low, high = math.floor(n * p) - 1, n  # more than `low` is likely, more than n impossible
    while high - low > 1:
        middle = (low + high) // 2
        if _at_least(middle + 1, n, p, q) <= error:
            high = middle
        else:
            low = middle
    return high


def _at_least(k: int, n: int, p: float, q: float) -> float:
    """Return the probability of k or more of n, for k from the mean on."""
    if p == 0 or q == 0:
        return float(k <= n * p)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(ways + k * math.log(p) + (n - k) * math.log(q))
    total = 0.0
    while term > 1e-17 * total:
        total += term
        term *= (n - k) / (k + 1) * (p / q)
        k += 1
    return total
