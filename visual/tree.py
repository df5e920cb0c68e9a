"""A round's draft tree as a plotly figure, left to right, like words on ruled lines.

A leaf's token stands right of it, an inner node's above the line that leads to it, so that a label
never meets an edge. Shape and colour tell where a node comes from; line, outline and check or cross
tell the verdict; width grows with the target's p.
"""

import math
from collections import defaultdict
from typing import Any

import networkx as nx
import plotly.graph_objects as go

from rheo.trace import Round, Run
from visual import graph as graphs
from visual import layout, palette, strings, text
from visual.palette import CLEAR, FAINT, INK, MARKS, MUTED

BUS = 0.14  # of a column: where the lines to the children part
CLOSE = 0.6  # the row of a leaf that the walk never came to
ALONE = 2.0  # times as high: the row of an only child
GLYPHS = 10  # a longer label is cut; the hover has all of it
GLYPH = 7.3  # pixels of one
FRAME = 560  # pixels that the tree's frame has at least, but on a phone
WIDTHS = (0.75, 1.5, 2.5)  # pixels, by the root of p
THICK = 3.0  # the accepted path
SIZES = {"root": 11, "deterministic": 8, "probe": 10, "filler": 8, "residual": 12, "bonus": 12}
SIZES["ghost"] = 6
GHOST = palette.Mark("", "circle-open", "○", MUTED)
DIGITS = 4  # significant, of the numbers behind a mark
ROW = ("node", "token", "verdict", "proxy", "true", "p", "accept", "slot")
EDGES = {  # verdict -> (colour, dash)
    "accept": (INK, "solid"),
    "emit": (INK, "solid"),
    "reject": (MUTED, "dash"),
    "unreached": (MUTED, "solid"),
    "unvisited": (FAINT, "solid"),
    "ghost": (FAINT, "dot"),
}
FADED = ("unvisited", "ghost")
Place = tuple[float, float]
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


def figure(run: Run, round: Round, ghosts: bool = False) -> go.Figure:
    """The draft tree of `round` as a plotly figure; see `drawing`."""
    return go.Figure(drawing(run, round, ghosts))


def drawing(run: Run, round: Round, ghosts: bool = False) -> dict[str, Any]:
    """The JSON of `figure`, made without plotly's validation: twenty times faster, so that a live
    run is not held up.

    Traces: "edge VERDICT WIDTH" for the lines; two a kind ("root", "deterministic", "probe",
    "filler", "residual" or "bonus", "ghost"), one of them for nodes the walk never came to, whose
    `customdata` rows are `ROW`; "pruned" where children were pruned and `ghosts` is off; "chosen",
    the ring around the chosen node, which the host moves.
    """
    graph = graphs.of(round, ghosts)
    place = places(graph)
    traces = [
        *_edges(graph, place),
        *_nodes(graph, place, run),
        *([] if ghosts else [_pruned(graph, place, round)]),
        _chosen(place[default_node(round)]),
    ]
    return {"data": traces, "layout": _layout(run, round, place)}


def defaults(name: str) -> dict[str, Any]:
    """What all traces of this name share; on its way to the browser a trace goes without."""
    if name in SIZES:
        return {"type": "scatter", "mode": "markers+text", "hovertemplate": strings.hover(name)}
    mode = "markers" if name == "chosen" else "lines"
    return {"type": "scatter", "mode": mode, "hoverinfo": "skip"}


def _scatter(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, **defaults(name), **attributes}


def places(graph: nx.DiGraph) -> dict[Any, Place]:
    """(depth, row) of each node of the graph.

    Leaves that the walk never came to stand closer; an only child leaves room for the label of its
    parent, which stands on the same row.
    """
    order = list(nx.dfs_preorder_nodes(graph, 0))
    index = {name: i for i, name in enumerate(order)}
    parents = [-1, *(index[graph.nodes[name]["parent"]] for name in order[1:])]
    heights = []
    for name in order:
        only = name != 0 and graph.out_degree(graph.nodes[name]["parent"]) == 1
        height = CLOSE if graph.nodes[name]["verdict"] in FADED else 1.0
        heights.append(height * (ALONE if only else 1.0))
    return dict(zip(order, layout.place(parents, heights), strict=True))


def default_node(round: Round) -> int:
    """The node to look at first: where the walk first met a probe, else the root."""
    for visit in round.visits:
        if visit.steps and visit.steps[0].rule == "probe":
            return visit.node
    return 0


def label(run: Run, round: Round) -> str:
    """The figure in a sentence, for who does not see it."""
    return strings.TREE_LABEL.format(
        round=round.index + 1,
        nodes=len(round.nodes) - 1,
        levels=max(node.depth for node in round.nodes),
        accepted=round.accepted,
        text=" ".join(text.name(run, e.token) for e in round.emitted),
    )


