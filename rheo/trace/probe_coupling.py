"""A visited node as a problem of optimal transport, derived from what the trace stores of it.

Verification couples the probe u ~ q-tilde with the emitted token t ~ p: a plan, whose rows sum to
q-tilde and whose columns sum to p. A pair costs 1 where t is none of the node's kept children, and
0 where it is one; the plan's cost is the probability that nothing is accepted. What the rule's own
plan costs and the least that any can cost are sums over the stored p and q-tilde (algorithm section
5). Both are before the draw of u: the kept children's number is held, their tokens are not.
"""

import math
from dataclasses import dataclass

from rheo.params import DecodeParams
from rheo.trace.schema import Round, Run, Visit


@dataclass(frozen=True, slots=True)
class PlanCost:
    """What a rule's plan costs at a node, and the least that any plan costs; masses, shares of 1.

    The rule's own: stays + moved + cost = 1. The least: 1 - sure - drawn. Costs are summed by
    themselves, since that difference would lose the digits of a small one.
    """

    kept: int  # children
    probe: bool  # whether one of them is a probe; else there is but one plan
    stays: float  # pairs (u, u)
    moved: float  # pairs (u, t) where t is another kept child
    cost: float  # pairs whose t is no kept child
    least: float  # the cost of the optimal plan
    sure: float  # p on B, the draft's best kept - 1 tokens (without a probe: on all kept)
    drawn: float  # sum outside B of min(p, q-hat), q-hat being q-tilde with B's share on the next

    @property
    def gap(self) -> float:
        """Return how much more than the least the rule's plan costs."""
        return max(0.0, self.cost - self.least)


def plan_cost(run: Run, round: Round, node: int) -> PlanCost | None:
    """Return the costs at a visited node.

    None where there is nothing to say: the walk never came, pruning kept no child, several probes
    are drawn, a support is larger than its record, or the strategy is biased (then whether the
    probe is kept depends on its token, and the pairs are no plan from q-tilde to p).
    """
    visit, params = round.visit_of(node), DecodeParams.from_dict(run.params)
    kept = len(round.rows_below(node))
    if visit is None or not kept or params.J > 1 or not params.fields.lossless:
        return None
    if all(child.kind != "probe" for child in round.children(node)):
        sure, cost = math.fsum(visit.p[:kept]), math.fsum([*visit.p[kept:], _others(visit)])
        return PlanCost(kept, False, 0.0, 0.0, cost, cost, sure, 0.0)
    if len(visit.ids) < visit.support_size:
        return None
    return _with_probe(visit, kept, params.m, params.fields.tests_deterministic_first)


def _with_probe(visit: Visit, kept: int, m: int, tests_deterministic_first: bool) -> PlanCost:
    """Return the costs where the probe is kept: the children are m tokens, u and fillers.

    With u outside B the children are B and u, with u in B they are B and the next token g.
    """
    p, q_tilde, others = visit.p, visit.q_tilde[0], _others(visit)
    sure, head = math.fsum(p[: kept - 1]), math.fsum(p[:m])
    q_hat = [math.fsum([q_tilde[kept - 1], *q_tilde[: kept - 1]]), *q_tilde[kept:]]
    outside = p[kept - 1 :]  # of B
    drawn = math.fsum(map(min, outside, q_hat))
    least = math.fsum([*(max(0.0, a - b) for a, b in zip(outside, q_hat, strict=True)), others])
    # the probe is tested against r: p, or what is left of it behind the deterministic children
    scale = 1 - head if tests_deterministic_first else 1.0
    r = [x / scale if scale > 0 else 0.0 for x in p[m:]]  # over the tail, as q below
    q = q_tilde[m:]
    stays = math.fsum(map(min, r, q))
    excess = [max(0.0, a - b) for a, b in zip(r, q, strict=True)]
    rejected = [max(0.0, b - a) for a, b in zip(r, q, strict=True)]
    B = kept - 1 - m  # of the tail; g stands behind them
    total = math.fsum(rejected)
    to_g = math.fsum(rejected[:B]) / total if total > 0 else 0.0  # u of B leaves its place to g
    fillers = math.fsum(excess[:B]) + to_g * excess[B]
    missed = math.fsum([(1 - to_g) * excess[B], *excess[B + 1 :]])
    moved, cost = head + scale * fillers, scale * missed + others
    return PlanCost(kept, True, scale * stays, moved, cost, least, sure, drawn)


def _others(visit: Visit) -> float:
    """Return p outside the support."""
    return math.fsum([*visit.outside_p, visit.rest])
