"""Bars: every drawn number is the trace's, and every figure keeps to the common frame."""

import json
import math
import re
from dataclasses import replace

import pytest

from rheo.exact.what_if import recompute
from rheo.trace.io import load
from tests.visual import by_hand, sample
from tests.visual.plotted import plain
from visual.round import bars, residual
from visual.run import timeline
from visual.style import palette

RUNS = [by_hand.run(), by_hand.rrsw(), sample.run(1, R=30), sample.run(1, R=20, K=5, seed=8)]
NODES = [(run, r, node) for run in RUNS for r in run.rounds for node in range(len(r.nodes))]
VISITS = [(run, r, visit) for run in RUNS for r in run.rounds for visit in r.visits]


def data(figure) -> dict:
    """The figure's traces by name, as the browser gets them."""
    return {trace["name"]: trace for trace in plain(figure)["data"]}


def words(figure) -> list[str]:
    return [note["text"] for note in plain(figure)["layout"]["annotations"]]


# Proxy against true


def test_proxy_and_true_by_hand():
    run = by_hand.run()
    drawn = data(bars.proxy_true(run, run.rounds[0], 0))
    assert drawn["proxy"]["x"] == [0.5, 0.5, 0.15, 0.1]
    assert drawn["true"]["x"] == [1, 0.4, 1, 1]
    assert [row[1] for row in drawn["proxy"]["customdata"]] == [
        "deterministic",
        "probe",
        "filler",
        "filler",
    ]
    # the pruned probe ␣bit: its q-tilde is in the trace where the walk came, and is not elsewhere
    assert data(bars.proxy_true(run, run.rounds[0], 3))["true"]["x"] == [1, 0.75, 1]
    assert data(bars.proxy_true(run, run.rounds[0], 2))["true"]["x"] == [1, None]


@pytest.mark.parametrize(("run", "r", "node"), NODES)
def test_each_child_stands_in_its_row(run, r, node):
    figure = bars.proxy_true(run, r, node)
    kept = {(n.slot, n.token, n.proxy, n.true) for n in r.nodes if n.parent == node}
    ghosts = {(g.slot, g.token, g.proxy) for g in r.nodes[node].ghosts}
    if not kept | ghosts:
        assert figure is None
        return
    drawn = data(figure)
    assert drawn["proxy"]["y"] == drawn["true"]["y"] == list(range(len(kept) + len(ghosts)))
    rows = {tuple(row[2:3] + row[:1] + row[3:]) for row in drawn["proxy"]["customdata"]}
    assert kept <= rows
    assert ghosts == {row[:3] for row in rows - kept}
    assert [row[3] for row in drawn["proxy"]["customdata"]] == drawn["proxy"]["x"]
    assert [row[4] for row in drawn["true"]["customdata"]] == drawn["true"]["x"]


def test_a_pruned_filler_in_a_probes_slot_is_a_filler():
    run = by_hand.run()
    root = run.rounds[0].nodes[1]
    ghost = replace(run.rounds[0].nodes[3].ghosts[0], kind="filler")
    nodes = [replace(n, ghosts=(ghost,)) if n.ghosts else n for n in run.rounds[0].nodes]
    told = bars.children(run, replace(run.rounds[0], nodes=tuple(nodes)), 3)
    assert root.kind == "deterministic" and told[1][:3] == ("filler", ghost.token, ghost.slot)
    assert told[1].true == 1.0


def test_many_slots_are_cut_and_said():
    run = sample.run(1, R=200, K=16, depth=2)
    figure = bars.proxy_true(run, run.rounds[0], 0)
    assert len(data(figure)["proxy"]["x"]) == bars.SLOTS
    assert "· first 10 of 16 slots" in words(figure)


# Target against draft


def test_target_and_draft_by_hand():
    run = by_hand.run()
    figure = bars.target_draft(run, run.rounds[0], 0)
    drawn = data(figure)
    rows = [by_hand.TOKENS.get(row[0], "") for row in drawn["overlap"]["customdata"]]
    assert rows == [" sea", " dog", " cat", " mat", " sun", " moon", ""]
    assert drawn["overlap"]["x"] == [0.1, 0.3, 0, 0.05, 0.05, 0, 0]
    assert drawn["target"]["x"] == pytest.approx([0, 0.1, 0.3, 0, 0, 0.06, 0.04])
    assert drawn["draft"]["x"] == pytest.approx([0.3, 0, 0, 0.15, 0.05, 0, 0])
    assert "▬ overlap 0.500" in words(figure)


