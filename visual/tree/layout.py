"""Where the nodes of a tree go: left to right, each leaf a row, a parent amid its children."""

from collections.abc import Sequence


def place(
    parents: Sequence[int], heights: Sequence[float] | None = None
) -> list[tuple[int, float]]:
    """(depth, row) of each node; `parents[i] < i`, and -1 for the one root.

    Siblings keep their order of appearance. Each leaf takes the next row, a parent sits halfway
    between its first and its last child; so no two nodes share a place and no edges cross.

    Args:
        heights: the height of each node's row, should it be a leaf; 1 by default. A leaf sits in
            the middle of its row, and the first row of height 1 begins at -0.5.

    >>> place([-1, 0, 0, 1, 1])
    [(0, 1.25), (1, 0.5), (1, 2.0), (2, 0.0), (2, 1.0)]
    """
    children: list[list[int]] = [[] for _ in parents]
    depth = [0] * len(parents)
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
            depth[i] = depth[parent] + 1
    row = [0.0] * len(parents)
    top = -0.5
    for i in reversed(_postorder(children)):
        if children[i]:
            row[i] = (row[children[i][0]] + row[children[i][-1]]) / 2
        else:
            height = heights[i] if heights else 1.0
            row[i] = top + height / 2
            top += height
    return list(zip(depth, row, strict=True))


def _postorder(children: list[list[int]]) -> list[int]:
    """The nodes, each before its descendants and last subtrees first: read backwards, children
    come before parents and leaves from top to bottom."""
    order, stack = [], [0] if children else []
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(children[i])
    return order
