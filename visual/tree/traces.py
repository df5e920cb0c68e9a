"""One trace of the tree as plotly's JSON: what all of a name share, its place and its frames."""

from typing import Any

from visual.style import palette
from visual.style.palette import INK, MUTED
from visual.style.plotly_base import Drawn
from visual.tree.reveal import ALWAYS, Span
from visual.words import labels

SIZES = {"root": 11, "deterministic": 8, "probe": 10, "filler": 8, "residual": 12, "bonus": 12}
SIZES["ghost"] = 6
GHOST = palette.Mark("", "circle-open", "○", MUTED)
WAITING_MARK = "waiting"  # marks of children before their verdict
CHOSEN = "chosen"  # the ring around the chosen node
RING = {"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 1.5}}
Place = tuple[float, float]  # depth and row


def defaults(name: str) -> Drawn:
    """Return what all traces of this name share; on its way to the browser a trace goes without."""
    if name in SIZES:
        return {"type": "scatter", "mode": "markers+text", "hovertemplate": labels.hover(name)}
    if name == CHOSEN:
        return {"type": "scatter", "mode": "markers", "hoverinfo": "skip", "marker": RING}
    if name == WAITING_MARK:
        return {"type": "scatter", "mode": "markers+text", "hovertemplate": labels.HOVER_WAITING}
    return {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}


def scatter(name: str, span: Span = ALWAYS, **attributes: Any) -> Drawn:
    """Return a trace; where it does not stand in all frames its `meta` is the span.

    It is seen at first if it stands in the last frame, for that is how a round opens.
    """
    timing: Drawn = {} if span == ALWAYS else {"meta": list(span)}
    timing |= {} if span[1] is None else {"opacity": 0}
    return {"name": name, **defaults(name), **timing, **attributes}


def short(coordinate: float) -> float:
    """Return a coordinate in as few characters as its place needs."""
    rounded = round(coordinate, 2)
    return int(rounded) if rounded == int(rounded) else rounded
