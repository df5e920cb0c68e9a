"""The common frame of the small figures: clear ground, fixed margins, no axis but by request.

They are plotly's JSON as plain Python. The plotly package draws nothing here: its script is the
browser's, and its validation, which takes ten times as long as the figure, is left to the tests
(every figure must pass `plotly.graph_objects.Figure`, which refuses what plotly does not know).

Fixed margins make the plots of a panel line up, and nothing jumps when another node is chosen.
Every colour stands alone in its attribute, never inside a text, so that a theme can swap it.
"""

from collections.abc import Iterable
from typing import Any

from visual.style.palette import CLEAR, FAINT, INK, MONO, MUTED, SANS

HIGHEST = 220  # pixels of the highest figure
_LEFT, _RIGHT, _TOP = 116, 104, 26  # margins: row labels, two columns of numbers, the legend
_MARGIN = {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": 6}
GLYPH = 6.6  # pixels of a monospaced glyph at 11 pixels
HIDDEN_AXIS = {"visible": False, "fixedrange": True}

Words = Iterable[tuple[str, str]]  # (text, colour)
Drawn = dict[str, Any]  # plotly's JSON of a figure or of a part of one


def figure(traces: list[Drawn], height: int, legend: Words = (), **layout: Any) -> Drawn:
    """Return traces in the frame; `layout` overrides it, its annotations stand beside the legend.

    `uirevision` is constant, so that a redraw does not move what a reader moved.
    """
    margin = layout.pop("margin", _MARGIN)
    notes = [*_legend(legend, margin), *layout.pop("annotations", [])]
    frame = {
        "template": {},
        "height": height,
        "showlegend": False,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": MONO, "color": INK, "size": 11},
        "margin": margin,
        "annotations": notes,
        "barmode": "overlay",
        "dragmode": False,
        "hoverlabel": {"align": "left", "font": {"family": MONO}},
        "uirevision": "constant",
        "xaxis": HIDDEN_AXIS,
        "yaxis": HIDDEN_AXIS,
    }
    return {"data": traces, "layout": {**frame, **layout}}


def _legend(words: Words, margin: dict[str, int]) -> list[Drawn]:
    """Return words in a row at the top left, each in the colour of its mark."""
    notes, at = [], 8.0
    for text, colour in words:
        place = {"xref": "paper", "yref": "paper", "xshift": at - margin["l"]}
        place["yshift"] = margin["t"] - 4
        notes.append(
            note(text, 0, 1, **place, yanchor="top", font={"color": colour, "family": SANS})
        )
        at += GLYPH * (len(text) + 2)
    return notes


def note(text: str, x: float, y: float, **more: Any) -> Drawn:
    """Return a small text at a place of the plot, no arrow."""
    look = {"size": 11, "color": MUTED, **more.pop("font", {})}
    plain = {"text": text, "x": x, "y": y, "showarrow": False, "font": look, "borderpad": 0}
    return {**plain, "xanchor": "left", "yanchor": "middle", "align": "left", **more}


def left(text: str, row: float, indent: float, colour: str) -> Drawn:
    """Return a text in the left margin, `indent` pixels from the edge."""
    return note(text, 0, row, xref="paper", xshift=indent - _LEFT, font={"color": colour})


def column(text: str, row: float, place: int, colour: str = MUTED) -> Drawn:
    """Return a text in column 0 or 1 of the right margin, right-aligned."""
    shift = {"xref": "paper", "xshift": 48 + 48 * place, "xanchor": "right"}
    return note(text, 1, row, **shift, font={"color": colour})


def rows(count: int) -> Drawn:
    """Return a y axis of rows 0, 1, ... from the top, room for column heads above them."""
    return {**HIDDEN_AXIS, "range": [count - 0.4, -1.5]}


def rule(x: float, count: int) -> Drawn:
    """Return a thin vertical line through `count` rows; it ends below their heads."""
    line = {"color": FAINT, "width": 1}
    ends = {"x0": x, "x1": x, "y0": -0.6, "y1": count - 0.4}
    return {"type": "line", "layer": "below", "line": line, **ends}


def cell(x: float) -> str:
    """Return a probability for a column: three decimals, more only where they would all be 0.

    >>> cell(0.0627), cell(0.0), cell(1.0), cell(0.00004)
    ('0.063', '0', '1', '4e-05')
    """
    if x in (0.0, 1.0):
        return str(int(x))
    return f"{x:.3f}" if x >= 0.0005 else f"{x:.0e}"
