"""What the rail's sliders say of a node, and how settings give way to each other."""

import re

import pytest

from rheo.params import DecodeParams
from tests.visual import by_hand
from visual.browser import messages
from visual.pages.slider_constraints import resolve
from visual.round import what_if_view
from visual.runtime import run_settings
from visual.words import labels, measures


def block(run, m, T, K=4, node=0, at=0) -> str:
    return what_if_view.block(run, run.rounds[at], node, {"m": m, "T": T, "K": K})["html"]


def rows(made: str) -> dict[str, str]:
    found = re.findall(r'data-row="(\w+)"><dt>.*?</dt><dd>(.*?)</dd>', made)
    return {key: re.sub("<.*?>", "", value) for key, value in found}


def test_before_and_after_by_hand():
    made = block(by_hand.run(), 2, 1.0)
    shown = rows(made)
    assert shown["z"] == "0.5 → 0.3"
    assert shown["probe"] == "␣sea → ␣dog"
    assert shown["proxy"] == "0.5 → 0.2"
    assert shown["ratio"] == "0.25 → 0.8"
    assert shown["overlap"] == f"{0.1 + 0.3 + 0.05 + 0.05:.1g} → {0.4 + 0.05 + 0.05:.1g}"[:3]
    accepts = re.findall(r'data-accept="([\d.]+)"', made)
    assert [float(x) for x in accepts] == pytest.approx([0.85, 0.96])
    assert measures.NEEDS_RUN in made and "right to" not in made


def test_at_the_runs_own_settings_nothing_changes():
    made = block(by_hand.run(), 1, 1.0)
    assert "→" not in made and rows(made)["probe"] == "␣sea"


def test_another_T_says_how_right_it_is():
    made = block(by_hand.run(), 1, 0.5)
    assert re.search(r"keeps p on 6 tokens .* right to ± 0\.00\d", made)


@pytest.mark.parametrize("m", ["2", None, 2.5, True, float("nan"), "<b>"])
def test_what_a_browser_sends_is_not_trusted(m):
    run = by_hand.run()
    asked = {"what": "whatif", "round": 0, "node": 0, "m": m, "T": 1.0, "K": 4}
    made = messages.answer(run, asked)["html"]
    assert made.startswith("<p>m must be") and "<b>" not in made


def test_a_strategy_is_named_on_both_sides_where_it_differs():
    run, asked = by_hand.run(), {"m": 1, "T": 1.0, "K": 4}
    made = what_if_view.block(run, run.rounds[0], 0, {**asked, "strategy": "topk"})
    assert f"With {labels.STRATEGY_NAMES['topk']}, T = 1" in made["html"]
    assert f"the run: {labels.STRATEGY_NAMES['rheo']}, m = 1" in made["html"]
    assert measures.TOP_K in made["html"] and made["strategy"] == "topk"
    assert "With m = 1" in what_if_view.block(run, run.rounds[0], 0, asked)["html"]
    none = what_if_view.block(run, run.rounds[0], 0, {**asked, "strategy": "<b>"})["html"]
    assert "&lt;b&gt;" in none and "<b>" not in none


def test_tokens_are_escaped():
    run = by_hand.with_text(by_hand.run(), "<b>x")
    assert "<b>x" not in block(run, 2, 1.0) and "&lt;b&gt;x" in block(run, 2, 1.0)


SETTINGS = [
    ("K", {"K": 4, "m": 5}, {"m": 3}),
    ("K", {"K": 1, "m": 1}, {"m": 0}),
    ("m", {"m": 9, "K": 8}, {"m": 7}),
    ("strategy", {"strategy": "rheo-multi", "m": 8, "probes": 4}, {"probes": 2}),
    ("probes", {"strategy": "rheo-multi", "m": 8, "probes": 4}, {"m": 6}),
    ("probes", {"strategy": "rheo-multi", "m": 0, "K": 2, "probes": 4}, {"probes": 2}),
    ("K", {"K": 20, "S": 16}, {"S": 32}),
    ("S", {"K": 20, "S": 16, "m": 1}, {"K": 16}),
    ("strategy", {"strategy": "topk", "m": 9, "K": 4}, {}),
    ("m", {}, {}),
]


@pytest.mark.parametrize(("moved", "asked", "changes"), SETTINGS)
def test_settings_give_way_and_then_go_together(moved, asked, changes):
    usual = {name: getattr(DecodeParams(), name) for name in run_settings.FIELDS}
    made, said = resolve(moved, usual | asked)
    assert made == changes
    assert len(said) >= len(changes)
    DecodeParams(**(usual | asked | changes))


def test_whatever_is_moved_the_rest_goes_together():
    usual = {name: getattr(DecodeParams(), name) for name in run_settings.FIELDS}
    for strategy in ("rheo", "rheo-multi", "topk", "naive"):
        for K in (1, 2, 3, 17, 32):
            for m in (0, 1, 9):
                for probes in (1, 4):
                    for S in (16, 128):
                        asked = {"strategy": strategy, "K": K, "m": m, "probes": probes, "S": S}
                        for moved in ("strategy", "m", "K", "S", "probes"):
                            changes, _ = resolve(moved, usual | asked)
                            DecodeParams(**(usual | asked | changes))
