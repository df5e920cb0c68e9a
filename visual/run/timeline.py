"""The run in one figure: what each round emitted, token by token, against what was expected."""

import html

from rheo.trace.schema import Run
from visual.style.palette import INK, MARKS, MUTED, PAPER, WASH
from visual.style.plotly_base import Drawn, figure, note
from visual.words import labels
from visual.words.sentences import escape, name

_HEIGHT = 190
WIDE = 40  # rounds up to which a cell has its letter and its gap
_MARGIN = {"l": 30, "r": 46, "t": 22, "b": 24}
_CORNER = {"xref": "paper", "yref": "paper", "xshift": -24, "yshift": 14}  # above the y axis
LEGEND = ("deterministic", "probe", "filler", "residual", "bonus")


def tau(run: Run) -> Drawn | None:
    """Return the tokens emitted by each round, one cell a token, in order; None before any.

    Traces: one a token's origin, x the round from 1, base the tokens before it in the round,
    customdata rows [round index, node or None, token id]; "expected", the expected accepted tokens
    given the round's tree + 1.
    """
    if not run.rounds:
        return None
    cells = [_cells(run, origin) for origin in LEGEND]
    last = len(run.rounds) + 0.6
    high = max(
        *(len(r.emitted) for r in run.rounds), *(r.expected_accepted + 1 for r in run.rounds)
    )
    return figure(
        [cell for cell in cells if cell["x"]] + [_expected(run)],
        _HEIGHT,
        margin=_MARGIN,
        shapes=[_mean(run.tau, last)],
        annotations=[
            note(labels.TIMELINE_TAU.format(tau=f"{run.tau:.2f}"), last, run.tau, xshift=4),
            note(labels.TIMELINE_ROUND, last, 0, xshift=4, yshift=-11, font={"size": 10}),
            note(labels.TIMELINE_TOKENS, 0, 1, **_CORNER, font={"size": 10}),
        ],
        xaxis={**_axis(), "range": [0.4, last], "showgrid": False, "dtick": _step(last, 12)},
        yaxis={**_axis(), "range": [0, high + 0.3], "dtick": _step(high, 6)},
    )


def _cells(run: Run, origin: str) -> Drawn:
    found = [
        (r.index, place, emission)
        for r in run.rounds
        for place, emission in enumerate(r.emitted)
        if emission.origin == origin
    ]
    mark, few = MARKS[origin], len(run.rounds) <= WIDE
    return {
        "type": "bar",
        "name": origin,
        "x": [index + 1 for index, _, _ in found],
        "y": [1] * len(found),
        "base": [place for _, place, _ in found],
        "width": 0.86 if few else 1,  # else a trace with few rounds has wider bars than another
        **({"text": mark.letter} if few else {}),
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": PAPER, "size": 10},
        "marker": {"color": mark.colour, "line": {"color": PAPER, "width": 1.5 if few else 0}},
        "customdata": [[index, emission.node, emission.token] for index, _, emission in found],
        "hovertext": [
            labels.TIMELINE_HOVER.format(
                round=index + 1,
                token=escape(name(run, emission.token)),
                origin=labels.ORIGINS[origin],
            )
            for index, _, emission in found
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _expected(run: Run) -> Drawn:
    expected = [r.expected_accepted + 1 for r in run.rounds]
    return {
        "type": "scatter",
        "name": "expected",
        "mode": "lines",
        "x": [r.index + 1 for r in run.rounds],
        "y": expected,
        "line": {"color": INK, "width": 1.75, "shape": "hvh"},
        "hovertext": [
            labels.TIMELINE_HOVER_EXPECTED.format(round=r.index + 1, expected=f"{e:.2f}")
            for r, e in zip(run.rounds, expected, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def legend(run: Run) -> str:
    """Return the origins that occur, as HTML, which wraps where a figure would clip."""
    seen = {emission.origin for r in run.rounds for emission in r.emitted}
    entries = [
        (origin, f"{MARKS[origin].glyph} {MARKS[origin].letter}", labels.ORIGINS[origin])
        for origin in LEGEND
        if origin in seen
    ]
    entries.append(("expected", *labels.TIMELINE_EXPECTED.split(" ", 1)))
    return "".join(
        f'<span class="rheo-entry" data-kind="{kind}"><i>{html.escape(sign)}</i>'
        f"{html.escape(word)}</span>"
        for kind, sign, word in entries
    )


def _mean(tau: float, last: float) -> Drawn:
    line, below = {"color": MUTED, "width": 1, "dash": "dot"}, {"layer": "below"}
    return {"type": "line", "x0": 0.4, "x1": last, "y0": tau, "y1": tau, "line": line, **below}


def _step(end: float, ticks: int) -> int:
    """Return the distance of the ticks: 1, 2, 5, 10, ... so that at most `ticks` of them fit."""
    return next(n * 10**k for k in range(9) for n in (1, 2, 5) if n * 10**k * ticks >= end)


def _axis() -> Drawn:
    return {
        "fixedrange": True,
        "zeroline": False,
        "showline": False,
        "gridcolor": WASH,
        "gridwidth": 1,
        "tickfont": {"color": MUTED, "size": 10},
        "tick0": 0,
    }
