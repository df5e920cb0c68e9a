"""A node's fate against the trace: every node of the gallery and of each strategy.

The fate is told again from the trace alone, and every number of its sentence is looked up there.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rheo.trace.io import load
from tests.visual import by_hand
from tests.visual.played import CASES, every, play
from visual.round import fates
from visual.words import sentences, verdicts

TRACES = Path(__file__).parents[3] / "assets" / "traces"
GALLERY = sorted(path.name for path in TRACES.glob("*.json.gz"))
NUMBER = r"\d+(?:\.\d+)?(?:e-\d+)?"


def verdict_steps(round):
    return [step for visit in round.visits for step in visit.steps]


def told(round, node):
    """(name, the verdict that settles it, the step that it speaks of) by the trace alone."""
    steps = verdict_steps(round)
    at = {step.child: i for i, step in enumerate(steps) if step.child is not None}
    came = {visit.node for visit in round.visits}
    if node == 0:
        return "root", 0, None
    way = [node]
    while round.nodes[way[0]].parent:
        way.insert(0, round.nodes[way[0]].parent)
    here = next(i for i in way if i not in came or i == node)  # where the way leaves the walk
    if here in at:
        step = steps[at[here]]
        if here != node:
            return "behind a rejected one", at[here] + 1, step
        mass = step.rule == "probe" or step.high > step.low
        kind = "probe" if step.rule == "probe" else "point"
        verdict = {"accept": "accepted", "reject": "rejected"}[step.verdict]
        return (f"{kind} {verdict}" if mass else "no mass"), at[here] + 1, step
    parent = round.nodes[here].parent
    taken = [i for i in came if i and round.nodes[i].parent == parent]
    end = f"{'behind' if here != node else 'after'} the end"
    if not taken:
        return end, len(steps), None
    name = "passed over" if here == node else "behind one passed over"
    return name, at[taken[0]] + 1, steps[at[taken[0]]]


def numbers_of(round, node, name, step):
    """Every number that the sentence may hold."""
    if name == "root" or step is None:
        return []
    if name in ("passed over", "behind one passed over"):
        return [round.nodes[node].accept]
    if step.rule == "probe":
        return [step.uniform, step.p, step.q_tilde, step.ratio, 1.0, left_by(round, step)]
    return [step.low, step.high, step.share, step.uniform, step.high - step.low, 0.0]


def left_by(round, last):
    """What is left of the distribution before a probe, once it and those before it are rejected."""
    visit = next(visit for visit in round.visits if last in visit.steps)
    outside = sum(visit.outside_p) + visit.rest
    r, probes = [*visit.p, outside], iter(visit.q_tilde)
    for step in visit.steps:
        if step.rule == "probe":
            r = [max(0.0, a - b) for a, b in zip(r, [*next(probes), 0.0], strict=True)]
        else:
            r[visit.ids.index(step.token)] = 0.0  # a child that is tested before the probe
        left = sum(r)
        if step is last:
            return left
        r = [x / left for x in r]
    raise AssertionError("no such step")


def wrong(run, round):
    """Nodes whose fate is not what the trace says, with the sentence."""
    found = []
    for node in range(len(round.nodes)):
        name, decided, step = told(round, node)
        fate = fates.of(run, round, node)
        text = fate.sentence
        for token in {round.nodes[node].token, *(n.token for n in round.nodes)}:
            text = text.replace(sentences.word(run, token), "·")
        said = [float(x) for x in re.findall(rf"(?<![\w₁₂+]){NUMBER}", text.replace("T = 0", ""))]
        known = numbers_of(round, node, name, step)
        right = all(any(abs(x - y) <= 0.006 * max(y, 1e-9) for y in known) for x in said)
        if (fate.name, fate.decided) != (name, decided) or not right:
            found.append((node, name, fate, said, known))
    return found


@pytest.mark.parametrize("name", GALLERY)
def test_every_node_of_the_gallery_is_told_as_the_trace_has_it(name):
    run = load(TRACES / name)
    assert [found for round in run.rounds for found in wrong(run, round)] == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_node_of_every_strategy_is_told_as_the_trace_has_it(case):
    for run in every(play(*case)):
        assert [found for round in run.rounds for found in wrong(run, round)] == []


def told_of_pruned(round, parent, ghost):
    """Name, rank and count by the trace alone."""
    if round.candidates is None:
        return "pruned, rank unknown", []
    ranks = sorted(range(len(round.candidates.scores)), key=lambda i: -round.candidates.scores[i])
    K = len(round.candidates.tokens) // len(round.candidates.expanded)
    way, place = round.path(parent), -1
    for step in way:
        place = round.candidates.expanded.index(place) * K + round.nodes[step].slot
    mine = round.candidates.expanded.index(place) * K + ghost.slot
    assert round.candidates.tokens[mine] == ghost.token
    assert ranks.index(mine) >= len(round.nodes) - 1  # else it would have been kept
    return "pruned", [ranks.index(mine) + 1, len(ranks)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_pruned_child_is_told_as_the_trace_has_it(case):
    for run in (play(*case), by_hand.run()):
        for round in run.rounds:
            for parent, node in enumerate(round.nodes):
                for ghost in node.ghosts:
                    fate, (name, places) = (
                        fates.of_pruned(round, parent, ghost),
                        told_of_pruned(round, parent, ghost),
                    )
                    assert (fate.name, fate.decided) == (name, 0)
                    said = list(map(int, re.findall(r"(?<![-.\d])\d+(?![.\d])", fate.sentence)))
                    assert said == [*places, len(round.nodes) - 1]


def test_every_fate_occurs_and_has_its_own_words():
    runs = [load(TRACES / "first.json.gz"), by_hand.run(), by_hand.rrsw(), ended()]
    told = {
        fate.name: fate.sentence
        for run in runs
        for round in run.rounds
        for fate in (fates.of(run, round, node) for node in range(len(round.nodes)))
    }
    pruned = {"pruned", "pruned, rank unknown"}
    assert set(told) == set(verdicts.FATES) - pruned
    assert len(set(told.values())) == len(told)


def ended():
    """A run whose walk ends at the root before any child is tested."""
    run = by_hand.run()
    round = run.rounds[0]
    nothing = replace(round.visits[0], steps=())
    return replace(run, rounds=(replace(round, visits=(nothing,)),))


def test_an_accepted_token_behind_the_end_of_the_text_was_not_emitted():
    run = by_hand.run()
    round = run.rounds[1]  # two draft tokens are accepted
    cut = replace(round, emitted=round.emitted[:1])
    first, second = (step.child for step in verdict_steps(round) if step.verdict == "accept")
    assert fates.of(run, cut, second).sentence.endswith(verdicts.FATE_CUT)
    assert not fates.of(run, cut, first).sentence.endswith(verdicts.FATE_CUT)


def test_a_number_that_is_not_the_nodes_own_is_noticed(monkeypatch):
    run = load(TRACES / "first.json.gz")
    planted = verdicts.FATES["probe rejected"].replace("{ratio}", "{u}")
    monkeypatch.setitem(verdicts.FATES, "probe rejected", planted.replace("{u}", "0.4321"))
    assert wrong(run, run.rounds[0])
