"""A visit walked again from p, q-tilde and the round's uniforms, without the engine's code."""

import math
from dataclasses import dataclass

from rheo.params import strategy_fields
from rheo.trace.schema import Round, Run, Visit


@dataclass
class Rewalked:
    """What one step was decided by.

    Attributes:
        p: the token's share of what is left before the step.
        u: the uniform that decided it, rescaled behind missed deterministic children.
        u2: the same, not rescaled.
        low, high: a sibling's interval in its draw; of an emission, where the draw's rest begins
            and the width of the token's interval (None: a token that the trace does not name).
        left: what a rejection leaves, a share of what was there before the step.
        whole: the same, a share of what was there before the step's draw began.
    """

    p: float
    u: float
    u2: float
    q_tilde: float | None = None
    ratio: float | None = None
    low: float = 0.0
    high: float | None = None
    left: float = 1.0
    whole: float = 1.0


def rewalk(run: Run, round: Round, visit: Visit) -> list[Rewalked]:
    """Walk a visit again, step by step."""
    at = round.visits.index(visit)
    u1, share = round.uniforms.u1[at], round.uniforms.u2[at]
    first = strategy_fields(run.params.get("strategy")).tests_deterministic_first
    r = dict(zip(visit.ids, visit.p, strict=True))
    r |= dict(zip(visit.outside_ids, visit.outside_p, strict=True))
    other = visit.rest  # of all tokens that the trace does not name
    total = math.fsum([*r.values(), other])
    r, other = {t: x / total for t, x in r.items()}, other / total
    draw, low, probes, out = dict(r), 0.0, 0, []
    for step in visit.steps:
        mine = r.get(step.token, 0.0)
        if step.rule == "probe":
            if first and probes == 0 and out:  # the deterministic ones were missed
                share, low = (share - low) / (1 - low), 0.0
            q = dict(zip(visit.ids, visit.q_tilde[probes], strict=True))
            ratio = min(1.0, mine / q[step.token])
            after = {t: max(0.0, x - q.get(t, 0.0)) for t, x in r.items()}
            left = math.fsum([*after.values(), other])
            made = Rewalked(mine, u1[probes], u1[probes], q[step.token], ratio, left=left)
            probes += 1
            if step.verdict == "reject" and left > 1e-12:
                r, other = {t: x / left for t, x in after.items()}, other / left
            draw, low = dict(r), 0.0
        elif step.rule == "sibling":
            high = low + draw[step.token]
            left = 1 - mine
            made = Rewalked(mine, share, round.uniforms.u2[at], low=low, high=high, left=left)
            made.whole = 1 - high
            if step.verdict == "reject":
                r = {t: 0.0 if t == step.token else x / left for t, x in r.items()} if left else r
                other = other / left if left else other
                low = high
        else:
            made = Rewalked(mine, share, round.uniforms.u2[at], low=low, high=draw.get(step.token))
        out.append(made)
    return out
