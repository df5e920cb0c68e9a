"""The one-hot dilemma's views: every number on the page is the engine's, every word is escaped."""

import json
import re
from types import SimpleNamespace

import pytest

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.exact.audit import audit
from rheo.exact.comparison import ROWS, survey
from rheo.exact.coupling import Draw, OneNode
from rheo.exact.transport import RULES, node, one_draw
from rheo.exact.worlds import tempered
from visual.dilemma import (
    acceptance,
    audit_table,
    confidence_band,
    curves,
    draw_steps,
    transport_plan,
)
from visual.pages import dilemma
from visual.words import one_hot

pytestmark = pytest.mark.usefixtures("one_thread")

P, Q = [0.3, 0.1, 0.25, 0.2, 0.15], [0.35, 0.3, 0.2, 0.1, 0.05]
WORDS = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def made() -> OneNode:
    return node(P, Q, m=1, K=3, T=1.0)


def widths(text: str, kind: str) -> list[float]:
    return [float(x) for x in re.findall(rf'dl-part {kind}" style="width:([\d.]+)%', text)]


def test_the_stacks_are_the_splits(made):
    shown = acceptance.stacks(made)
    for part in ("deterministic", "probe", "filler", "missed"):
        masses = [100 * getattr(made.couplings[rule].split, part) for rule in acceptance.STACK_ROWS]
        assert widths(shown, part) == pytest.approx([x for x in masses if x > 1e-7], abs=1e-3)
    assert widths(shown, "best") == pytest.approx([100 * made.optimum], abs=1e-3)


def test_the_sentence_has_the_numbers(made):
    said = acceptance.sentence(made)
    for rule in acceptance.STACK_ROWS:
        assert acceptance.percent(made.couplings[rule].split.accepted) in said
    assert acceptance.percent(made.optimum) in said


@pytest.mark.parametrize(
    ("p", "q", "part"),
    [
        ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1], "more words in a hundred"),
        ([0.1, 0.8, 0.05, 0.05], [0.5, 0.2, 0.2, 0.1], "fixed guesses win"),
        ([1.0, 0.0, 0.0, 0.0], [0.4, 0.3, 0.2, 0.1], "equally often"),
    ],
)
def test_the_sentence_says_who_is_ahead(p, q, part):
    assert part in acceptance.sentence(node(p, q, m=1, K=2, T=1.0))


def test_the_plan_shows_every_mass_and_its_columns_are_the_target(made):
    shown = transport_plan.plans(made, WORDS)
    for rule in transport_plan.PLAN_RULES:
        part = shown.split(f'data-rule="{rule}"')[1].split("</figure>")[0]
        foot = part.split("<tfoot>")[1]
        assert [f"{100 * x:.1f}" for x in made.p] == re.findall(r"<td>([\d.]+)</td>", foot)
        coupling = made.couplings[rule]
        assert part.count("own") == len(coupling.probes)
        assert acceptance.percent(coupling.moved) in part


@pytest.mark.parametrize("rule", RULES)
def test_a_draws_steps_say_what_the_draw_decided(rule, made):
    seen = set()
    for seed in range(40):
        drawn = one_draw(P, Q, 1, 3, 1.0, rule, scenarios.uniforms(seed))
        steps = draw_steps.steps(made, drawn, WORDS)
        last = steps[-1]
        assert last["verdict"] == ("accept" if drawn.taken is not None else "reject")
        assert f"‘{WORDS[drawn.emitted]}’" in last["say"]
        asked = [step for step in steps if step["ask"]]
        assert all(step["verdict"] == "reject" for step in asked[:-1])
        assert not steps[0]["ask"] and all("dl-tick" in step["html"] for step in asked)
        tested = [step for step in asked if step["ask"] == one_hot.QUESTIONS["test"]]
        if tested:
            p, q = drawn.tested[drawn.probe], made.q_tilde[drawn.probe]
            assert drawn.accept == pytest.approx(min(1.0, p / q), abs=1e-12)
            assert (tested[0]["verdict"] == "accept") == (drawn.uniforms[1] < drawn.accept)
        seen.add((len(steps), last["verdict"]))
    assert len(seen) >= 2


