"""Close-ups: what the walk looks at is in them, and nothing that it has not come to."""

import pytest

from tests.visual import sample
from visual.tree import closeup, graph, reveal

RUN = sample.run(rounds=6)
ROUNDS = pytest.mark.parametrize("round", RUN.rounds, ids=lambda r: f"round {r.index}")


def marked(tree):
    return {row[0] for trace in tree["data"] for row in trace.get("customdata", ())}


@ROUNDS
def test_every_verdict_is_about_a_node_in_its_close_up(round):
    parts, when = closeup.drawings(RUN, round), reveal.of(round)
    frame = when.levels + 2 if when.levels else 1
    for visit in round.visits:
        for step in visit.steps:
            part = [p for p in parts if p["from"] <= frame - 0.5][-1]
            shown = marked(part["tree"])
            assert visit.node in shown and (step.child is None or step.child in shown)
            frame += 1


@ROUNDS
def test_a_close_up_has_few_nodes_and_none_that_comes_later(round):
    for at, visit in enumerate(round.visits):
        shown = closeup.names(round, at)
        own = set(round.rows_below(visit.node))
        assert own <= shown
        assert len(shown) <= max(closeup.CLOSEUP_ROWS, len(own) + 1) + closeup.PATH
        later = {v.node for v in round.visits[at + 1 :]}
        below = {i for v in round.visits[at + 1 :] for i in round.rows_below(v.node)}
        assert not shown & (below - own) and later & shown <= own
        tree = graph.of(round).subgraph(shown)
        assert [name for name in tree if not tree.in_degree(name)] == [min(shown, key=_order)]


def _order(name):
    return name if isinstance(name, int) else 10**9


def test_the_drafts_levels_are_seen_in_the_whole_tree():
    parts = closeup.drawings(RUN, RUN.rounds[0])
    assert [part["from"] for part in parts[:2]] == [0, 2]
    assert parts[0]["tree"] and parts[1]["tree"] is None
