"""Frames: one verdict each, and at each one sees what the trace says of it and nothing later."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from rheo.trace.io import load
from rheo.trace.residuals import residuals
from rheo.trace.schema import Candidates
from tests.visual import by_hand, sample
from tests.visual.played import every
from tests.visual.plotted import plain
from visual.browser import messages
from visual.round import residual
from visual.round import steps as frames
from visual.style import palette
from visual.tree import figure as tree
from visual.tree import reveal as moments
from visual.words import labels, sentences

TRACES = Path(__file__).parents[3] / "assets" / "traces"
MADE = [by_hand.run(), by_hand.rrsw(), *(sample.run(4, seed=seed) for seed in (3, 4))]
MADE.append(sample.run(2, R=128, K=10, depth=8))
GHOSTS = pytest.mark.parametrize("ghosts", [False, True], ids=["tails", "ghosts"])


def steps(round):
    return [(visit, at) for visit in round.visits for at in range(len(visit.steps))]


def rounds(runs):
    return [(run, round) for run in runs for round in run.rounds]


# What is seen, from the drawing alone


def seen(drawing, frame):
    """Traces that a frame shows, by `meta`."""
    for trace in drawing["data"]:
        start, end = trace.get("meta", (0, None))
        if start <= frame and (end is None or frame < end):
            yield trace


def names(drawing):
    """Place -> node, off the rows behind the marks."""
    rows = [(t, row) for t in drawing["data"] for row in enumerate(t.get("customdata", ()))]
    places = {(t["x"][i], t["y"][i]): row[0] for t, (i, row) in rows}
    assert len(places) == len(rows)  # each node once, and no two in one place
    return places


def picture(drawing, frame):
    """Node -> (is it pale, its sign, is it outlined, the look of its line); the parents' buses;
    the number of tails."""
    where, nodes, lines, tails = names(drawing), {}, {}, 0
    for trace in seen(drawing, frame):
        points = list(zip(trace["x"], trace["y"], strict=True))
        if trace["name"] == "pruned":
            tails = points.count((None, None))
        elif trace["name"].startswith("edge "):
            for a, b in pairwise(points):
                if b in where and None not in a:
                    assert where[b] not in lines  # drawn once
                    lines[where[b]] = trace["name"].split()[1], trace["line"]["width"]
        elif trace["name"] != "chosen":
            outlines = trace["marker"].get("line", {}).get("width", [0] * len(points))
            for place, label, outline in zip(points, trace["text"], outlines, strict=True):
                assert where[place] not in nodes  # one mark a node
                sign = next((s for s in (palette.CHECK, palette.CROSS) if label.endswith(s)), "")
                nodes[where[place]] = trace["marker"]["opacity"] < 1, sign, outline > 0
    assert set(lines) == set(nodes) - {0}
    return {name: (*look, lines.get(name)) for name, look in nodes.items()}, tails


# What should be seen, from the trace alone

WIDTHS = (0.75, 1.5, 2.5)


def line(verdict, p):
    thick = verdict in ("accept", "emit")
    return verdict, 3.0 if thick else next(
        w for w, top in zip(WIDTHS, (1 / 9, 4 / 9, 9), strict=True) if p < top
    )


def expected(round, frame, ghosts):
    """Half a frame before a verdict its children stand out, undecided."""
    levels, pending = max(node.depth for node in round.nodes), frame % 1 > 0
    shown = max(int(frame) - levels - (levels > 0), 0)
    done = steps(round)[:shown]
    begun = {visit.node for visit, _ in steps(round)[: shown + pending]}
    over = {visit.node for visit, at in done if at == len(visit.steps) - 1}
    told = {v.steps[at].child: v.steps[at].verdict for v, at in done}
    picture = {0: (False, "", False, None)}
    for i, node in enumerate(round.nodes[1:], start=1):
        if node.depth > frame:
            continue
        verdict = told.get(i) or ("unreached" if node.parent in begun else "unvisited")
        sign = {"accept": palette.CHECK, "reject": palette.CROSS}.get(verdict, "")
        look = verdict == "unvisited", sign, verdict == "accept"
        picture[i] = (*look, line(verdict, node.p))
    for parent, node in enumerate(round.nodes):
        if ghosts and node.depth + 1 <= frame:
            for ghost in node.ghosts:
                picture[f"ghost {parent}.{ghost.slot}"] = (True, "", False, line("ghost", 0.0))
    for visit in round.visits:
        if visit.node in over and visit.steps[-1].rule == "emit":
            picture["emit"] = (False, "", False, line("emit", 1.0))
    tails = sum(bool(node.ghosts) for node in round.nodes) if 0 < levels < frame else 0
    return picture, 0 if ghosts else tails


def unlike(run, round, ghosts=False, drawing=None):
    """Frames whose picture is not what the trace says."""
    drawing = drawing or tree.drawing(run, round, ghosts)
    made = frames.of(run, round)
    moments = [*range(len(made)), *(f - 0.5 for f, frame in enumerate(made) if frame["ask"])]
    return [f for f in moments if picture(drawing, f) != expected(round, f, ghosts)]


@GHOSTS
def test_each_frame_shows_what_the_trace_says_of_it(ghosts):
    for run, round in rounds(MADE):
        assert not unlike(run, round, ghosts)


@GHOSTS
def test_each_frame_of_every_strategy_shows_what_the_trace_says(played, ghosts):
    for run, round in rounds(every(played)):
        assert not unlike(run, round, ghosts)


def test_a_mark_a_frame_early_or_late_is_noticed():
    run = by_hand.run()
    round = run.rounds[0]
    timed = [i for i, t in enumerate(tree.drawing(run, round)["data"]) if "meta" in t]
    assert len(timed) > 12
    for i in timed:
        for by in (-1, 1):
            drawing = tree.drawing(run, round)
            start, end = drawing["data"][i]["meta"]
            drawing["data"][i]["meta"] = [start + by, end]
            try:
                noticed = bool(unlike(run, round, drawing=drawing) or loose(run, round, drawing))
            except AssertionError:  # two marks of one node, or a mark without its line
                noticed = True
            assert noticed


@GHOSTS
def test_the_last_frame_is_the_finished_round_and_opaque_at_once(ghosts):
    for run, round in rounds(MADE):
        drawing = tree.drawing(run, round, ghosts)
        last = list(seen(drawing, len(frames.of(run, round)) - 1))
        for trace in drawing["data"]:
            assert (trace.get("opacity") == 0) == all(trace is not shown for shown in last)
        assert not any(trace["name"] == "waiting" for trace in last)
        rows = [row[0] for trace in last for row in trace.get("customdata", ())]
        assert set(rows) == set(names(drawing).values()) and len(set(rows)) == len(rows)


def test_what_waits_tells_token_and_kind_and_no_number():
    for run, round in rounds(MADE):
        told = {
            f"<b>{sentences.escape(sentences.name(run, node.token))}</b>  {node.kind}"
            for node in round.nodes[1:]
        }
        waiting = [t for t in tree.drawing(run, round)["data"] if t["name"] == "waiting"]
        assert waiting and not any("customdata" in trace for trace in waiting)
        assert {line for trace in waiting for line in trace["hovertext"]} <= told
        assert {trace["hovertemplate"] for trace in waiting} == {labels.HOVER_WAITING}
        assert "%{" not in labels.HOVER_WAITING.replace("%{hovertext}", "")


def loose(run, round, drawing):
    """Frames in which children hang on no line from their parent, or on two."""
    where, wrong = names(drawing), []
    for frame in range(len(frames.of(run, round))):
        ways, starts = [], set()
        for trace in seen(drawing, frame):
            if trace["name"].startswith("edge "):
                for a, b in pairwise(zip(trace["x"], trace["y"], strict=True)):
                    if a in where and None not in b:
                        ways.append(a[1])
                    elif None not in (*a, *b):
                        starts.add(a)
        rows = sorted(y for _, y in starts)
        wrong += [frame] if sorted(ways) != rows else []
    return wrong


def test_children_hang_on_one_line_from_their_parent():
    for run, round in rounds(MADE):
        assert not loose(run, round, tree.drawing(run, round))


# What is said


def chance(visit, at):
    """The chance of a test: its ratio, or its interval's share of what is open in its draw."""
    step = visit.steps[at]
    if step.rule == "probe":
        return step.ratio
    missed = [s for s in visit.steps[:at] if s.rule == "sibling"]
    while missed and any(s.rule == "probe" for s in visit.steps[visit.steps.index(missed[0]) : at]):
        missed.pop(0)  # of an earlier draw
    return (step.high - step.low) / max(1e-300, 1 - math.fsum(s.high - s.low for s in missed))


