"""What a round costs: the convex curve, the budget made of it, and what is measured and kept."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from rheo.decoding import round_cost
from rheo.decoding.round_cost import RoundCost, convex, known, measure
from rheo.errors import RheoError
from rheo.trace.io import dumps, loads
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of, tiny_pair


def test_the_curve_is_convex_and_nowhere_above_the_points():
    generator = np.random.default_rng(1)
    for _ in range(50):
        rows = [1, 2, 4, 8, 16, 31]
        ms = list(10 + generator.random(6).cumsum() * 5 - 2 * generator.random(6))
        curve = np.array(convex(rows, ms, 40))
        assert np.all(np.diff(curve, 2) >= -1e-9)
        assert np.all(curve[[n - 1 for n in rows]] <= np.array(ms) + 1e-9)
        assert curve[0] == pytest.approx(ms[0])
        # the largest such: it meets at least the ends
        assert curve[30] == pytest.approx(ms[-1])


def test_one_point_is_a_constant():
    assert convex([1], [5.0], 3) == [5.0, 5.0, 5.0]


def test_a_dear_row_makes_a_small_tree_and_a_dear_level_a_shallow_one():
    score = torch.tensor([0.5, 0.3, 0.2, 0.1, 0.05]).log()
    cheap = RoundCost((1, 6), (20.0, 20.5), 1.0, 0.2).budget(5)
    dear = RoundCost((1, 6), (20.0, 70.0), 1.0, 15.0).budget(5)
    assert cheap.size(score).item() == 5
    assert dear.size(score).item() == 1
    assert cheap.grow_min == pytest.approx(0.01)
    assert dear.grow_min == pytest.approx(0.75)


def test_measured_once_and_kept_with_its_conditions(monkeypatch, tmp_path):
    monkeypatch.setenv("RHEO_HOME", str(tmp_path))
    made = decoding(tiny_pair())
    target, draft = made.target, made.draft
    calls = []

    def counted(*args):
        calls.append(args)
        return measure(*args)

    monkeypatch.setattr(round_cost, "measure", counted)
    first, again = (known(target, draft, "tiny", 8, 3) for _ in range(2))
    assert first == again and len(calls) == 1
    assert first.rows == (1, 2, 4, 8, 9) and min(*first.forward, first.root, first.level) > 0
    known(target, draft, "tiny", 16, 3)  # another condition
    assert len(calls) == 2
    (tmp_path / "round_costs.json").write_text("{half")
    known(target, draft, "tiny", 8, 3)
    assert len(calls) == 3
    assert len(json.loads((tmp_path / "round_costs.json").read_text())) == 1


GOOD = {"rows": [1, 2], "forward": [5.0, 6.0], "root": 1.0, "level": 2.0}


@pytest.mark.parametrize(
    "entry",
    [
        [],
        "x",
        {},
        {**GOOD, "rows": 7},
        {**GOOD, "rows": [2, 1]},
        {**GOOD, "rows": []},
        {**GOOD, "rows": [1, 2, 3]},
        {**GOOD, "forward": [0.0, 6.0]},
        {**GOOD, "forward": ["a", 6.0]},
        {**GOOD, "forward": [float("nan"), 6.0]},
        {**GOOD, "level": None},
        {**GOOD, "level": float("inf")},
        {**GOOD, "root": -1.0},
    ],
)
def test_an_entry_that_nobody_measured_is_measured_again(monkeypatch, tmp_path, entry):
    monkeypatch.setenv("RHEO_HOME", str(tmp_path))
    made = decoding(tiny_pair())
    measured = RoundCost((1, 9), (20.0, 30.0), 1.0, 2.0)
    monkeypatch.setattr(round_cost, "measure", lambda *_: measured)
    key = round_cost._conditions(made.target, made.draft, "tiny", 8, 3)
    (tmp_path / "round_costs.json").write_text(json.dumps({key: entry}))
    assert known(made.target, made.draft, "tiny", 8, 3) == measured
    (tmp_path / "round_costs.json").write_text(json.dumps({key: GOOD}))
    assert known(made.target, made.draft, "tiny", 8, 3).forward == (5.0, 6.0)
    (tmp_path / "round_costs.json").write_text("[" * 200_000)
    assert known(made.target, made.draft, "tiny", 8, 3) == measured


COSTS = RoundCost((1, 2, 13), (20.0, 21.0, 40.0), 1.0, 1.5)


@pytest.mark.parametrize("T", [0.0, 1.0])
def test_a_budget_changes_the_trees_and_at_T_0_not_the_text(T):
    """With a budget rounds have fewer nodes; greedy text cannot depend on what was drafted."""
    whole = decoding(tiny_pair(), T=T)
    some = decoding(tiny_pair(), T=T)
    some._ask_budget = lambda: COSTS.budget(12)
    texts = [new_tokens(each) for each in (whole, some)]
    sizes = [[len(r.buffer.token) - 1 for r in each.rounds] for each in (whole, some)]
    assert set(sizes[0]) == {12}
    assert max(sizes[1]) < 12 and len(set(sizes[1])) > 2
    if T == 0:
        assert texts[0] == texts[1]


DEAR = RoundCost((1, 13), (1.0, 100.0), 1.0, 0.1)  # no node pays


@pytest.mark.parametrize("strategy", DRAFTING)
@pytest.mark.parametrize("cost", [COSTS, DEAR], ids=["some", "none"])
def test_what_a_budget_drew_is_saved_and_opened(strategy, cost):
    made = decoding(tiny_pair(), strategy=strategy, budget="auto", seed=3, max_new_tokens=12)
    made._ask_budget = lambda: cost.budget(12)
    new_tokens(made)
    run = loads(dumps(run_of(made), packed=False))
    assert all(r.candidates is not None for r in run.rounds)  # also where none was kept
    assert {len(r.nodes) for r in run.rounds} == {1} or cost is COSTS
    counted = replace(run, params={**run.params, "budget": "count"})
    with pytest.raises(RheoError, match="the candidates of round 0"):  # R of them, without one
        loads(dumps(counted, packed=False))
