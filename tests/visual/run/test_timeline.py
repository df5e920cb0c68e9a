"""The timeline holds every token that the rounds emitted, where it came from and when."""

import re
from dataclasses import replace

import pytest

from tests.visual import by_hand, sample
from tests.visual.plotted import plain
from visual.run import timeline


def data(figure) -> dict:
    return {trace["name"]: trace for trace in plain(figure)["data"]}


@pytest.mark.parametrize("run", [by_hand.run(), by_hand.rrsw(), sample.run(5), sample.run(60, R=4)])
def test_one_cell_a_token(run):
    drawn = data(timeline.tau(run))
    expected = drawn.pop("expected")
    cells = {
        (x, base, name, *row)
        for name, trace in drawn.items()
        for x, base, row in zip(trace["x"], trace["base"], trace["customdata"], strict=True)
    }
    assert cells == {
        (r.index + 1, place, e.origin, r.index, e.node, e.token)
        for r in run.rounds
        for place, e in enumerate(r.emitted)
    }
    assert all(set(trace["y"]) == {1} for trace in drawn.values())
    assert expected["y"] == [r.expected_accepted + 1 for r in run.rounds]


def test_tau_stands_at_the_figure_and_the_origins_in_its_legend():
    run = by_hand.run()
    notes = [n["text"] for n in plain(timeline.tau(run))["layout"]["annotations"]]
    assert "τ 2.00" in notes
    shown = re.findall(r'data-kind="(\w+)"><i>(.*?)</i>(\w+)<', timeline.legend(run))
    assert shown == [
        ("deterministic", "■ D", "deterministic"),
        ("probe", "◆ P", "probe"),
        ("filler", "● F", "filler"),
        ("residual", "⬢ R", "residual"),
        ("bonus", "★ B", "bonus"),
        ("expected", "━", "expected"),
    ]
    assert "probe" not in timeline.legend(by_hand.rrsw())


def test_every_bar_is_as_wide_as_the_others():
    for run in (by_hand.run(), sample.run(60, R=4)):
        drawn = data(timeline.tau(run))
        assert len({trace["width"] for name, trace in drawn.items() if name != "expected"}) == 1


def test_nothing_before_the_first_round():
    assert timeline.tau(replace(by_hand.run(), rounds=())) is None