def test_a_hostile_word_stays_text(made):
    words = ["<img src=x onerror=1>", *WORDS[1:]]
    drawn = one_draw(P, Q, 1, 3, 1.0, "rheo", (0.1, 0.99, 0.1))
    shown = transport_plan.plans(made, words) + json.dumps(draw_steps.steps(made, drawn, words))
    assert "<img" not in shown and "&lt;img" in shown


def test_the_table_says_the_audits_numbers_and_its_verdict_in_words():
    world, params = scenarios.world_of(scenarios.load("world"))
    rows = [row.as_dict() for row in survey(world, params)]
    shown = audit_table.table(rows)
    for row in rows:
        exact = audit(tempered(world, params.T), params, ROWS[row["strategy"]])
        line = shown.split(f'data-rule="{row["strategy"]}"')[1].split("</tr>")[0]
        assert f"{exact.expected_accepted:.3f}" in line
        assert audit_table.distance(exact.tv) in line or exact.tv < 1e-9
        assert ("biased" in line) == (exact.tv > 1e-9) != ("lossless" in line)
    honest = [row for row in rows if row["lossless"]]
    assert "Cheating pays" in shown and "Cheating pays" not in audit_table.table(honest)


def test_a_biased_simulation_leaves_the_band_and_a_lossless_one_does_not():
    known = scenarios.load("world")
    law = dilemma.pair_distribution(known["world"])
    played = known["result"]["played"]
    assert not any(pair.outside for pair in confidence_band.pairs(played["rheo"], law))
    assert sum(pair.outside for pair in confidence_band.pairs(played["naive"], law)) > 5
    assert "✓" in confidence_band.chart("rheo", played["rheo"], law)
    assert "✕" in confidence_band.chart("naive", played["naive"], law)


def test_the_curves_end_where_the_sweep_does():
    points = scenarios.load("world")["result"]["curves"]
    shown = curves.curves(points)
    assert shown.count("<figure") == 6 and shown.count('class="dl-curve"') == 24
    at_m = [p for p in points if p["parameter"] == "m"]
    assert f"RheoSampling {at_m[0]['accepted']['rheo']:.3f}" in shown


@pytest.mark.parametrize("name", scenarios.names("node"))
def test_the_page_opens_with_what_a_change_to_the_same_numbers_would_show(name):
    known = scenarios.load(name)
    opened = dilemma.opened(name)["views"]
    event = SimpleNamespace(**{k: known[k] for k in ("p", "q", "m", "K", "T", "seed")}, rule="rheo")
    assert dilemma.asked(known, event) == opened


def test_records_come_back_from_the_file_as_they_were():
    known = scenarios.load("long-tail")
    drawn = Draw(**known["result"]["draws"]["rheo"])
    again = one_draw(
        known["p"],
        known["q"],
        known["m"],
        known["K"],
        1.0,
        "rheo",
        scenarios.uniforms(known["seed"]),
    )
    assert drawn.emitted == again.emitted and drawn.probe_accepted == again.probe_accepted


@pytest.mark.parametrize(
    "change",
    [
        {"p": [0.5] * 3},
        {"p": "x"},
        {"q": [True] * 8},
        {"p": [float("nan")] * 8},
        {"K": 9},
        {"K": 2.5},
        {"m": 3},
        {"T": -1},
        {"T": float("nan")},
        {"rule": "naive"},
        {"seed": 10**9},
    ],
)
def test_what_the_browser_may_not_send_is_one_sentence(change):
    known = scenarios.load("long-tail")
    sent = {k: known[k] for k in ("p", "q", "m", "K", "T", "seed")} | {"rule": "rheo"} | change
    with pytest.raises(RheoError):
        dilemma.asked(known, SimpleNamespace(**sent))


def test_a_simulation_ends_when_it_is_stopped():
    session = dilemma.DilemmaVisitor()
    event = SimpleNamespace(seed=None, m=1, T=1.0, R=4, left="rheo", right="naive")
    rounds = dilemma.played(event, session)
    assert not next(rounds)["over"]
    dilemma._halt(session)
    assert next(rounds)["over"] and next(rounds, None) is None


def test_an_other_world_is_surveyed_row_by_row():
    event = SimpleNamespace(seed=4, m=1, T=0.75, R=5)
    messages = [*dilemma.surveyed(event, dilemma.DilemmaVisitor())]
    assert len(messages) == len(ROWS) + 1 and messages[-1]["over"]
    assert messages[0]["html"].count("data-rule") == 1
