"""Verdicts from p, q-tilde and the uniforms alone, without the engine's code."""

import math

from rheo.trace.schema import Visit


def verdicts_by_hand(
    visit: Visit, u1: tuple[float, ...], u2: float, tested_first: bool
) -> list[str]:
    """Return the verdicts of one visit from p, q-tilde and the uniforms."""
    r = [*visit.p, math.fsum(visit.outside_p) + visit.rest]
    place = {token: i for i, token in enumerate(visit.ids)}
    verdicts, share, j = [], u2, 0
    heads = [s for s in visit.steps if s.rule == "sibling"] if tested_first else []
    low = 0.0
    for step in visit.steps:
        total = math.fsum(r)
        if step.rule == "probe":
            if tested_first and j == 0 and heads and verdicts:
                share = (u2 - low) / (1 - low)  # the deterministic ones were missed
                low = 0.0
            norm = [x / total for x in r]
            q = [*visit.q_tilde[j], 0.0]
            i = place[step.token]
            verdicts.append("accept" if u1[j] < min(1.0, norm[i] / q[i]) else "reject")
            r = [max(0.0, a - b) for a, b in zip(norm, q, strict=True)]
            j += 1
        elif step.rule == "sibling":
            mass = r[place[step.token]]
            # intervals are cut off one whole: what went before is no longer in r
            whole = total / (1 - low) if low < 1 else total
            high = low + mass / whole
            verdicts.append("accept" if low <= share < high else "reject")
            r[place[step.token]] = 0.0
            low = high
        else:
            verdicts.append("emit")
    return verdicts