def check_frames(run, round):
    made, walked = frames.of(run, round), steps(round)
    levels = max(node.depth for node in round.nodes)
    phases = [f["phase"] for f in made]
    assert phases == (
        ["draft"] * (levels + 1)
        + ["prune"] * (levels > 0)
        + ["verdict"] * (len(walked) - 1)
        + ["end"]
    )
    assert moments.of(round).last == len(made) - 1
    known = 0
    for frame, (visit, at) in zip(made[-len(walked) :], walked, strict=True):
        step = visit.steps[at]
        known += step.verdict != "reject"
        assert frame["node"] == visit.node and frame["card"]
        assert frame["emitted"] == min(known, len(round.emitted))
        guessed = step.rule != "emit" and 0.15 <= chance(visit, at) <= 0.85
        assert (frame["ask"] is not None) == guessed
        if guessed:
            assert frame["ask"]["answer"] == step.verdict
            likelier = max(chance(visit, at), 1 - chance(visit, at))
            assert frame["ask"]["likelier"] == pytest.approx(likelier, abs=6e-4)
    assert made[-1]["sentence"] == sentences.headline(run, round)
    assert made[-1]["emitted"] == len(round.emitted)
    assert all(not f["card"] and not f["emitted"] and not f["ask"] for f in made[: -len(walked)])
    said = sentences.sentences(run, round)[:-1]
    for sentence, frame in zip(said, made[-len(walked) :], strict=False):
        assert frame["sentence"].startswith(sentence[:-1]) and frame["sentence"].endswith(".")


