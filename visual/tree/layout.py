"""Where the nodes of a tree go: left to right, each leaf a row, a parent amid its children."""

from collections.abc import Hashable, Mapping

import networkx as nx


def place(
    tree: nx.DiGraph, root: Hashable, heights: Mapping[Hashable, float] | None = None
) -> dict[Hashable, tuple[int, float]]:
    """Return (depth, row) of each node of `tree`, in preorder.

    Siblings keep the order of their edges. Each leaf takes the next row, a parent sits halfway
    between its first and its last child; so no two nodes share a place and no edges cross.

    Args:
        heights: the height of each node's row, should it be a leaf; 1 by default. A leaf sits in
            the middle of its row, and the first row of height 1 begins at -0.5.

    >>> place(nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("b", "e")]), "a")
    {'a': (0, 1.25), 'b': (1, 0.5), 'd': (2, 0.0), 'e': (2, 1.0), 'c': (1, 2.0)}
    """
    row: dict[Hashable, float] = {}
    top = -0.5
    for node in nx.dfs_postorder_nodes(tree, root):  # children before parents, leaves downwards
        children = list(tree.successors(node))
        if children:
            row[node] = (row[children[0]] + row[children[-1]]) / 2
        else:
            height = heights[node] if heights else 1.0
            row[node] = top + height / 2
            top += height
    depth = nx.single_source_shortest_path_length(tree, root)
    return {node: (depth[node], row[node]) for node in nx.dfs_preorder_nodes(tree, root)}