@pytest.mark.parametrize(("run", "r", "visit"), VISITS)
def test_overlap_and_excess_add_up_to_both_laws(run, r, visit):
    drawn = data(bars.target_draft(run, r, visit.node))
    q = visit.q_tilde[0] if visit.q_tilde else visit.q
    rows = drawn["overlap"]["customdata"]
    first = run.params["strategy"] == "rheo-rrsw" and visit.q_tilde
    gone = {n.token for n in r.children(visit.node) if first and n.kind == "deterministic"}
    r_of = dict(zip(visit.ids, visit.p, strict=True))
    left = 1 - math.fsum(r_of[token] for token in gone)
    r_of = {token: 0.0 if token in gone else p / left for token, p in r_of.items()}
    for i, (token, p, draft) in enumerate(rows):
        both, target_only, draft_only = (drawn[k]["x"][i] for k in ("overlap", "target", "draft"))
        assert both + target_only == pytest.approx(p) and both + draft_only == pytest.approx(draft)
        assert min(both, target_only, draft_only) >= -1e-12
        assert drawn["draft"]["base"][i] == pytest.approx(p)
        if token in visit.ids:
            at = visit.ids.index(token)
            assert (p, draft) == (pytest.approx(r_of[token], abs=1e-6), q[at])
    assert math.fsum(p for _, p, _ in rows) == pytest.approx(1, abs=1e-4)  # p is a float32 softmax
    assert math.fsum(d for *_, d in rows) == pytest.approx(math.fsum(q))
    shared = math.fsum(map(min, r_of.values(), q))
    assert math.fsum(drawn["overlap"]["x"]) == pytest.approx(shared, abs=1e-6)


def test_rrsw_tests_the_probe_against_what_the_deterministic_leave():
    """cat (p = .2) is tested first, so the probe meets (.08, .48, .04, .04) / .8."""
    run = by_hand.rrsw()
    figure = bars.target_draft(run, run.rounds[0], 0)
    assert "▬ overlap 0.500" in words(figure) and "▬ only r" in words(figure)
    seen = recompute(run, run.rounds[0], 0, 1, 1.0, 4)
    assert seen.overlap == pytest.approx(0.1 + 0.3 + 0.05 + 0.05)  # of p itself: 0.46
    recorded = load("assets/traces/rrsw-luckier.json.gz")
    for node, overlap in ((0, "0.438"), (1, "0.406")):
        shown = words(bars.target_draft(recorded, recorded.rounds[0], node))
        assert f"▬ overlap {overlap}" in shown
        own = recorded.params
        at = recompute(recorded, recorded.rounds[0], node, own["m"], own["T"], own["K"])
        assert f"{at.overlap:.3f}" == overlap


def test_another_trace_gives_another_drawing():
    run = by_hand.run()
    r = run.rounds[0]
    visit = r.visits[0]
    other = replace(r, visits=(replace(visit, p=(visit.p[1], visit.p[0], *visit.p[2:])),))
    assert bars.target_draft(run, r, 0) != bars.target_draft(run, other, 0)


def test_where_the_walk_never_came_there_is_nothing_to_draw():
    run = by_hand.run()
    assert bars.target_draft(run, run.rounds[0], 1) is None
    assert residual.strip(run, run.rounds[0], 1) is None


def test_a_leaf_shows_the_target_alone():
    run = by_hand.run()
    figure = bars.target_draft(run, run.rounds[1], 6)
    assert data(figure)["target"]["x"] == [0.5, 0.3, 0.2]
    assert "▬ target p; a leaf has no draft" in words(figure)


# The common frame


def figures(run):
    for r in run.rounds:
        for visit in r.visits:
            yield bars.proxy_true(run, r, visit.node)
            yield bars.target_draft(run, r, visit.node)
            yield residual.strip(run, r, visit.node)
    yield timeline.tau(run)


@pytest.mark.parametrize("run", RUNS)
def test_figures_keep_to_the_frame(run):
    for figure in filter(None, figures(run)):
        told, layout = plain(figure), figure["layout"]
        assert told["data"] == json.loads(json.dumps(figure["data"], allow_nan=False))
        assert told["layout"] == {**layout, "template": told["layout"]["template"]}
        assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == palette.CLEAR
        assert layout["uirevision"] == "constant" and layout["height"] <= 220
        for trace in figure["data"]:
            assert all(type(v) in (int, float, type(None)) for v in [*trace["x"], *trace["y"]])


@pytest.mark.parametrize("run", RUNS)
def test_a_theme_can_swap_every_colour(run):
    for figure in filter(None, figures(run)):
        dark = json.dumps(palette.in_dark(plain(figure)))
        left = set(re.findall(r"#[0-9a-f]{6}", dark)) - set(palette.DARK.values())
        assert not left & set(palette.DARK), left


@pytest.mark.parametrize("hostile", ["<b>x</b>", "<a href='x'>", "&lt;", "${x}", "a\0\u202e\ud800"])
def test_hostile_tokens_stay_text(hostile):
    run = by_hand.with_text(by_hand.run(), hostile)
    tags = re.compile(r"<(?!extra>|/extra>| )")
    for figure in filter(None, figures(run)):
        told = json.dumps(figure)
        assert not tags.search(told)
        assert not re.search(r"\\u0000|\\u202e|\\ud800", told)
    shown = words(bars.target_draft(run, run.rounds[0], 0))
    assert bars.escape(bars.name(run, 2, bars.LABEL)) in shown


def test_a_node_that_was_never_visited_shows_what_is_known_of_the_draft():
    shown = 0
    for run, round, node in NODES:
        if round.visit_of(node):
            continue
        drawn = bars.draft_alone(run, round, node)
        known = {c.token: c.proxy for c in bars.children(run, round, node) if c.kind != "probe"}
        assert (drawn is None) == (not known)
        if drawn is not None:
            rows = drawn["data"][0]["customdata"]
            assert {token: q for token, _, q in rows if token is not None}.items() <= known.items()
            assert sum(q for *_, q in rows) >= 1 - 1e-9
            shown += 1
    assert shown
