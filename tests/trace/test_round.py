"""What a round answers of its own tree, against a look at every node and against networkx."""

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
