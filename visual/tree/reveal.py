"""When each thing of a round shows: the frames that a reader steps through.

Frame 0 is the root alone, frame l adds the draft's level l, the next one drops what was pruned, and
then comes one verdict a frame. Without a draft the first verdict stands in frame 1. While a reader
guesses the verdict of frame f, the picture stands half a frame before it.
"""

from dataclasses import dataclass
from itertools import pairwise

from rheo.trace.schema import Round
from visual.tree.graph import DrawnNode, NodeName

Span = tuple[float, float | None]  # shown in frames from <= frame < until; None: to the end
ALWAYS: Span = (0, None)
PALE, LOOKED_AT, FINAL = range(3)  # how a node stands: drafted, among the walk's choice, decided


@dataclass(frozen=True)
class Moments:
    """The frames of a round."""

    levels: int  # the deepest level of kept draft nodes
    entered: dict[int, float]  # visited node -> half a frame before the first verdict there
    left: dict[int, int]  # visited node -> frame of the last one
    decided: dict[int, int]  # child -> frame of its verdict
    last: int

    @property
    def prune(self) -> int | None:
        """Return the frame that drops the pruned; None where nothing was drafted."""
        return self.levels + 1 if self.levels else None

    def stages(self, name: NodeName, node: DrawnNode) -> list[tuple[int, Span]]:
        """Return how a node of `graph.of` stands, and in which frames.

        A child that the walk did not come to is decided with the last verdict at its parent; the
        root stands in all frames.
        """
        parent, verdict = node["parent"], node["verdict"]
        if verdict == "emit":
            return [(FINAL, (self.left[parent], None))]
        if verdict == "ghost" or parent not in self.entered:
            return [(FINAL, (node["depth"], None))]
        decided = self.decided.get(name, self.left[parent])
        return spans(node["depth"], self.entered[parent], decided)


def spans(*starts: float) -> list[tuple[int, Span]]:
    """Return stages that begin at these frames, each until the next; empty ones are left out.

    >>> spans(1, 4, 6), spans(1, 4, 4)
    ([(0, (1, 4)), (1, (4, 6)), (2, (6, None))], [(0, (1, 4)), (2, (4, None))])
    """
    ends = pairwise([*starts, None])
    return [(stage, (start, end)) for stage, (start, end) in enumerate(ends) if start != end]


def of(round: Round) -> Moments:
    """Return the moments of a round."""
    levels = round.levels
    first = levels + 2 if levels else 1
    count = sum(len(visit.steps) for visit in round.visits)
    last = first + count - 1
    entered, left, decided, at = {}, {}, {}, first
    for visit in round.visits:
        start = min(at, last)
        decided |= {s.child: at + i for i, s in enumerate(visit.steps) if s.child is not None}
        at += len(visit.steps)
        entered[visit.node], left[visit.node] = start - 0.5, max(start, at - 1)
    return Moments(levels, entered, left, decided, last)
