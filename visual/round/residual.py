"""The residual strip of a visited node: p0 -> p1 -> ..., one bar from 0 to 1 per draw.

A rejected probe takes min(r, q-tilde) out of the distribution r before it; what is left is
stretched to 1 and is the next bar. There the second uniform falls on a kept child or on another
token; a child it passed over is taken out too. So every tick stands on what it decided.
"""

from rheo.trace.schema import Round, Run, Visit
from visual.round.residual_rows import Draws, Row, Segment, draws
from visual.style.palette import FAINT, INK, PAPER, PROBE_COLOUR, SANS, WASH
from visual.style.plotly_base import GLYPH, HIDDEN_AXIS, Drawn, figure, note
from visual.words.sentences import escape, name

PITCH, TITLE_HEIGHT, BAR, TEST = 52, 9, 27, 42  # pixels: of a row; from its top to each middle
_EDGED = 0.003  # share from which a segment has an edge, which is wider than a smaller one
_THICK, THIN = 17, 5  # pixels: the bar, the bar of a probe's test
RESIDUAL_ROWS = 4  # of a strip: the first and the last ones
PLOT = 380  # pixels a bar is at least wide: what a label may need
SEGMENT = ("stage", "token", "left", "width", "taken")  # customdata of the bars


def strip(run: Run, round: Round, node: int, upto: int | None = None) -> Drawn | None:
    """Return the strip of `node`, from p to the end of the walk there; None where it never came.

    Args:
        upto: how many of the visit's steps are decided; None for all.

    Traces: "distribution" with the segments (customdata rows are `SEGMENT`), "test" with the ratio
    of each probe, "uniform" with a mark per draw.
    """
    visit = round.visit_of(node)
    if visit is None:
        return None
    rows = Draws(run, round, visit).rows(visit.steps[:upto])
    rows = [rows[i] for i in _shown(len(rows))]
    height = PITCH * len(rows) + 4
    return figure(
        [_distributions(rows), _tests(rows), _uniforms(rows)],
        height,
        margin={"l": 10, "r": 10, "t": 0, "b": 0},
        annotations=[part for i, row in enumerate(rows) for part in _words(run, i, row)],
        shapes=[tick for i, row in enumerate(rows) for tick in _ticks(i, row)],
        xaxis={**HIDDEN_AXIS, "range": [-0.003, 1.003]},
        yaxis={**HIDDEN_AXIS, "range": [height, 0]},
    )


def revealed(run: Run, round: Round, visit: Visit) -> list[int]:
    """Return, after each step of `visit`, how many rows of its strip give nothing later away.

    A row shows how its draw ended, so it may appear only when its draw is decided.
    """
    strip = Draws(run, round, visit)
    shown = _shown(len(strip.rows(visit.steps)))
    counts, known, over = [], 0, 0
    for group in draws(visit.steps):
        over += len(group)
        # steps that end with a rejection have one row more, for the next draw
        rows = len(strip.rows(visit.steps[:over])) - (over < len(visit.steps))
        before, known = known, sum(i < rows for i in shown)
        counts += [before] * (len(group) - 1) + [known]
    return counts


def _shown(rows: int) -> list[int]:
    """Return which rows are drawn: the first and the last ones, where there are many."""
    return [i for i in range(rows) if i == 0 or i > rows - RESIDUAL_ROWS]


# From rows to marks: y is in pixels from the top


def _placed(rows: list[Row]) -> list[tuple[int, Row, Segment, float]]:
    placed = []
    for i, row in enumerate(rows):
        at = 0.0
        for segment in row.segments:
            if segment.width > 0:
                placed.append((i, row, segment, at))
            at += segment.width
    return placed


