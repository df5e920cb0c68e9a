"""The rheostat's curves: accepted words and distance from the target against m, T and R."""

import html
from collections.abc import Sequence

from visual.style.palette import FAINT, INK, MARKS, MUTED, SANS
from visual.style.plotly_base import Drawn, figure
from visual.words import one_hot

HEIGHT = 132  # pixels of a chart
PARAMETERS = ("m", "T", "R")
CURVED = ("topk", "rheo-rrsw", "rheo", "naive")
_MARGIN = {"l": 38, "r": 10, "t": 8, "b": 36}
_LINES = {  # colour and dash, so that no reader needs the colour
    "topk": {"color": MARKS["deterministic"].colour, "dash": "7px,3px"},
    "rheo-rrsw": {
        "color": MARKS["filler"].colour,
        "dash": "3px,2px",
        "width": 6,
    },  # seen around rheo
    "rheo": {"color": INK, "dash": "solid"},
    "naive": {"color": MARKS["probe"].colour, "dash": "dot", "width": 2.6},
}
_TICKS = 7  # values of a parameter that are written


def curves(points: Sequence[Drawn]) -> Drawn:
    """Return two rows of three small charts of `comparison.curves` records.

    Returns:
        {"html", "figures"}: a frame for each chart, and what is drawn in them in their order.
    """
    charts = [
        _chart(points, what, name, axis)
        for what, name in (("accepted", one_hot.CURVE_ACCEPTED), ("tv", one_hot.CURVE_TV))
        for axis in PARAMETERS
        if any(point["parameter"] == axis for point in points)
    ]
    return {
        "html": "".join(frame for frame, _ in charts),
        "figures": [drawn for _, drawn in charts],
    }


def legend() -> str:
    """Return the lines' names and looks, as HTML."""
    return "".join(
        f'<span data-rule="{rule}"><i class="dl-line"></i>'
        f"{html.escape(one_hot.RULE_NAMES[rule])}</span>"
        for rule in CURVED
    )


def _chart(points: Sequence[Drawn], what: str, name: str, axis: str) -> tuple[str, Drawn]:
    """Return a chart's frame and its figure; all charts of `what` have one scale."""
    here = [point for point in points if point["parameter"] == axis]
    xs = [point["value"] for point in here]
    top = max((y for point in points for y in point[what].values()), default=0.0) or 1.0
    series = {rule: [point[what][rule] for point in here] for rule in CURVED}
    lines = "; ".join(
        one_hot.CURVE_LINE.format(
            rule=one_hot.RULE_NAMES[rule], first=f"{ys[0]:.3f}", last=f"{ys[-1]:.3f}"
        )
        for rule, ys in series.items()
    )
    label = one_hot.CURVE_LABEL.format(what=name, axis=one_hot.CURVE_AXES[axis], lines=lines)
    frame = (
        f'<figure data-what="{what}" data-axis="{axis}"><figcaption>{name}</figcaption>'
        f'<div role="img" aria-label="{html.escape(label)}"></div></figure>'
    )
    drawn = figure(
        [_line(rule, xs, ys) for rule, ys in series.items()],
        HEIGHT,
        margin=_MARGIN,
        hovermode="closest",
        xaxis=_axis(one_hot.CURVE_AXES[axis], xs[:: max(1, -(-len(xs) // _TICKS))], xs[0], xs[-1]),
        # below 0 there is room for lines that lie on it
        yaxis=_axis("", [0, top], -0.06 * top, 1.05 * top, ["0", f"{top:.2g}"]),
    )
    return frame, drawn


def _line(rule: str, xs: list[float], ys: list[float]) -> Drawn:
    """Return one strategy's line; a point says its value."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": rule,
        "x": xs,
        "y": ys,
        "line": {"width": 2, **_LINES[rule]},
        "cliponaxis": False,
        "hovertemplate": f"{html.escape(one_hot.RULE_NAMES[rule])} %{{y:.3f}}<extra></extra>",
    }


def _axis(
    name: str, ticks: list[float], low: float, high: float, texts: list[str] | None = None
) -> Drawn:
    return {
        "range": [low, high if high > low else low + 1],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "linecolor": FAINT,
        "tickvals": ticks,
        "ticktext": texts or [f"{tick:g}" for tick in ticks],
        "tickfont": {"color": MUTED, "size": 11},
        "title": {"text": name, "font": {"family": SANS, "color": INK, "size": 12}, "standoff": 4},
    }
