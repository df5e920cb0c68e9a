"""The target at another temperature, from what a trace stored of it at its own.

It is p ** (T / T'), renormalised over the whole vocabulary, and a trace keeps p on the draft's
support, its most probable tokens outside, and the rest's count and mass by octave. The rest's
tempered mass is bounded from both sides.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.decoding.round_buffer import OCTAVES
from rheo.trace.schema import Visit

_POINTS = 9  # values of the rest's mass that are tried, from one bound to the other
_OPEN_OCTAVE = OCTAVES - 1  # has all that is smaller, too


class Bounds(NamedTuple):
    """The two numbers between which the tempered mass of a rest lies."""

    low: float
    high: float


def rest_bounds(mass: float, count: int, least: float, most: float, power: float) -> Bounds:
    """Bound the sum of x ** power over `count` masses in [least, most] that sum to `mass`.

    It is extreme where they are all equal, and where all but one stand at an end.

    >>> rest_bounds(0.4, 4, 0.0, 0.2, 2.0)
    Bounds(low=0.04000000000000001, high=0.08000000000000002)
    """
    if mass <= 0 or most <= 0:
        return Bounds(0.0, 0.0)
    count = max(count, 1, math.ceil(mass / most))
    least = min(least, mass / count)
    full = min(count - 1, int((mass - count * least) / (most - least))) if most > least else 0
    between = max(0.0, mass - full * most - (count - full - 1) * least)
    peaked = full * most**power + between**power + (count - full - 1) * least**power
    equal = count * (mass / count) ** power
    return Bounds(min(peaked, equal), max(peaked, equal))


def _rest(visit: Visit, count: int, power: float) -> Bounds:
    """Bound the visit's rest by all that a trace tells of it: octave by octave, or, in a trace
    without them, as `count` masses below the least one that it names."""
    if not visit.rest_counts:
        named = visit.outside_p or (visit.rest,)
        return rest_bounds(visit.rest, count, 0.0, min(named), power)
    bounds = [
        rest_bounds(mass, n, 0.0 if k == _OPEN_OCTAVE else 2.0 ** -(k + 1), 2.0**-k, power)
        for k, (n, mass) in enumerate(zip(visit.rest_counts, visit.rest_masses, strict=True))
    ]
    return Bounds(*(math.fsum(ends) for ends in zip(*bounds, strict=True)))


def target_at(visit: Visit, T: float, wanted: float, vocabulary: int) -> Tensor:
    """Return candidates (n, S + 1) for a visit's p at the temperature `wanted`.

    Each has the support's tokens and then the mass of all others. The first ones run from bound to
    bound; the last one is the middle. Where nothing is uncertain there is only that one.

    Args:
        T: what the run had.
        vocabulary: of the target, an upper bound.
    """
    inside = torch.tensor(visit.p, dtype=torch.float64)
    outside = torch.tensor(visit.outside_p, dtype=torch.float64)
    if wanted == T:
        return torch.cat([inside, outside.sum()[None] + visit.rest])[None]
    known = torch.cat([inside, outside])
    if wanted == 0:
        return _greedy(visit, known)[None]
    power = T / wanted
    w = (known / known.max()) ** power  # scaled, so that nothing underflows
    scale = float(known.max()) ** -power
    rest = _rest(visit, vocabulary - len(known), power)
    ends = [1 / (w.sum() + scale * bound) for bound in (rest.high, rest.low)]
    steps = torch.linspace(float(ends[0]), float(ends[1]), _POINTS, dtype=torch.float64)
    p = w[: len(inside)] * torch.cat([steps, steps.mean()[None]])[:, None]  # (n, S)
    return torch.cat([p, (1 - p.sum(-1, keepdim=True)).clamp(min=0.0)], -1)


def _greedy(visit: Visit, known: Tensor) -> Tensor:
    """Return one-hot p (S + 1,) at the best token, the lowest id among equals."""
    ids = (*visit.ids, *visit.outside_ids)
    best = min(range(len(ids)), key=lambda i: (-float(known[i]), ids[i]))
    p = torch.zeros(len(visit.ids) + 1, dtype=torch.float64)
    p[min(best, len(visit.ids))] = 1.0
    return p
