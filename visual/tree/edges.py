"""The draft tree's lines: colour and dash tell the verdict, width grows with the target's p."""

import math
from collections import defaultdict
from typing import NamedTuple

import networkx as nx

from visual.style.palette import FAINT, INK, MUTED
from visual.style.plotly_base import Drawn
from visual.tree.graph import DrawnNode, NodeName
from visual.tree.reveal import FINAL, LOOKED_AT, PALE, Moments, Span, spans
from visual.tree.traces import Place, scatter, short

BUS = 0.14  # of a column: where the lines to the children part
WIDTHS = (0.75, 1.5, 2.5)  # pixels, by the root of p
_THICK = 3.0  # the accepted path
_LINES = {  # verdict -> (colour, dash), the one that stands out most first
    "accept": (INK, "solid"),
    "emit": (INK, "solid"),
    "reject": (MUTED, "dash"),
    "unreached": (MUTED, "solid"),
    "unvisited": (FAINT, "solid"),
    "ghost": (FAINT, "dot"),
}
UNDECIDED = {PALE: "unvisited", LOOKED_AT: "unreached"}


class Style(NamedTuple):
    """How a line looks."""

    verdict: str
    width: float


def traces(graph: nx.DiGraph, place: dict[NodeName, Place], when: Moments) -> list[Drawn]:
    """Return lines that leave a parent, part at the bus and run under the child's label."""
    paths: dict[tuple[Style, Span], list[Place | None]] = defaultdict(list)
    for parent in graph:
        children = list(graph.successors(parent))
        x0, y0 = place[parent]
        for child in children:
            node = graph.nodes[child]
            for stage, span in when.stages(child, node):
                paths[_style(node, stage), span] += [(x0 + BUS, y0), place[child], None]
        nodes = [graph.nodes[child] for child in children]
        for style, span in _bus(parent, nodes, when):
            paths[style, span] += [(x0, y0), (x0 + BUS, y0), None]
    return [
        scatter(
            f"edge {style.verdict} {style.width}",
            span,
            x=[point and short(point[0]) for point in paths[style, span]],
            y=[point and short(point[1]) for point in paths[style, span]],
            line={
                "color": _LINES[style.verdict][0],
                "dash": _LINES[style.verdict][1],
                "width": style.width,
                "shape": "vh",  # along the bus, then along the row
            },
        )
        # the accepted lines on top
        for style, span in sorted(paths, key=lambda key: (_rank(key[0]), key[1][0]), reverse=True)
    ]


def _bus(parent: NodeName, children: list[DrawnNode], when: Moments) -> list[tuple[Style, Span]]:
    """Return the way that all children share: it looks like the best of them."""
    drafted = [node for node in children if node["verdict"] != "emit"]
    if not children:
        return []
    if parent not in when.entered:
        stages = [(FINAL, (drafted[0]["depth"], None))]
    elif drafted:
        stages = spans(drafted[0]["depth"], when.entered[parent], when.left[parent])
    else:
        stages = [(FINAL, (when.left[parent], None))]
    families = {FINAL: children, PALE: drafted, LOOKED_AT: drafted}
    return [
        (min((_style(node, stage) for node in families[stage]), key=_rank), span)
        for stage, span in stages
    ]


def _rank(style: Style) -> tuple[int, float]:
    return list(_LINES).index(style.verdict), -style.width


def _style(node: DrawnNode, stage: int) -> Style:
    verdict = node["verdict"]
    if stage != FINAL and verdict != "ghost":
        verdict = UNDECIDED[stage]
    if verdict in ("accept", "emit"):
        return Style(verdict, _THICK)
    share = math.sqrt(node.get("p") or 0.0)
    return Style(verdict, WIDTHS[min(int(share * len(WIDTHS)), len(WIDTHS) - 1)])