def _distributions(rows: list[Row]) -> Drawn:
    placed = _placed(rows)
    segments = [segment for _, _, segment, _ in placed]
    ground = [FAINT if s.colour == WASH else s.colour for s in segments]
    return {
        "type": "bar",
        "name": "distribution",
        "orientation": "h",
        "base": [at for *_, at in placed],
        "x": [s.width for s in segments],
        "y": [i * PITCH + BAR for i, *_ in placed],
        "width": _THICK,
        "marker": {
            "color": [s.colour for s in segments],
            "line": {
                "color": [INK if s.chosen else PAPER for s in segments],
                "width": [2 if s.chosen else int(s.width >= _EDGED) for s in segments],
            },
            "pattern": {
                "shape": ["/" if s.taken else "" for s in segments],
                "fgcolor": ground,
                "bgcolor": [PAPER if s.taken else s.colour for s in segments],
                "size": 5,
                "solidity": 0.4,
            },
        },
        "customdata": [[row.stage, s.token, at, s.width, s.taken] for _, row, s, at in placed],
        "hoverinfo": "skip",
    }


def _tests(rows: list[Row]) -> Drawn:
    tests = [(i, row.ratio) for i, row in enumerate(rows) if row.ratio is not None]
    return {
        "type": "bar",
        "name": "test",
        "orientation": "h",
        "x": [ratio for _, ratio in tests],
        "y": [i * PITCH + TEST for i, _ in tests],
        "width": THIN,
        "marker": {"color": PROBE_COLOUR},
        "hoverinfo": "skip",
    }


def _uniforms(rows: list[Row]) -> Drawn:
    marks = [(i, row) for i, row in enumerate(rows) if row.uniform is not None]
    return {
        "type": "scatter",
        "name": "uniform",
        "mode": "markers",
        "x": [row.uniform for _, row in marks],
        "y": [i * PITCH + (TEST + 7 if row.ratio is not None else TEST) for i, row in marks],
        "marker": {"symbol": "triangle-up", "size": 8, "color": INK},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _ticks(i: int, row: Row) -> list[Drawn]:
    """Return the ground of a test, and the uniform as a line across what it decides."""
    y = i * PITCH
    shapes = []
    if row.ratio is not None:
        ends = {"x0": 0, "x1": 1, "y0": y + TEST - THIN / 2, "y1": y + TEST + THIN / 2}
        shapes.append(
            {"type": "rect", **ends, "layer": "below", "fillcolor": WASH, "line": {"width": 0}}
        )
    if row.uniform is not None:
        top, bottom = (TEST - 5, TEST + 5) if row.ratio is not None else (BAR - 11, BAR + 11)
        ends = {"x0": row.uniform, "x1": row.uniform, "y0": y + top, "y1": y + bottom}
        shapes.append({"type": "line", **ends, "line": {"color": INK, "width": 2}})
    return shapes


def _words(run: Run, i: int, row: Row) -> list[Drawn]:
    """Return the title above a bar, and in each segment the token, where it fits."""
    words = [note(row.title, 0, i * PITCH + TITLE_HEIGHT, font={"color": INK, "family": SANS})]
    tick = row.uniform if row.ratio is None else None
    at = 0.0
    for s in row.segments:
        middle, width = _beside(at, s.width, tick)
        room = int(width * PLOT / GLYPH) - 1
        lead = f"{s.letter} " if s.letter and room > 4 else ""
        if s.token is not None and room >= 3:
            shown = escape(lead + name(run, s.token, room - len(lead)))
            ink = INK if s.taken or s.colour == WASH else PAPER
            look = {"font": {"color": ink}, **({"bgcolor": PAPER} if s.taken else {})}
            words.append(note(shown, middle, i * PITCH + BAR, xanchor="center", **look))
        at += s.width
    return words


def _beside(at: float, width: float, tick: float | None) -> tuple[float, float]:
    """Return middle and width of a segment's part for a label: one side of the tick."""
    if tick is None or not at < tick < at + width:
        return at + width / 2, width
    if tick - at >= width / 2:
        return (at + tick) / 2, tick - at
    return (tick + at + width) / 2, at + width - tick
