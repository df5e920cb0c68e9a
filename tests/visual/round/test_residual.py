"""The residual strip: bars are the trace's residuals, and every tick stands on its verdict."""

import math
from collections import defaultdict
from dataclasses import replace

import pytest

from rheo.trace.residuals import residuals
from tests.visual import by_hand, sample
from tests.visual.plotted import plain
from visual.round import residual

RUNS = [by_hand.run(), by_hand.rrsw(), *(sample.run(3, seed=seed) for seed in (3, 4))]
VISITS = [(run, r, visit) for run in RUNS for r in run.rounds for visit in r.visits]


def data(figure) -> dict:
    return {trace["name"]: trace for trace in plain(figure)["data"]}


def bars(figure) -> list[dict]:
    """By row from the top: stage, and its segments {token, left, width, taken, chosen}."""
    distribution, rows = data(figure)["distribution"], defaultdict(list)
    lines = distribution["marker"]["line"]["width"]
    for y, row, line in zip(distribution["y"], distribution["customdata"], lines, strict=True):
        segment = dict(zip(residual.SEGMENT, row, strict=True))
        rows[y].append({**segment, "chosen": line == 2})
    return [{"stage": rows[y][0]["stage"], "segments": rows[y]} for y in sorted(rows)]


def titles(figure) -> list[str]:
    notes = plain(figure)["layout"]["annotations"]
    return [n["text"] for n in notes if (n["y"] - residual.TITLE_HEIGHT) % residual.PITCH == 0]


def test_the_strip_by_hand():
    run = by_hand.run()
    figure = residual.strip(run, run.rounds[0], 0)
    assert titles(figure) == [
        "p₀ · probe ␣sea ✕  u₁ 0.611 ≥ 0.1 / 0.4 = 0.250",
        "p₁ · u₂ 0.712 falls on ␣dog ✓",
    ]
    first, second = bars(figure)
    kept = [(s["token"], round(s["width"], 9), s["taken"]) for s in first["segments"][:4]]
    cat, sea, dog = by_hand.ids("cat", "sea", "dog")
    assert kept == [(cat, 0.3, False), (sea, 0.1, True), (dog, 0.1, False), (dog, 0.3, True)]
    drawn = [(s["token"], round(s["left"], 9), round(s["width"], 9)) for s in second["segments"]]
    assert drawn == [(cat, 0, 0.6), (dog, 0.6, 0.2), (None, 0.8, 0.2)]
    assert data(figure)["test"]["x"] == [0.25]
    assert data(figure)["uniform"]["x"] == [0.611, 0.712]


def test_an_emission_is_drawn_from_what_is_left():
    run = by_hand.run()
    figure = residual.strip(run, run.rounds[0], 3)
    assert titles(figure)[1] == "p₁ · what is left, stretched to 1"
    last = bars(figure)[1]["segments"]
    assert [s["chosen"] for s in last] == [False, True, False]
    assert [s["width"] for s in last] == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert data(figure)["uniform"]["x"][1] == pytest.approx((0.653 - 0.4) / 0.6)


def test_the_head_of_rrsw_comes_first():
    run = by_hand.rrsw()
    figure = residual.strip(run, run.rounds[0], 0)
    assert titles(figure) == [
        "p₀ · u₂ 0.680 falls on none of these",
        "p₁ · probe ␣sea ✕  u₁ 0.611 ≥ 0.1 / 0.4 = 0.250",
        "p₂ · u₂ 0.600 falls on ␣and, emitted",
        "p₃ · what is left, stretched to 1",
    ]


@pytest.mark.parametrize(("run", "r", "visit"), VISITS)
def test_every_bar_is_a_law(run, r, visit):
    stages = residuals(visit).distributions
    for row in bars(residual.strip(run, r, visit.node)):
        assert math.fsum(s["width"] for s in row["segments"]) == pytest.approx(1)
        at = 0.0
        for s in row["segments"]:
            assert s["left"] == pytest.approx(at, abs=1e-9)
            at += s["width"]
        mass = defaultdict(float)
        for s in row["segments"]:  # the sample's emissions have no true interval
            if run in RUNS[:2] or not s["chosen"]:
                mass[s["token"]] += s["width"]
        for token in mass.keys() & set(visit.ids):
            stage = stages[row["stage"]][visit.ids.index(token)]
            assert mass[token] == pytest.approx(stage, abs=1e-9)