def _edges(graph: nx.DiGraph, place: dict[Any, Place]) -> list[dict[str, Any]]:
    """Lines that leave a parent, part at the bus and run under the child's label."""
    lines: dict[tuple[str, float], list[Place | None]] = defaultdict(list)
    for parent in graph:
        styles = {}
        for child in graph.successors(parent):
            node = graph.nodes[child]
            styles[child] = node["verdict"], _width(node)
            (x0, y0), (x1, y1) = place[parent], place[child]
            lines[styles[child]] += [(x0 + BUS, y0), (x1, y1), None]
        if styles:  # all children share the way to the bus: it looks like the best of them
            (x0, y0), best = place[parent], min(styles.values(), key=_rank)
            lines[best] += [(x0, y0), (x0 + BUS, y0), None]
    return [
        _scatter(
            name=f"edge {verdict} {width}",
            x=[point and _at(point[0]) for point in lines[verdict, width]],
            y=[point and _at(point[1]) for point in lines[verdict, width]],
            line={
                "color": EDGES[verdict][0],
                "dash": EDGES[verdict][1],
                "width": width,
                "shape": "vh",  # along the bus, then along the row
            },
        )
        for verdict, width in sorted(lines, key=_rank, reverse=True)  # the accepted lines on top
    ]


def _rank(style: tuple[str, float]) -> tuple[int, float]:
    return list(EDGES).index(style[0]), -style[1]


def _at(coordinate: float) -> float:
    """A coordinate in as few characters as its place needs."""
    short = round(coordinate, 2)
    return int(short) if short == int(short) else short


def _width(node: dict[str, Any]) -> float:
    if node["verdict"] in ("accept", "emit"):
        return THICK
    share = math.sqrt(node.get("p") or 0.0)
    return WIDTHS[min(int(share * len(WIDTHS)), len(WIDTHS) - 1)]


def _nodes(graph: nx.DiGraph, place: dict[Any, Place], run: Run) -> list[dict[str, Any]]:
    """One trace a kind, and another for its nodes that the walk never came to."""
    groups: dict[tuple[str, bool], list[Any]] = defaultdict(list)
    for name in place:
        node = graph.nodes[name]
        groups[node["kind"], node["verdict"] in FADED].append(name)
    return [
        _marks(kind, faded, names, graph, place, run) for (kind, faded), names in groups.items()
    ]


def _marks(
    kind: str, faded: bool, names: list[Any], graph: nx.DiGraph, place: dict[Any, Place], run: Run
) -> dict[str, Any]:
    nodes = [graph.nodes[name] for name in names]
    mark = MARKS.get(kind, GHOST)
    taken = [2 if node["verdict"] == "accept" else 0 for node in nodes]
    return _scatter(
        name=kind,
        x=[_at(place[name][0]) for name in names],
        y=[_at(place[name][1]) for name in names],
        text=[_label(node, run) for node in nodes],
        textposition=["top left" if graph.out_degree(name) else "middle right" for name in names],
        textfont={"color": MUTED if faded else INK},
        customdata=[_row(name, node, run) for name, node in zip(names, nodes, strict=True)],
        marker={
            "symbol": mark.symbol,
            "size": SIZES[kind],
            "color": mark.colour,
            "opacity": 0.45 if faded else 1.0,
            **({"line": {"color": INK, "width": taken}} if any(taken) else {}),
        },
    )


def _row(name: Any, node: dict[str, Any], run: Run) -> list[Any]:
    """The numbers behind a mark, in the order of `ROW`."""
    shown = text.escape(text.name(run, node["token"]))
    numbers = [_short_number(node.get(key)) for key in ROW[3:7]]
    return [name, shown, node["verdict"], *numbers, node["slot"]]


def _short_number(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _label(node: dict[str, Any], run: Run) -> str:
    """The token with visible whitespace, cut, and the verdict's sign."""
    shown = text.escape(text.name(run, node["token"], GLYPHS))
    sign = {"accept": palette.CHECK, "reject": palette.CROSS}.get(node["verdict"])
    return f"{shown} {sign}" if sign else shown


def _pruned(graph: nx.DiGraph, place: dict[Any, Place], round: Round) -> dict[str, Any]:
    """A dotted tail under the last kept child, for the siblings that pruning dropped."""
    x: list[float | None] = []
    y: list[float | None] = []
    for parent, node in enumerate(round.nodes):
        if node.ghosts:
            last = max(place[child][1] for child in graph.successors(parent))
            x += [place[parent][0] + BUS] * 2 + [None]
            y += [last, last + 0.45, None]
    line = {"color": MUTED, "dash": "dot", "width": 1}
    return _scatter(name="pruned", x=x, y=y, line=line)


def _chosen(at: Place) -> dict[str, Any]:
    return _scatter(
        name="chosen",
        x=[_at(at[0])],
        y=[_at(at[1])],
        marker={"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 1.5}},
    )


def _layout(run: Run, round: Round, place: dict[Any, Place]) -> dict[str, Any]:
    deepest = int(max(x for x, _ in place.values()))
    label = GLYPH * len(text.name(run, round.root, GLYPHS)) + 14  # pixels, left of the root
    left = max(0.4, label * (deepest + 0.65) / (FRAME - label))
    rows = max(y for _, y in place.values())
    return {
        **LAYOUT,
        "uirevision": f"round {round.index}",
        "xaxis": {
            **AXIS,
            "range": [_at(-left), deepest + 0.65],
            "side": "top",
            "tickvals": list(range(deepest + 1)),
            "ticktext": [strings.ROOT, *map(str, range(1, deepest + 1))],
            "tickfont": {"color": MUTED, "size": 11},
        },
        "yaxis": {**AXIS, "range": [_at(rows + 0.6), -1.1], "showticklabels": False},
    }
