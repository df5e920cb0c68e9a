"""The layout against a brute-force look at every pair of edges, on random trees."""

from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visual.tree import layout

PARENTS = st.lists(st.integers(0, 10**6), max_size=70).map(
    lambda draws: [-1, *(draw % (i + 1) for i, draw in enumerate(draws))]
)
HEIGHTS = st.lists(st.sampled_from([0.6, 1.0, 2.0]), min_size=71, max_size=71)


def children(parents):
    family = {i: [] for i in range(len(parents))}
    for child, parent in enumerate(parents[1:], start=1):
        family[parent].append(child)
    return family


def place(parents, heights=None):
    """The places by node of the tree in which node i hangs below parents[i]."""
    tree = nx.DiGraph([(parent, child) for child, parent in enumerate(parents) if parent >= 0])
    tree.add_node(0)
    places = layout.place(tree, 0, heights and dict(enumerate(heights)))
    return [places[i] for i in range(len(parents))]


def crossings(parents, places):
    """Pairs of edges that cross: both leave the same column and swap sides on the way."""
    edges = [(places[parent], places[i]) for i, parent in enumerate(parents) if parent >= 0]
    return [
        (a, b)
        for a, b in combinations(edges, 2)
        if a[0][0] == b[0][0] and (a[0][1] - b[0][1]) * (a[1][1] - b[1][1]) < 0
    ]


def trespasses(parents, places):
    """Parents of one column whose vertical lines, first child to last, share a row."""
    spans = [
        (places[i][0], *sorted((places[c[0]][1], places[c[-1]][1])))
        for i, c in children(parents).items()
        if c
    ]
    return [
        (a, b) for a, b in combinations(spans, 2) if a[0] == b[0] and a[1] <= b[2] and b[1] <= a[2]
    ]


@given(PARENTS, HEIGHTS)
def test_no_two_nodes_overlap_and_no_two_edges_cross(parents, heights):
    places = place(parents, heights[: len(parents)])
    assert len(set(places)) == len(parents)
    assert not crossings(parents, places)
    assert not trespasses(parents, places)


@given(PARENTS)
def test_a_parent_stands_amid_its_children_and_a_leaf_on_a_row_of_its_own(parents):
    places = place(parents)
    family = children(parents)
    for i, parent in enumerate(parents):
        assert places[i][0] == (places[parent][0] + 1 if parent >= 0 else 0)
        if family[i]:
            first, last = places[family[i][0]][1], places[family[i][-1]][1]
            assert places[i][1] == pytest.approx((first + last) / 2)
    leaves = sorted(places[i][1] for i, kin in family.items() if not kin)
    assert leaves == list(range(len(leaves)))


@given(PARENTS, HEIGHTS)
def test_rows_are_as_high_as_asked(parents, heights):
    heights = heights[: len(parents)]
    places, family = place(parents, heights), children(parents)
    leaves = sorted((i for i, kin in family.items() if not kin), key=lambda i: places[i][1])
    for a, b in pairwise(leaves):
        assert places[b][1] - places[a][1] == pytest.approx((heights[a] + heights[b]) / 2)


def test_crossings_are_noticed():
    parents = [-1, 0, 0, 1, 2]
    swapped = [(0, 0.5), (1, 0), (1, 1), (2, 1), (2, 0)]
    assert crossings(parents, swapped)
    assert trespasses(
        [-1, 0, 0, 1, 1, 2, 2],
        [(0, 0), (1, 0), (1, 1), (2, 0), (2, 2), (2, 1), (2, 3)],
    )


def test_siblings_keep_their_order():
    rows = [row for _, row in place([-1, 0, 0, 0, 0])][1:]
    assert rows == sorted(rows)
