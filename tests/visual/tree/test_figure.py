"""The drawn tree equals the trace, node by node; what the browser gets equals what was drawn."""

import html
import json
from dataclasses import replace

import pytest

from tests.visual import sample
from tests.visual.plotted import plain
from visual.browser import messages
from visual.round import fates
from visual.tree import figure as tree
from visual.tree import graph
from visual.tree.nodes import GLYPHS, ROW
from visual.words import sentences

RUN = sample.run()
ROUNDS = pytest.mark.parametrize("round", RUN.rounds, ids=lambda r: f"round{r.index}")


def drawn(figure):
    """Node -> what its mark says, read off a figure's JSON."""
    marks = {}
    for trace in figure["data"]:
        for x, y, row in zip(trace["x"], trace["y"], trace.get("customdata", ()), strict=False):
            said = dict(zip(ROW, row, strict=True))
            marks[row[0]] = {**said, "kind": trace["name"], "place": (x, y)}
    return marks


def lines(figure, verdict):
    """The places where lines of a verdict end."""
    ends = set()
    for trace in figure["data"]:
        if trace["name"].startswith(f"edge {verdict} "):
            points = [*zip(trace["x"], trace["y"], strict=True)]
            ends |= {
                a
                for a, b in zip(points, [*points[1:], (None, None)], strict=True)
                if b[0] is None and a[0] is not None and a[0] == int(a[0])
            }
    return ends


def differences(run, round, figure):
    """Nodes of the round that the figure lacks, adds or shows otherwise."""
    marks, wrong = drawn(figure), []
    for i, node in enumerate(round.nodes):
        mark = marks.get(i)
        if mark is None:
            wrong.append(i)
            continue
        numbers = [(mark[key], getattr(node, key)) for key in ("proxy", "true", "p", "accept")]
        wrong += [
            i
            for shown, told in numbers
            if (shown is None) != (told is None)
            or (told and shown != pytest.approx(told, rel=1e-3))
        ]
        if mark["kind"] != node.kind or html.unescape(mark["token"]) != sentences.name(
            run, node.token
        ):
            wrong.append(i)
        if node.parent >= 0 and mark["place"][0] != marks[node.parent]["place"][0] + 1:
            wrong.append(i)
    extra = {name for name in marks if isinstance(name, int)} - set(range(len(round.nodes)))
    return wrong + sorted(extra)


@ROUNDS
def test_every_node_is_drawn_as_it_is_in_the_trace(round):
    assert not differences(RUN, round, tree.drawing(RUN, round))


def test_a_wrong_number_or_kind_or_a_missing_node_is_noticed():
    round = RUN.rounds[0]
    figure = tree.drawing(RUN, round)
    nodes = list(round.nodes)
    for changed in ({"proxy": 0.5}, {"kind": "filler"}, {"true": 0.123}, {"token": 0}):
        other = replace(nodes[2], **changed)
        assert differences(RUN, replace(round, nodes=(*nodes[:2], other, *nodes[3:])), figure)
    assert differences(RUN, replace(round, nodes=(*nodes, nodes[-1])), figure)
    assert differences(RUN, replace(round, nodes=tuple(nodes[:-1])), figure)


@ROUNDS
def test_verdicts_follow_the_steps(round):
    figure = tree.drawing(RUN, round)
    marks = drawn(figure)
    verdicts = {s.child: s.verdict for v in round.visits for s in v.steps if s.child is not None}
    visited = {v.node for v in round.visits}
    for i, node in enumerate(round.nodes[1:], start=1):
        unreached = "unreached" if node.parent in visited else "unvisited"
        assert marks[i]["verdict"] == verdicts.get(i, unreached)
    accepted = {marks[e.node]["place"] for e in round.emitted if e.node is not None}
    assert lines(figure, "accept") == accepted
    assert len(accepted) == round.accepted


