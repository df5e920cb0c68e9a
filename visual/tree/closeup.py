"""The part of a tree that the walk looks at, for a projector: a few nodes, each with its label.

A round has a close-up for each visit of its walk. It shows the node visited with its kept children,
the last nodes of the path to it and, where there is room, the siblings that were rejected there.
It appears with the first verdict at its node and shows nothing of later ones.
"""

import networkx as nx

from rheo.json_object import JsonObject
from rheo.trace.schema import Round, Run, Visit
from visual.tree import figure, graph, reveal
from visual.tree.graph import NodeName

PATH = 3  # nodes of the path in sight, the one visited among them
CLOSEUP_ROWS = 11  # of a close-up; more only where a node has more children


def drawings(run: Run, round: Round) -> list[JsonObject]:
    """Return [{"from": frame, "tree": plotly's JSON, None for the whole tree}, ...] by frame.

    The draft's levels below the first and pruning are seen in the whole tree.
    """
    when, whole = reveal.of(round), graph.of(round)
    made: list[JsonObject] = []
    for at, visit in enumerate(round.visits):
        shown = nx.DiGraph(whole.subgraph(names(round, at)))
        shown.remove_edges_from(list(shown.edges))
        shown.add_edges_from(edge for edge in whole.edges if set(edge) <= set(shown))
        tree = figure.drawn(run, round, shown, when)
        if not made:
            made.append({"from": 0, "tree": tree})
            if when.levels > 1:
                made.append({"from": 2, "tree": None})
        made.append({"from": when.entered[visit.node], "tree": tree})
    return made


def names(round: Round, at: int) -> set[NodeName]:
    """Return the nodes in the close-up of the visit number `at`."""
    visit = round.visits[at]
    path = [0, *round.path(visit.node)][-PATH:]
    shown: set[NodeName] = {*path, *round.rows_below(visit.node)}
    if at == len(round.visits) - 1:
        shown.add("emit")
    room = CLOSEUP_ROWS - len(shown) + len(path)
    for earlier in reversed(round.visits[:at]):
        if earlier.node in path:
            lost = _rejected(earlier)[: max(room, 0)]
            shown.update(lost)
            room -= len(lost)
    return shown


def _rejected(visit: Visit) -> list[int]:
    return [s.child for s in visit.steps if s.child is not None and s.verdict == "reject"]
