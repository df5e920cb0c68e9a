"""The local ranking: by score, the probe right behind the deterministic slots, cut by pruning."""

from dataclasses import replace

import pytest

from tests.visual import by_hand, sample
from visual.browser import messages
from visual.round import ranking

RUN = sample.run(3)
NODES = [(round, i) for round in RUN.rounds for i in range(len(round.nodes))]


def test_children_stand_by_score_and_are_kept_or_pruned_as_in_the_trace():
    for round, node in NODES:
        shown = ranking.table(RUN, round, node)["rows"]
        kept = [n for n in round.nodes if n.parent == node]
        assert len(shown) == len(kept) + len(round.nodes[node].ghosts)
        assert [int(row[0]) for row in shown] == list(range(1, len(shown) + 1))
        scores = [float(row[5]) for row in shown]
        assert scores == sorted(scores, reverse=True)
        told = {int(row[1]): row for row in shown}
        for child in kept:
            assert told[child.slot][3] == child.kind and told[child.slot][6] == "kept"
            assert float(told[child.slot][5]) == pytest.approx(child.score, abs=6e-3)
        for ghost in round.nodes[node].ghosts:
            assert told[ghost.slot][6] == "pruned"


def test_the_cut_parts_kept_from_pruned():
    for round, node in NODES:
        table = ranking.table(RUN, round, node)
        cut = min(n.score for n in round.nodes[1:])
        for row in table["rows"]:
            assert (
                (float(row[5]) >= cut - 6e-3) if row[6] == "kept" else float(row[5]) <= cut + 6e-3
            )
        assert f"{cut:.2f}" in table["note"] or not round.nodes[node].expanded


def test_the_probe_stands_right_behind_the_deterministic_slots():
    ranks = [
        int(row[0])
        for round, node in NODES
        for row in ranking.table(RUN, round, node)["rows"]
        if row[3] == "probe"
    ]
    assert len(ranks) > 20 and set(ranks) == {2}


def test_the_note_says_what_places_the_probe():
    run, round = by_hand.run(), by_hand.run().rounds[0]
    assert ranking.table(run, round, 0)["note"] == (
        "The probe’s proxy is min(q of the last deterministic token, tail mass z) = 0.5, at least "
        "q of every filler: it stands right behind the deterministic slots, whatever token was "
        "drawn; the smallest score that pruning kept in this round is -2.12."
    )
    for params, said in [({"m": 0}, "q of the best token"), ({"strategy": "naive"}, "biases")]:
        other = replace(run, params={**run.params, **params})
        assert said in ranking.table(other, round, 0)["note"]
    assert "No probe" in ranking.table(run, run.rounds[2], 0)["note"]
    assert "not expanded" in ranking.table(run, round, 7)["note"]
    assert (
        "None of its children was kept" in ranking.table(run, run.rounds[1], 3)["note"]
        or (ranking.table(run, run.rounds[1], 3)["rows"])
    )


def test_the_panel_carries_it():
    for node in (0, 5):
        assert messages.panel(RUN, RUN.rounds[0], node)["ranking"] == ranking.table(
            RUN, RUN.rounds[0], node
        )
