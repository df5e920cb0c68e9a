"""What a round answers of its own tree, against a look at every node and against networkx."""

from dataclasses import replace

import networkx as nx
import pytest

from tests.visual import by_hand, sample

ROUNDS = [round for run in (by_hand.run(), by_hand.rrsw(), sample.run(3)) for round in run.rounds]


def test_the_tree_by_hand():
    round = by_hand.run().rounds[0]
    assert round.rows_below(0) == [1, 2, 3] and round.rows_below(3) == [7]
    assert [child.kind for child in round.children(1)] == ["deterministic", "probe"]
    assert round.levels == 2 and round.rows_at(1) == [1, 2, 3]
    assert round.path(5) == [1, 5] and round.path(0) == []
    assert not round.is_leaf(3) and round.is_leaf(7)
    assert list(round.visited) == [0, 3] and round.visit_of(1) is None
    assert round.visit_of(3) is round.visits[1]


def test_a_tree_in_another_order_is_answered_all_the_same():
    """The engine writes nodes by level and slot; a file may hold them otherwise."""
    round = by_hand.run().rounds[0]
    root, first, second, third = round.nodes[:4]
    below = replace(round.nodes[7], parent=1)
    moved = replace(round, nodes=(root, third, below, second, first))
    assert [child.slot for child in moved.children(0)] == [0, 1, 2]
    assert moved.rows_below(0) == [4, 3, 1] and moved.levels == 2 and moved.rows_at(2) == [2]


@pytest.mark.parametrize("round", ROUNDS)
def test_every_answer_is_that_of_the_graph(round):
    tree = nx.DiGraph((node.parent, i) for i, node in enumerate(round.nodes) if i)
    tree.add_node(0)
    depth = nx.single_source_shortest_path_length(tree, 0)
    assert round.levels == max(depth.values())
    for i, node in enumerate(round.nodes):
        assert set(round.rows_below(i)) == set(tree.successors(i))
        assert [child.slot for child in round.children(i)] == sorted(
            round.nodes[j].slot for j in tree.successors(i)
        )
        assert round.is_leaf(i) == (tree.out_degree(i) == 0)
        assert round.path(i) == nx.shortest_path(tree, 0, i)[1:]
        assert i in round.rows_at(depth[i]) and depth[i] == node.depth
        assert (round.visit_of(i) is None) == (i not in {visit.node for visit in round.visits})


def test_a_runs_sums():
    """tau counts what a round counts, which an accepted EOS makes one less than accepted + 1."""
    run = by_hand.run()
    at_eos = replace(run.rounds[0], counted=run.rounds[0].accepted)
    two = replace(run, rounds=(run.rounds[0], at_eos))
    assert two.tau == run.rounds[0].accepted + 0.5
    assert two.emissions() == [run.first, *run.rounds[0].emitted * 2]
    kinds = [emission.origin for emission in run.rounds[0].emitted]
    for kind, count in two.accepted_by_kind().items():
        assert count == 2 * kinds.count(kind)
    assert sum(two.accepted_by_kind().values()) == 2 * run.rounds[0].accepted > 0
    assert replace(run, rounds=()).tau is None
