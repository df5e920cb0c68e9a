"""A visited node's transport: the rule's cost and the least, against enumeration and against a
linear program over all plans, on small nodes and on what traces keep of pruned ones."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from rheo.exact.transport import RULES, node, one_draw
from rheo.trace import io
from rheo.trace.probe_coupling import plan_cost
from rheo.trace.schema import Run
from tests.visual import by_hand
from tests.visual.played import play

pytestmark = pytest.mark.usefixtures("one_thread")


def random_node(seed: int) -> tuple[list[float], list[float], int, int, float]:
    """p, q, m, K, T of a node of 3 to 8 tokens."""
    rng = np.random.default_rng(seed)
    V = int(rng.integers(3, 9))
    m = int(rng.integers(0, min(3, V - 1)))
    K, width = int(rng.integers(m + 1, V)), rng.choice([0.5, 1.5, 3.0])
    p, q = rng.dirichlet(np.ones(V) / width), rng.dirichlet(np.ones(V) / width) + 1e-9
    return p.tolist(), (q / q.sum()).tolist(), m, K, float(rng.choice([0.0, 0.5, 1.0, 1.4]))


def drawn(seed: int, rule: str) -> Run:
    """A draw at that node, in the digits of a file."""
    uniforms = tuple(np.random.default_rng(seed + 1000).random(3))
    run = one_draw(*random_node(seed), rule, uniforms)
    return io.loads(io.dumps(run, packed=False))


@pytest.mark.parametrize("rule", RULES)
def test_costs_are_those_of_the_enumerated_plan(rule):
    gaps = []
    for seed in range(60):
        made, run = node(*random_node(seed)), drawn(seed, rule)
        coupling, found = made.couplings[rule], plan_cost(run, run.rounds[0], 0)
        assert found is not None and found.kept == made.K
        assert found.cost == pytest.approx(coupling.split.missed, abs=1e-8)
        if rule == "topk":  # nothing is drawn: its own slots, one plan
            assert not found.probe and found.gap == 0
            continue
        assert found.least == pytest.approx(1 - made.optimum, abs=1e-8)
        assert found.probe
        assert found.stays == pytest.approx(1 - coupling.moved, abs=1e-8)
        gaps.append(found.gap)
    assert rule == "topk" or (max(gaps) > 0.01 and min(gaps) < 1e-8)


def least_by_linear_program(run: Run, at: int, visited: int) -> float:
    """The least cost over all plans from q-tilde to p at a visited node, its kept slots held."""
    visit = run.rounds[at].visit_of(visited)
    kept, m = len(run.rounds[at].rows_below(visited)), run.params["m"]
    size = len(visit.ids)
    p = [*visit.p, max(0.0, 1 - math.fsum(visit.p))]  # the last: all other tokens
    q = [x / math.fsum(visit.q_tilde[0]) for x in visit.q_tilde[0]]
    live = [u for u in range(size) if q[u] > 0]
    cost = []
    for u in live:
        fillers = [t for t in range(m, size) if t != u][: kept - m - 1]
        children = {*range(m), u, *fillers}
        cost += [0.0 if t in children else 1.0 for t in range(size + 1)]
    n = len(live)
    rows = np.kron(np.eye(n), np.ones(size + 1))
    columns = np.tile(np.eye(size + 1), n)
    total = math.fsum(p)
    sums = [*(q[u] for u in live), *(x / total for x in p)]
    found = linprog(cost, A_eq=np.vstack([rows, columns]), b_eq=sums, method="highs")
    assert found.status == 0
    return found.fun


def probed(run: Run) -> list[tuple[int, int]]:
    """Round and node of every visit whose probe was kept."""
    return [
        (at, visit.node)
        for at, round in enumerate(run.rounds)
        for visit in round.visits
        if any(child.kind == "probe" for child in round.children(visit.node))
    ]


@pytest.mark.parametrize("strategy", ["rheo", "rheo-rrsw"])
def test_the_least_of_a_pruned_node_is_the_linear_programs(strategy):
    run = play(strategy, 0.9)
    places = probed(run)
    kept = {len(run.rounds[at].rows_below(there)) for at, there in places}
    assert len(places) > 3 and min(kept) < run.params["K"]  # pruning took some of the slots
    for at, there in places:
        found = plan_cost(run, run.rounds[at], there)
        assert found is not None
        assert found.least == pytest.approx(least_by_linear_program(run, at, there), abs=1e-6)
        assert found.cost >= found.least - 1e-9


def test_a_node_by_hand():
    run = by_hand.run()  # p = (.3, .1, .4, .05, .05 | .1), q-tilde = (0, .4, .3, .2, .1), 3 kept
    found = plan_cost(run, run.rounds[0], 0)
    assert found is not None and (found.kept, found.probe) == (3, True)
    assert found.stays == pytest.approx(0.1 + 0.3 + 0.05 + 0.05)
    # head .3; the filler ␣sea gets nothing, its place goes to ␣dog: .1 x (.3 / .5)
    assert found.moved == pytest.approx(0.3 + 0.1 * 0.3 / 0.5)
    assert found.sure == pytest.approx(0.3 + 0.1)
    assert found.drawn == pytest.approx(0.4 + 0.05 + 0.05)
    assert (found.cost, found.least, found.gap) == pytest.approx((0.14, 0.1, 0.04))


def test_where_there_is_no_such_plan():
    run = by_hand.run()
    assert plan_cost(run, run.rounds[0], 1) is None  # the walk never came
    assert plan_cost(run, run.rounds[1], 6) is None  # a leaf
    biased = replace(run, params={**run.params, "strategy": "naive"})
    assert plan_cost(biased, run.rounds[0], 0) is None
    several = replace(run, params={**run.params, "strategy": "rheo-multi", "probes": 2})
    assert plan_cost(several, run.rounds[0], 0) is None
    visit = replace(run.rounds[0].visits[0], support_size=99)
    cut = replace(run.rounds[0], visits=(visit, *run.rounds[0].visits[1:]))
    assert plan_cost(run, cut, 0) is None


def test_a_wrong_plan_is_noticed():
    """Without the slot that a rejected child of B leaves, enumeration gives another cost."""
    off = []
    for seed in range(60):
        made, run = node(*random_node(seed)), drawn(seed, "rheo")
        found = plan_cost(run, run.rounds[0], 0)
        assert found is not None
        visit, K, m = run.rounds[0].visits[0], made.K, made.m
        excess = [max(0.0, a - b) for a, b in zip(visit.p, visit.q_tilde[0], strict=True)]
        moved = math.fsum(visit.p[:m]) + math.fsum(excess[m : K - 1])
        off.append(abs(1 - found.stays - moved - made.couplings["rheo"].split.missed))
    assert max(off) > 0.01