def test_one_verdict_a_frame():
    for run, round in rounds(MADE):
        check_frames(run, round)


def test_one_verdict_a_frame_with_every_strategy(played):
    for run, round in rounds(every(played)):
        check_frames(run, round)


def test_the_sentences_by_hand():
    run = by_hand.run()
    assert [f["sentence"] for f in frames.of(run, run.rounds[0])][:8] == [
        "The root ␣the is the last token of the text: the draft’s tree grows from it.",
        "Level 1: below the root the draft proposes ␣cat (deterministic), ␣sea (drawn at random: "
        "the probe) and 2 tokens by rank (fillers); the 3 shown here will survive "
        "pruning, a probe among them.",
        "Level 2: the draft proposes more than this older recording holds; the 4 shown here will "
        "survive pruning, a probe among them.",
        "Pruning keeps the 7 best nodes by score; how many it drops is not in this older "
        "recording.",
        "Probe ␣sea: min(1, 0.1 / 0.4) = 0.250; u₁ = 0.611: rejected; 0.5 of p is left and is "
        "normalised.",
        "Sibling ␣cat: its interval [0, 0.600) of the residual does not hold u₂ = 0.712: rejected.",
        "Sibling ␣dog: its interval [0.600, 0.800) of the residual holds u₂ = 0.712: accepted; "
        "the walk goes on at ␣dog.",
        "Sibling ␣ran: its interval [0, 0.400) of p does not hold u₂ = 0.653: rejected.",
    ]
    assert frames.of(run, run.rounds[1])[5]["sentence"].endswith("goes on at ␣it, a leaf.")
    assert frames.of(run, run.rounds[2])[3]["sentence"].endswith("; the text ends with it.")
    missed = [f["sentence"] for f in frames.of(by_hand.rrsw(), by_hand.rrsw().rounds[0])]
    assert missed[3].endswith("rejected; 0.8 of p is left and is normalised.")
    assert missed[4].endswith("rejected; 0.5 of the residual is left and is normalised.")


GROWTH = re.compile(
    r"Level (\d): the draft expands the (\d+) best nodes of level \d and proposes (\d+) tokens; "
    r"(?:the |all of them)(one|\d*)"
)


def test_the_growth_that_is_told_is_the_engines(played):
    """K = 5, depth 3: 5, 25 and 25 candidates, of which pruning keeps 12."""
    for round in played.rounds:
        said = [f["sentence"] for f in frames.of(played, round)]
        if len(round.nodes) == 1:
            continue
        told = [GROWTH.match(sentence) for sentence in said[2 : round.levels + 1]]
        for level, found in enumerate(told, start=2):
            kept = len(round.rows_at(level))
            shown = {"one": 1, "": 25}.get(found[4]) or int(found[4])
            assert [int(found[i]) for i in (1, 2, 3)] == [level, 5, 25] and shown == kept
        pruned = said[round.levels + 1]
        assert pruned.startswith("Pruning keeps the 12 best nodes of 55 candidates by score and")
        assert "and drops 43" in pruned
        assert ("among them" in pruned) == (round.levels < 3)


