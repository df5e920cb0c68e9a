"""The marks of the draft tree's nodes.

Shape and colour tell where a node comes from; label, outline, check and cross tell the verdict.
"""

from collections import defaultdict
from typing import Any

import networkx as nx

from rheo.trace.schema import Run
from visual.style import palette
from visual.style.palette import INK, MARKS, MUTED
from visual.style.plotly_base import Drawn
from visual.tree.graph import DrawnNode, NodeName
from visual.tree.reveal import FINAL, PALE, Moments, Span
from visual.tree.traces import GHOST, SIZES, WAITING_MARK, Place, scatter, short
from visual.words import sentences

GLYPHS = 10  # a longer label is cut; the hover has all of it
_DIGITS = 4  # significant, of the numbers behind a mark
ROW = ("node", "token", "verdict", "proxy", "true", "p", "accept", "slot")
FADED = ("unvisited", "ghost")
PALENESS = 0.45


def traces(graph: nx.DiGraph, place: dict[NodeName, Place], when: Moments, run: Run) -> list[Drawn]:
    """Return marks as they end, by kind, each node in one of them, and "waiting" ones before."""
    groups: dict[tuple[str, bool, Span], list[NodeName]] = defaultdict(list)
    for name in place:
        node = graph.nodes[name]
        for stage, span in when.stages(name, node):
            kind = node["kind"] if stage == FINAL else WAITING_MARK
            pale = node["verdict"] in FADED if stage == FINAL else stage == PALE
            groups[kind, pale, span].append(name)
    made = []
    for (kind, pale, span), names in groups.items():
        nodes = [graph.nodes[name] for name in names]
        look = _waiting(nodes, run) if kind == WAITING_MARK else _final(kind, names, nodes, run)
        look["marker"] |= {"opacity": PALENESS if pale else 1.0}
        made.append(
            scatter(
                kind,
                span,
                x=[short(place[name][0]) for name in names],
                y=[short(place[name][1]) for name in names],
                textposition=_same(
                    ["top left" if graph.out_degree(name) else "middle right" for name in names]
                ),
                textfont={"color": MUTED if pale else INK},
                **look,
            )
        )
    return made


def _final(kind: str, names: list[NodeName], nodes: list[DrawnNode], run: Run) -> Drawn:
    mark = MARKS.get(kind, GHOST)
    taken = [2 if node["verdict"] == "accept" else 0 for node in nodes]
    return {
        "text": [_label(node, run) for node in nodes],
        "customdata": [_row(name, node, run) for name, node in zip(names, nodes, strict=True)],
        "marker": {
            "symbol": mark.symbol,
            "size": SIZES[kind],
            "color": mark.colour,
            **({"line": {"color": INK, "width": taken}} if any(taken) else {}),
        },
    }


def _waiting(nodes: list[DrawnNode], run: Run) -> Drawn:
    """Return undecided children: they show token and kind alone, and none can be chosen."""
    marks = [MARKS[node["kind"]] for node in nodes]
    return {
        "text": [sentences.escape(sentences.name(run, node["token"], GLYPHS)) for node in nodes],
        "hovertext": [
            f"<b>{sentences.escape(sentences.name(run, n['token']))}</b>  {n['kind']}"
            for n in nodes
        ],
        "marker": {
            "symbol": _same([mark.symbol for mark in marks]),
            "size": _same([SIZES[node["kind"]] for node in nodes]),
            "color": _same([mark.colour for mark in marks]),
        },
    }


def _same(values: list[Any]) -> Any:
    """Return one value where all are the same."""
    return values[0] if len(set(values)) == 1 else values


def _row(name: NodeName, node: DrawnNode, run: Run) -> list[Any]:
    """Return the numbers behind a mark, in the order of `ROW`."""
    shown = sentences.escape(sentences.name(run, node["token"]))
    numbers = [_short_number(node.get(key)) for key in ROW[3:7]]
    return [name, shown, node["verdict"], *numbers, node["slot"]]


def _short_number(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _label(node: DrawnNode, run: Run) -> str:
    """Return the token with visible whitespace, cut, and the verdict's sign."""
    shown = sentences.escape(sentences.name(run, node["token"], GLYPHS))
    sign = {"accept": palette.CHECK, "reject": palette.CROSS}.get(node["verdict"])
    return f"{shown} {sign}" if sign else shown
