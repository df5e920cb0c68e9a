"""The one-hot dilemma's views: every number on the page is the engine's, every word is escaped."""

import json
import re
from types import SimpleNamespace

import gradio as gr
import pytest

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.exact.audit import audit
from rheo.exact.comparison import ROWS, survey
from rheo.exact.coupling import OneNode
from rheo.exact.transport import RULES, node, one_draw
from rheo.exact.worlds import tempered
from visual.dilemma import acceptance, audit_table, confidence_band, curves, transport_plan
from visual.pages import dilemma, node_request, small_worlds
from visual.round import slots
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
def test_a_draw_is_shown_by_the_viewer_step_by_step(rule):
    """Its frames are the root, the slots with their uniform, pruning, and one verdict each."""
    seen = set()
    for seed in range(40):
        run = one_draw(P, Q, 1, 3, 1.0, rule, scenarios.uniforms(seed), WORDS)
        shown, round = dilemma.drawn(run), run.rounds[0]
        frames, steps = shown["rounds"][0]["frames"], round.visits[0].steps
        assert [f["phase"] for f in frames[:3]] == ["draft", "draft", "prune"]
        assert len(frames) == 3 + len(steps) and frames[-1]["phase"] == "end"
        assert frames[1]["sentence"] == slots.sentence(run, round)
        if rule != "topk":
            probe = next(node.token for node in round.nodes if node.kind == "probe")
            drawn = f"u₀ = {round.uniforms.probes[0][0]:.3g} falls on ‘{WORDS[probe]}’"
            assert drawn in frames[1]["sentence"] and "rs-tick" in frames[1]["card"]
        for frame, step in zip(frames[3:], steps, strict=True):
            if frame["ask"]:
                assert frame["ask"]["answer"] == step.verdict
            assert WORDS[step.token] in frame["card"]
        assert WORDS[round.emitted[0].token] in frames[-1]["sentence"] or rule == "topk"
        seen.add((len(frames), steps[-1].verdict))
    assert len(seen) >= 2


def test_the_slots_card_is_q_tilde_with_the_uniform_in_the_probes_interval(made):
    for seed in range(20):
        run = one_draw(P, Q, 1, 3, 1.0, "rheo", scenarios.uniforms(seed), WORDS)
        card, below = slots.card(run, run.rounds[0]), 0.0
        widths = re.findall(r'<i class="(probe|free)" style="width:([\d.]+)%', card)
        assert sum(float(w) for _, w in widths) == pytest.approx(100, abs=0.05)
        tilde = [made.q_tilde[t] for t in made.order if made.q_tilde[t] > 0]
        assert [float(w) for _, w in widths] == pytest.approx([100 * x for x in tilde], abs=0.01)
        tick = float(re.search(r'rs-tick[^"]*" style="left:([\d.]+)%', card).group(1))
        for kind, width in widths:
            if kind == "probe":
                assert below - 0.01 <= tick <= below + float(width) + 0.01
            below += float(width)
        assert [kind for kind, _ in widths].count("probe") == 1


def test_a_tail_without_mass_has_no_probe_to_show():
    run = one_draw([0.5, 0.25, 0.25], [1.0, 0.0, 0.0], 1, 2, 1.0, "rheo", (0.5,) * 3, WORDS[:3])
    assert slots.card(run, run.rounds[0]) == ""
    assert slots.sentence(run, run.rounds[0]).startswith(one_hot.STEP_NO_PROBE.format(m=1))
    assert dilemma.drawn(run)["rounds"][0]["frames"][-1]["phase"] == "end"


def test_every_panel_that_the_viewer_asks_for_is_there():
    run = one_draw(P, Q, 1, 3, 1.0, "rheo", scenarios.uniforms(3), WORDS)
    answers = dilemma.drawn(run)["answers"]
    assert {f"draw/0/{node}/panel" for node in range(4)} < set(answers)
    assert len(answers["draw/0/0/panel"]["figures"]) == 2  # p against q-tilde, the strip
    json.dumps(answers, allow_nan=False)