def test_the_growth_of_the_first_recorded_round():
    """Before: "below 3 nodes of level 1 the draft proposes 30 tokens" and "140 dropped"."""
    run = load(TRACES / "first.json.gz")
    said = [f["sentence"] for f in frames.of(run, run.rounds[0])]
    assert said[2].startswith(
        "Level 2: the draft expands the 10 best nodes of level 1 and proposes 100 tokens; "
    )
    assert said[run.rounds[0].levels + 1] == (
        "Pruning keeps the 60 best nodes of 710 candidates by score and drops 650, all of levels "
        f"{run.rounds[0].levels + 1} to 8 among them."
    )


def test_a_round_without_a_draft_is_its_root_and_one_emission():
    run = by_hand.run()
    leaf = replace(run.rounds[1].visits[-1], node=0)
    emitted = run.rounds[1].emitted[-1:]
    alone = replace(run.rounds[1], nodes=run.rounds[1].nodes[:1], visits=(leaf,), emitted=emitted)
    check_frames(run, replace(alone, accepted=0))
    assert not unlike(run, alone)
    assert "nothing is drafted" in frames.of(run, alone)[0]["sentence"]


def numbers(said):
    return set(re.findall(r"\d\.\d{3,}", said))


def test_a_question_does_not_tell_its_uniform():
    for run, round in rounds(MADE):
        for frame, (visit, at) in zip(
            frames.of(run, round)[-len(steps(round)) :], steps(round), strict=True
        ):
            step = visit.steps[at]
            if frame["ask"]:
                asked = frame["ask"]["question"] + frame["ask"]["hint"]
                told = numbers(frame["sentence"]) - numbers(sentences.number(step.p))
                drawn = {n for n in told if abs(float(n) - step.uniform) < 5e-4}
                bounds = {step.low, step.high, step.ratio}
                drawn -= {n for n in drawn if any(b and abs(b - float(n)) < 6e-4 for b in bounds)}
                assert not drawn & numbers(asked)


# The residual strip beside it


def titles(figure):
    notes = plain(figure)["layout"]["annotations"]
    return [n["text"] for n in notes if (n["y"] - residual.TITLE_HEIGHT) % residual.PITCH == 0]


def check_rows(run, round):
    made = frames.of(run, round)[-len(steps(round)) :]
    for frame, (visit, at) in zip(made, steps(round), strict=True):
        whole = titles(residual.strip(run, round, visit.node))
        rows, last = frame["rows"], at == len(visit.steps) - 1
        assert 0 <= rows <= len(whole) and (rows == len(whole) or not last)
        if (
            len(residuals(visit).distributions) < residual.RESIDUAL_ROWS
        ):  # else rows in the middle are left out
            so_far = titles(residual.strip(run, round, visit.node, upto=at + 1))
            assert whole[:rows] == so_far[:rows]
            assert last or whole[rows] != (so_far[rows:] or [None])[0]


def test_the_strip_shows_the_rows_that_are_decided():
    for run, round in rounds(MADE):
        check_rows(run, round)


def test_the_strip_shows_the_rows_that_are_decided_with_every_strategy(played):
    for round in played.rounds:
        check_rows(played, round)


# What is sent


@pytest.mark.parametrize(("run", "limit"), [(sample.run(6), 40_000), (MADE[-1], 60_000)])
def test_a_round_stays_small(run, limit):
    assert all(len(messages.dumps(messages.a_round(run, r)).encode()) < limit for r in run.rounds)


def test_a_round_whose_budget_kept_nothing_says_so():
    run = sample.run(1)
    drafted = run.rounds[0]
    proposed = Candidates((-1,), (5, 6), "dp", (-1.0, -1.0))
    bare = replace(drafted, nodes=drafted.nodes[:1], candidates=proposed)
    assert "the budget keeps none of them" in frames._level(run, bare, 0)
    assert "nothing is drafted" in frames._level(run, replace(bare, candidates=None), 0)