@pytest.mark.parametrize(("run", "r", "visit"), VISITS)
def test_what_a_probe_leaves_is_the_next_bar(run, r, visit):
    stages = residuals(visit).distributions
    if visit.steps[0].rule != "probe" or visit.steps[0].verdict != "reject":
        return
    row = bars(residual.strip(run, r, visit.node, upto=1))[0]
    left = math.fsum(s["width"] for s in row["segments"] if not s["taken"])
    for s in row["segments"]:
        if not s["taken"] and s["token"] in visit.ids:
            after = stages[1][visit.ids.index(s["token"])]
            assert s["width"] / left == pytest.approx(after, abs=1e-9)


def on_its_verdict(run, r, visit) -> bool:
    """Whether each mark stands where the verdict says: a probe's below its ratio exactly if it was
    accepted, any other inside the segment drawn as chosen, and no rejected child's."""
    figure = residual.strip(run, r, visit.node)
    drawn, rows = data(figure), bars(figure)
    ratios = dict(zip(drawn["test"]["y"], drawn["test"]["x"], strict=True))
    for x, row, i in zip(drawn["uniform"]["x"], rows, range(len(rows)), strict=True):
        chosen = [s for s in row["segments"] if s["chosen"]]
        ratio = ratios.get(i * residual.PITCH + residual.TEST)
        if ratio is not None:
            if (x < ratio) != bool(chosen):
                return False
            continue
        rejected = [s for s in row["segments"] if s["taken"]]
        if any(s["left"] <= x < s["left"] + s["width"] for s in rejected):
            return False
        if chosen and not -1e-9 <= x - chosen[0]["left"] < chosen[0]["width"] + 1e-9:
            return False
    return True


@pytest.mark.parametrize(
    ("run", "r", "visit"), [v for v in VISITS if v[0] in RUNS[:2] or v[2].steps[-1].child]
)
def test_every_mark_stands_on_its_verdict(run, r, visit):
    assert on_its_verdict(run, r, visit)


def test_a_mark_beside_its_verdict_is_noticed():
    run = by_hand.run()
    r = run.rounds[0]
    for at, wrong in ((0, {"uniform": 0.1}), (2, {"share": 0.3})):
        steps = list(r.visits[0].steps)
        steps[at] = replace(steps[at], **wrong)
        steps[1] = replace(steps[1], share=steps[2].share)
        visit = replace(r.visits[0], steps=tuple(steps))
        assert not on_its_verdict(run, replace(r, visits=(visit,)), visit)


def test_steps_not_yet_decided_are_not_drawn():
    run = by_hand.run()
    shown = [residual.strip(run, run.rounds[0], 0, upto=n) for n in range(4)]
    assert [len(bars(figure)) for figure in shown] == [1, 2, 3, 2]
    assert titles(shown[0]) == ["p₀"]
    assert not data(shown[0])["uniform"]["x"]
    assert not any(s["taken"] for s in bars(shown[0])[0]["segments"])


def test_many_probes_keep_the_first_and_the_last_bars():
    run = by_hand.run()
    r = run.rounds[0]
    first = r.visits[0]
    steps = (first.steps[0],) * 5 + first.steps[1:]
    visit = replace(first, steps=steps, q_tilde=first.q_tilde * 5)
    figure = residual.strip(run, replace(r, visits=(visit,)), 0)
    assert [row["stage"] for row in bars(figure)] == [0, 3, 4, 5]
    assert figure["layout"]["height"] <= 220


def test_every_panel_of_many_rounds_can_be_drawn() -> None:
    """Among them children whose token is beyond the recorded support: they are part of the rest."""
    run, beyond = sample.run(rounds=60, seed=5), 0
    for round in run.rounds:
        for visit in round.visits:
            children = {n.token for n in round.nodes if n.parent == visit.node}
            beyond += bool(children - {*visit.ids, *visit.outside_ids})
            figure = residual.strip(run, round, visit.node)
            assert figure is None or plain(figure)["data"]
    assert beyond


def test_a_segment_thinner_than_its_edge_has_none():
    run = by_hand.run()
    round = run.rounds[0]
    visit = round.visits[0]
    thin = (1 - 1e-4 * (len(visit.p) - 1), *[1e-4] * (len(visit.p) - 1))  # less than half a pixel
    cold = replace(visit, p=thin)
    strip = residual.strip(
        run, replace(round, visits=(cold, *round.visits[1:])), visit.node, upto=0
    )
    drawn = data(strip)["distribution"]
    lines = list(zip(drawn["x"], drawn["marker"]["line"]["width"], strict=True))
    assert {line for width, line in lines if width < 1e-3} == {0}
    assert {line for width, line in lines if width > 0.5} <= {1, 2}
