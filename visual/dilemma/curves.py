"""The rheostat's curves: accepted words and distance from the target against m, T and R, as SVG."""

import html
from collections.abc import Sequence
from typing import Any

from visual.words import one_hot

WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, FOOT = 340, 104, 34, 8, 6, 20
_LINES = ("topk", "rheo-rrsw", "rheo", "naive")
PARAMETERS = ("m", "T", "R")


def curves(points: Sequence[dict[str, Any]]) -> str:
    """Two rows of three small charts: `survey.curves` records."""
    rows = (("accepted", one_hot.CURVE_ACCEPTED), ("tv", one_hot.CURVE_TV))
    return "".join(_chart(points, what, name, axis) for what, name in rows for axis in PARAMETERS)


def legend() -> str:
    """The lines' names and looks."""
    return "".join(
        f'<span data-rule="{rule}"><svg viewBox="0 0 26 8" aria-hidden="true">'
        f'<path d="M0 4H26" class="dl-curve"/></svg>{html.escape(one_hot.RULE_NAMES[rule])}</span>'
        for rule in _LINES
    )


def _chart(points: Sequence[dict[str, Any]], what: str, name: str, axis: str) -> str:
    here = [point for point in points if point["parameter"] == axis]
    if not here:
        return ""
    xs = [point["value"] for point in here]
    series = {rule: [point[what][rule] for point in here] for rule in _LINES}
    top = max((y for point in points for y in point[what].values()), default=0.0) or 1.0
    across = (xs[-1] - xs[0]) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (x - xs[0]) / across * (WIDTH - _LEFT - _RIGHT),
            _TOP + (1 - y / (1.05 * top)) * (_HEIGHT - _TOP - FOOT),
        )

    drawn = "".join(
        _line(rule, [place(x, y) for x, y in zip(xs, ys, strict=True)])
        for rule, ys in series.items()
    )
    said = "; ".join(
        one_hot.CURVE_LINE.format(
            rule=one_hot.RULE_NAMES[rule], first=f"{ys[0]:.3f}", last=f"{ys[-1]:.3f}"
        )
        for rule, ys in series.items()
    )
    label = html.escape(
        one_hot.CURVE_LABEL.format(what=name, axis=one_hot.CURVE_AXES[axis], lines=said)
    )
    frame = _frame(xs, top, place, one_hot.CURVE_AXES[axis])
    title = f"<figcaption>{name}</figcaption>"
    return (
        f'<figure data-what="{what}" data-axis="{axis}">{title}'
        f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f"{frame}{drawn}</svg></figure>"
    )


def _line(rule: str, places: list[tuple[float, float]]) -> str:
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return f'<path class="dl-curve" data-rule="{rule}" d="{path}"/>'


def _frame(xs: Sequence[float], top: float, place: Any, name: str) -> str:
    """Axis ends, and at most seven values of the parameter."""
    (x0, y0), (x1, y1) = place(xs[0], 0), place(xs[-1], top)
    every = max(1, -(-len(xs) // 7))
    ticks = "".join(
        f'<text x="{place(x, 0)[0]:.1f}" y="{y0 + 12:.1f}" text-anchor="middle">{x:g}</text>'
        for x in xs[::every]
    )
    return (
        f'<path class="dl-axis" d="M{x0} {y1}V{y0}H{x1}"/>'
        f'<text x="{x0 - 4}" y="{y0}" text-anchor="end">0</text>'
        f'<text x="{x0 - 4}" y="{y1 + 4:.1f}" text-anchor="end">{top:.2g}</text>{ticks}'
        f'<text class="dl-axis-name" x="{x1}" y="{y0 - 4:.1f}" text-anchor="end">{name}</text>'
    )
