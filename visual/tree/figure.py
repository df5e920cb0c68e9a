"""A round's draft tree as a plotly figure, left to right, like words on ruled lines.

A leaf's token stands right of it, an inner node's above the line that leads to it, so that a label
never meets an edge. Nothing moves while a reader steps: every trace stands where it stands at the
end, and shows in its own frames (`reveal`).
"""

import networkx as nx

from rheo.counting import counted
from rheo.trace.schema import Round, Run
from visual.style import palette
from visual.style.palette import CLEAR, INK, MUTED
from visual.style.plotly_base import Drawn
from visual.tree import edges, graph, layout, nodes, reveal
from visual.tree.edges import BUS
from visual.tree.graph import NodeName
from visual.tree.nodes import FADED, GLYPHS
from visual.tree.reveal import Moments
from visual.tree.traces import CHOSEN, Place, scatter, short
from visual.words import labels, measures, sentences

CLOSE = 0.6  # the row of a leaf that the walk never came to
ALONE = 2.0  # times as high: the row of an only child
_GLYPH = 7.3  # pixels of one glyph of a label
FRAME = 560  # pixels that the tree's frame has at least, but on a phone
AXIS = {"showgrid": False, "zeroline": False, "showline": False}
LAYOUT = {  # of every round
    "template": {},
    "showlegend": False,
    "paper_bgcolor": CLEAR,
    "plot_bgcolor": CLEAR,
    "font": {"family": palette.MONO, "color": INK, "size": 12},
    "margin": {"l": 8, "r": 8, "t": 22, "b": 4},
    "hovermode": "closest",
    "hoverlabel": {"align": "left"},
    "dragmode": "pan",
}


def drawing(run: Run, round: Round, ghosts: bool = False) -> Drawn:
    """Return the draft tree of `round` as plotly's JSON.

    It is made without plotly's validation, twenty times faster, so that a live run is not held up.

    Traces: "edge VERDICT WIDTH" for the lines; one or more a kind ("root", "deterministic",
    "probe", "filler", "residual" or "bonus", "ghost") for the nodes as they end, whose `customdata`
    rows are `nodes.ROW`; "waiting" for children before their verdict; "pruned" where children were
    pruned and `ghosts` is off; "chosen", the ring around the node to look at first.

    A trace that does not stand in all frames has the `meta` [from, until): frame numbers of
    `reveal`, until None to the end. What stands in the last frame is opaque.
    """
    return drawn(run, round, graph.of(round, ghosts), reveal.of(round), ghosts)


def drawn(run: Run, round: Round, shown: nx.DiGraph, when: Moments, ghosts: bool = False) -> Drawn:
    """Return a graph of a round, the whole one or a part of it, as `drawing` does."""
    place = places(shown)
    traces = [
        *edges.traces(shown, place, when),
        *nodes.traces(shown, place, when, run),
        *([] if ghosts else _pruned(shown, place, round, when)),
        *([_chosen(place[default_node(round)])] if default_node(round) in place else []),
    ]
    return {"data": traces, "layout": _layout(run, round, place)}


def places(shown: nx.DiGraph) -> dict[NodeName, Place]:
    """Return (depth, row) of each node of the graph, which is a tree.

    Leaves that the walk never came to stand closer; an only child leaves room for the label of its
    parent, which stands on the same row.
    """
    heights = {}
    for name, node in shown.nodes.items():
        above = node["parent"]
        only = above in shown and shown.out_degree(above) == 1
        heights[name] = (CLOSE if node["verdict"] in FADED else 1.0) * (ALONE if only else 1.0)
    top = next(name for name in shown if not shown.in_degree(name))
    level = shown.nodes[top]["depth"]
    at = layout.place(shown, top, heights)
    return {name: (depth + level, row) for name, (depth, row) in at.items()}


def default_node(round: Round) -> int:
    """Return the node to look at first: where the walk first met a probe, else the root."""
    for visit in round.visits:
        if visit.steps and visit.steps[0].rule == "probe":
            return visit.node
    return 0


def label(run: Run, round: Round) -> str:
    """Return the figure in a sentence, for who does not see it."""
    return labels.TREE_LABEL.format(
        round=round.index + 1,
        nodes=counted(len(round.nodes) - 1, measures.COUNTS["draft node"]),
        levels=counted(round.levels, measures.COUNTS["level"]),
    )


def outcome(run: Run, round: Round) -> str:
    """Return how the round ended, which follows its label once the reader has come to its end."""
    return labels.TREE_OUTCOME.format(
        accepted=round.accepted,
        text=" ".join(sentences.name(run, e.token) for e in round.emitted),
    )


def _pruned(
    shown: nx.DiGraph, place: dict[NodeName, Place], round: Round, when: Moments
) -> list[Drawn]:
    """Return a dotted tail under the last kept child, for the siblings that pruning dropped."""
    x: list[float | None] = []
    y: list[float | None] = []
    for parent, node in enumerate(round.nodes):
        if node.ghosts and parent in place and shown.out_degree(parent):
            last = max(place[child][1] for child in shown.successors(parent))
            x += [place[parent][0] + BUS] * 2 + [None]
            y += [last, last + 0.45, None]
    if when.prune is None:
        return []
    line = {"color": MUTED, "dash": "dot", "width": 1}
    return [scatter("pruned", (when.prune, None), x=x, y=y, line=line)]


def _chosen(at: Place) -> Drawn:
    return scatter(CHOSEN, x=[short(at[0])], y=[short(at[1])])


def _layout(run: Run, round: Round, place: dict[NodeName, Place]) -> Drawn:
    first, deepest = (int(f(x for x, _ in place.values())) for f in (min, max))
    label = _GLYPH * len(sentences.name(run, round.root, GLYPHS)) + 14  # pixels, left of the root
    left = max(0.4, label * (deepest - first + 0.65) / (FRAME - label))
    rows = max(y for _, y in place.values())
    return {
        **LAYOUT,
        "uirevision": f"round {round.index}",
        "xaxis": {
            **AXIS,
            "range": [short(first - left), deepest + 0.65],
            "side": "top",
            "tickvals": list(range(first, deepest + 1)),
            "ticktext": [_level(d, d <= max(first, 1)) for d in range(first, deepest + 1)],
            "tickfont": {"color": MUTED, "size": 11},
        },
        "yaxis": {**AXIS, "range": [short(rows + 0.6), -1.1], "showticklabels": False},
    }


def _level(depth: int, named: bool) -> str:
    """Return what stands above a column: the first level says that the numbers are levels."""
    if depth == 0:
        return labels.ROOT
    return labels.LEVEL_TICK.format(depth=depth) if named else str(depth)