@ROUNDS
def test_the_emitted_token_hangs_at_the_node_where_the_walk_stopped(round):
    mark = drawn(tree.drawing(RUN, round))["emit"]
    assert mark["kind"] == round.emitted[-1].origin
    assert html.unescape(mark["token"]) == sentences.name(RUN, round.emitted[-1].token)
    assert graph.of(round).nodes["emit"]["parent"] == round.visits[-1].node


@ROUNDS
def test_ghosts_stand_among_their_siblings_when_asked_for(round):
    marks = drawn(tree.drawing(RUN, round, ghosts=True))
    ghosts = [(i, g) for i, node in enumerate(round.nodes) for g in node.ghosts]
    assert sum(mark["kind"] == "ghost" for mark in marks.values()) == len(ghosts) > 0
    for parent, ghost in ghosts:
        mark = marks[f"ghost {parent}.{ghost.slot}"]
        assert mark["proxy"] == pytest.approx(ghost.proxy, rel=1e-3)
        for i, node in enumerate(round.nodes):
            if node.parent == parent:
                below = marks[i]["place"][1] < mark["place"][1]
                assert below == (node.slot < ghost.slot)
    assert not any(m["kind"] == "ghost" for m in drawn(tree.drawing(RUN, round)).values())


@ROUNDS
def test_plotly_accepts_the_drawing_unchanged(round):
    told = json.loads(json.dumps(tree.drawing(RUN, round)))
    assert drawn(plain(told)) == drawn(told)


@ROUNDS
def test_the_browser_gets_the_drawing_without_what_all_share(round):
    sent = json.loads(messages.dumps(messages.a_round(RUN, round)))
    common = json.loads(messages.dumps(messages.common()))
    defaults = common["defaults"]
    data = [{**defaults.get(t["name"], defaults[""]), **t} for t in sent["tree"]["data"]]
    whole = json.loads(json.dumps(tree.drawing(RUN, round)))
    ring = whole["data"].pop()
    assert ring.items() >= defaults[ring["name"]].items() and ring["name"] == "chosen"
    assert {"data": data, "layout": {**common["layout"], **sent["tree"]["layout"]}} == whole


def test_the_ring_starts_where_the_walk_first_met_a_probe():
    for round in RUN.rounds:
        node = tree.default_node(round)
        met = [v.node for v in round.visits if any(s.rule == "probe" for s in v.steps)]
        assert node == (met[0] if met else 0)


def test_labels_are_cut_and_escaped_for_plotly():
    shown = [label for t in tree.drawing(RUN, RUN.rounds[0])["data"] for label in t.get("text", ())]
    assert shown and not any("<" in label for label in shown)
    assert max(len(html.unescape(label)) for label in shown) <= GLYPHS + 2


def test_an_answer_to_a_bad_question_is_refused():
    good = {"what": "panel", "round": 0, "node": 0}
    assert messages.answer(RUN, good)["kind"] == "root"
    bad = [{"round": 99}, {"round": -1}, {"round": True}, {"round": "0"}, {"node": 10**6}]
    for change in [*bad, {"node": None}, {"what": "file"}, {"round": None}]:
        with pytest.raises(ValueError):
            messages.answer(RUN, {**good, **change})


def test_a_node_the_walk_never_visited_says_so_in_one_sentence():
    round = RUN.rounds[0]
    visited = {visit.node for visit in round.visits}
    node = next(i for i in range(len(round.nodes)) if i not in visited)
    panel = messages.panel(RUN, round, node)
    assert panel["note"].endswith(".") and ". " not in panel["note"] and not panel["steps"]
    walked = [messages.panel(RUN, round, visit.node) for visit in round.visits]
    assert [step for p in walked for step in p["steps"]] == sentences.sentences(RUN, round)
    for visit, came in zip(round.visits, walked, strict=True):  # its own fate, where it was tested
        assert came["note"] == fates.of(RUN, round, visit.node).sentence
        assert came["note"].startswith(("The root", "Tested as ")) and came["note"] != panel["note"]