def test_a_hostile_word_stays_text(made):
    words = ["<img src=x onerror=1>", *WORDS[1:]]
    run = one_draw(P, Q, 1, 3, 1.0, "rheo", (0.1, 0.99, 0.1), words)
    frames = dilemma.drawn(run)["rounds"][0]["frames"]
    shown = transport_plan.plans(made, words) + "".join(frame["card"] for frame in frames)
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
    target = small_worlds.pair_distribution(known["world"])
    played = known["result"]["played"]
    assert not any(pair.outside for pair in confidence_band.pairs(played["rheo"], target))
    assert sum(pair.outside for pair in confidence_band.pairs(played["naive"], target)) > 5
    assert "✓" in confidence_band.chart("rheo", played["rheo"], target)
    assert "✕" in confidence_band.chart("naive", played["naive"], target)


def test_the_curves_are_the_sweep():
    points = scenarios.load("world")["result"]["curves"]
    shown = curves.curves(points)
    assert shown["html"].count("<figure") == len(shown["figures"]) == 6
    places = re.findall(r'data-what="(\w+)" data-axis="(\w)"', shown["html"])
    for (what, axis), figure in zip(places, shown["figures"], strict=True):
        here = [point for point in points if point["parameter"] == axis]
        assert [trace["name"] for trace in figure["data"]] == list(curves.CURVED)
        for trace in figure["data"]:
            assert trace["x"] == [point["value"] for point in here]
            assert trace["y"] == [point[what][trace["name"]] for point in here]
    at_m = [p for p in points if p["parameter"] == "m"]
    assert f"RheoSampling {at_m[0]['accepted']['rheo']:.3f}" in shown["html"]


@pytest.mark.parametrize("name", scenarios.names("node"))
def test_the_page_opens_with_what_a_change_to_the_same_numbers_would_show(name):
    known = scenarios.load(name)
    opened = dilemma.opened(name)["views"]
    event = SimpleNamespace(**{k: known[k] for k in ("p", "q", "m", "K", "T", "seed")}, rule="rheo")
    assert dilemma.asked(known, event) == opened


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
        {"seed": True},
        {"q": None},
    ],
)
def test_what_the_browser_may_not_send_is_one_sentence(change):
    known = scenarios.load("long-tail")
    sent = {k: known[k] for k in ("p", "q", "m", "K", "T", "seed")} | {"rule": "rheo"} | change
    with pytest.raises(RheoError) as refused:
        dilemma.asked(known, SimpleNamespace(**sent))
    assert ". " not in str(refused.value) and str(refused.value).endswith(".")


def test_what_is_missing_is_one_sentence_and_every_field_has_one():
    for model in (node_request.NodeRequest, node_request.PlayRequest):
        assert set(model.model_fields) <= set(one_hot.WRONG)
        with pytest.raises(RheoError, match=r"^p needs|^m must"):
            model.read(SimpleNamespace())
        with pytest.raises(RheoError):
            model.read(gr.EventData(None, None))


def test_a_simulation_ends_when_it_is_stopped():
    session = small_worlds.DilemmaVisitor()
    event = SimpleNamespace(seed=None, m=1, T=1.0, R=4, left="rheo", right="naive")
    rounds = small_worlds.played(event, session)
    assert not next(rounds)["over"]
    small_worlds.halt(session)
    assert next(rounds)["over"] and next(rounds, None) is None


def test_an_other_world_is_surveyed_row_by_row():
    event = SimpleNamespace(seed=4, m=1, T=0.75, R=5)
    messages = [*small_worlds.surveyed(event, small_worlds.DilemmaVisitor())]
    assert len(messages) == len(ROWS) + 1 and messages[-1]["over"]
    assert messages[0]["html"].count("data-rule") == 1


def test_a_part_that_reads_as_nothing_is_not_drawn():
    cold = node([1 - 3e-5, 1e-5, 1e-5, 1e-5], [0.97, 0.01, 0.01, 0.01], m=1, K=2, T=1.0)
    shown = acceptance.stacks(cold)
    drawn = [
        x for part in ("deterministic", "probe", "filler", "missed") for x in widths(shown, part)
    ]
    assert drawn and min(drawn) >= 0.05
    assert any(0 < cold.couplings["topk"].split.missed < 5e-4 for _ in drawn)  # there was one
