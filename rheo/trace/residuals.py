"""The residuals of a visit, p0 -> p1 -> ..., derived from what the trace stores of it.

Algorithm section 2.6: a rejected probe leaves norm(max(0, r - q_tilde)), a rejected sibling r
without it. Whatever tells a residual or the mass that a rejection leaves takes it from here.
"""

import math
from dataclasses import dataclass

from rheo.trace.schema import Step, Visit


@dataclass(frozen=True, slots=True)
class Residuals:
    """What each step of a visit was decided against, and what its rejection left.

    A distribution has one entry for each recorded id, in the visit's order, and a last one for all
    other tokens. The lists behind it have one entry a step.

    Where the support is larger than the record, q-tilde is known on its recorded part alone. What
    the last probe left in all is known all the same (`Visit.mass`), so its residual is exact; one
    after an earlier probe of several takes nothing out of the last entry and is a bound.
    """

    distributions: list[list[float]]  # p, then what each rejection left, normalised
    stage: list[int]  # index of the distribution that the step was decided against
    taken: list[list[float]]  # what the rejection took out of it; empty for an accepted step
    left: list[float | None]  # the sum of what stayed, a share of 1; None for an accepted step

    def before(self, at: int) -> list[float]:
        """Return the distribution that step `at` was decided against."""
        return self.distributions[self.stage[at]]


def residuals(visit: Visit) -> Residuals:
    """Return the residuals of a visit, step by step.

    A step is a rejection by rounding alone where nothing would stay (p = q-tilde): then the
    distribution before it stands for the next draw too.
    """
    made = Residuals([_normalised([*visit.p, sum(visit.outside_p) + visit.rest])], [], [], [])
    place = {token: i for i, token in enumerate(visit.ids)}
    last_probe = sum(step.rule == "probe" for step in visit.steps) - 1
    probe = 0
    for step in visit.steps:
        before = made.distributions[-1]
        made.stage.append(len(made.distributions) - 1)
        taken: list[float] = []
        if step.verdict == "reject" and step.rule == "probe":
            taken = _taken_by_probe(visit, before, probe, probe == last_probe)
        elif step.verdict == "reject":
            taken = [0.0] * len(before)
            taken[place[step.token]] = before[place[step.token]]
        probe += step.rule == "probe"
        made.taken.append(taken)
        made.left.append(_reject(made, step, taken) if taken else None)
    return made


def _reject(made: Residuals, step: Step, taken: list[float]) -> float:
    """Append the distribution that is left without `taken`, and return its mass."""
    before = made.distributions[-1]
    after = [a - b for a, b in zip(before, taken, strict=True)]
    left = math.fsum(after)
    made.distributions.append(_normalised(after) if left > 0 else before)
    return left


def _taken_by_probe(visit: Visit, r: list[float], probe: int, last: bool) -> list[float]:
    """Return min(r, q_tilde), and last what was taken of all other tokens."""
    inside = [min(a, b) for a, b in zip(r[:-1], visit.q_tilde[probe], strict=True)]
    outside = 0.0
    if last and visit.support_size > len(visit.ids):
        stays = math.fsum(a - b for a, b in zip(r[:-1], inside, strict=True))
        outside = r[-1] - min(max(0.0, visit.mass - stays), r[-1])
    return [*inside, outside]


def _normalised(r: list[float]) -> list[float]:
    total = math.fsum(r)
    return [x / total for x in r] if total > 0 else list(r)
