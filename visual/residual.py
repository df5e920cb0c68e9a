"""The residual strip of a visited node: p0 -> p1 -> ..., one bar from 0 to 1 per draw.

A rejected probe takes min(r, q-tilde) out of the law r before it; what is left is stretched to 1
and is the next bar. There the second uniform falls on a kept child or on another token; a child it
passed over is taken out too. So every tick stands on what it decided.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from rheo.trace import Round, Run, Step, Visit
from visual import strings
from visual.bars import visit_of
from visual.frame import GLYPH, HIDDEN, figure, note
from visual.palette import FAINT, INK, MARKS, PAPER, PROBE, WASH
from visual.text import escape, name, number, ordered

PITCH, TITLE, BAR, TEST = 52, 9, 27, 42  # pixels: of a row; from its top to each middle
THICK, THIN = 17, 5  # pixels: the bar, the bar of a probe's test
ROWS = 4  # of a strip: the first and the last ones
PLOT = 380  # pixels a bar is at least wide: what a label may need
LARGE = 0.06  # mass from which a token that is no child has a segment of its own
SEGMENT = ("stage", "token", "left", "width", "taken")  # customdata of the bars


@dataclass(frozen=True)
class Segment:
    """A piece of a bar."""

    token: int | None  # None: several tokens
    width: float
    colour: str
    taken: bool = False  # out of what the next bar shows
    chosen: bool = False  # what a uniform fell on
    letter: str = ""


@dataclass(frozen=True)
class Row:
    """One bar: the law before a draw, and the draw."""

    stage: int  # rejections before it
    title: str
    segments: list[Segment]
    uniform: float | None = None
    ratio: float | None = None  # of a probe's test


def strip(run: Run, round: Round, node: int, upto: int | None = None) -> go.Figure | None:
    """The residual of `node` from p to the end of the walk there; None where it never came.

    Args:
        upto: how many of the visit's steps are decided; None for all.

    Traces: "law" with the segments (customdata rows are `SEGMENT`), "test" with the ratio of each
    probe, "uniform" with a mark per draw.
    """
    visit = visit_of(round, node)
    if visit is None:
        return None
    rows = _Strip(run, round, visit).rows(visit.steps[:upto])
    rows = [rows[i] for i in _shown(len(rows))]
    height = PITCH * len(rows) + 4
    return figure(
        [_law(rows), _tests(rows), _uniforms(rows)],
        height,
        margin={"l": 10, "r": 10, "t": 0, "b": 0},
        annotations=[part for i, row in enumerate(rows) for part in _words(run, i, row)],
        shapes=[tick for i, row in enumerate(rows) for tick in _ticks(i, row)],
        xaxis={**HIDDEN, "range": [-0.003, 1.003]},
        yaxis={**HIDDEN, "range": [height, 0]},
    )


def revealed(run: Run, round: Round, visit: Visit) -> list[int]:
    """After each step of `visit`, how many rows of its whole strip tell nothing beyond it: a row
    tells how its draw ended."""
    strip = _Strip(run, round, visit)
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
    """The first rows and the last ones, where there are many."""
    return [i for i in range(rows) if i == 0 or i > rows - ROWS]


def draws(steps: tuple[Step, ...]) -> list[list[Step]]:
    """The steps by draw: each probe is one of its own, siblings and emission share a uniform."""
    groups = [[step] for step in steps[:1]]
    for last, step in pairwise(steps):
        if "probe" in (last.rule, step.rule) or last.share != step.share:
            groups.append([])
        groups[-1].append(step)
    return groups


class _Strip:
    """The rows of one visit."""

    def __init__(self, run: Run, round: Round, visit: Visit) -> None:
        self.run, self.visit = run, visit
        self.stages = visit.residuals()
        self.place = {token: i for i, token in enumerate(visit.ids)}
        self.children = sorted(
            (n for n in round.nodes if n.parent == visit.node), key=lambda n: n.slot
        )
        self.kind = {n.token: n.kind for n in self.children}
        self.head_first = run.params.get("strategy") == "rheo-rrsw"

    def rows(self, steps: tuple[Step, ...]) -> list[Row]:
        rows, stage, probe = [], 0, 0
        for group in draws(steps):
            if group[0].rule == "probe":
                rows.append(self._probe_row(stage, group[0], probe))
                probe += 1
            else:
                rows += self._draw_rows(stage, group)
            stage += sum(step.verdict == "reject" for step in group)
        if not steps or steps[-1].verdict == "reject":  # not decided to the end
            title = strings.STAGE_PLAIN.format(law=_law_name(stage))
            rows.append(Row(stage, title, self._all(stage, {})))
        return rows

    def _probe_row(self, stage: int, step: Step, probe: int) -> Row:
        taken: dict[int, float] = {}
        if step.verdict == "reject":
            masses = zip(
                self.visit.ids, self.stages[stage], self.visit.q_tilde[probe], strict=False
            )
            taken = {token: min(r, q) for token, r, q in masses}
        ratio, u = ordered([step.ratio, step.uniform])
        rejected = step.verdict == "reject"
        title = (strings.STAGE_REJECT if rejected else strings.STAGE_ACCEPT).format(
            law=_law_name(stage),
            token=self._name(step.token),
            u=u,
            p=number(step.p),
            q_tilde=number(step.q_tilde),
            ratio=ratio,
        )
        chosen = None if rejected else step.token
        return Row(stage, title, self._all(stage, taken, chosen), step.uniform, step.ratio)

    def _draw_rows(self, stage: int, group: list[Step]) -> list[Row]:
        r, last = self.stages[stage], group[-1]
        head = self.head_first and self.kind.get(group[0].token) == "deterministic"
        kinds = ("deterministic",) if head else ("deterministic", "filler")
        gone = {s.token for s in group if s.verdict == "reject"}
        segments = [
            Segment(
                n.token,
                r[self.place[n.token]],
                MARKS[n.kind].colour,
                taken=n.token in gone,
                chosen=last.verdict == "accept" and n.token == last.token,
                letter=MARKS[n.kind].letter,
            )
            for n in self.children
            if n.kind in kinds
        ]
        used = sum(s.width for s in segments)
        rows = [Row(stage, self._draw_title(stage, last), segments, last.share)]
        if last.rule != "emit":
            segments.append(Segment(None, max(0.0, 1 - used), WASH))
            return rows
        segments += self._around(last, used, 1.0)
        if used > LARGE:
            left = stage + len(gone)
            title = strings.STAGE_LEFT.format(law=_law_name(left))
            share = (last.share - used) / (1 - used)
            rows.append(Row(left, title, self._around(last, used, 1 - used), share))
        return rows

    def _around(self, step: Step, start: float, scale: float) -> list[Segment]:
        """What lies behind the kept children, from `start` on: the emitted token amid the rest."""
        leaf = not self.children
        mark = MARKS["bonus" if leaf else "residual"]
        low = max(start, step.low)
        return [
            Segment(None, (low - start) / scale, WASH),
            Segment(step.token, (step.high - low) / scale, mark.colour, False, True, mark.letter),
            Segment(None, max(0.0, 1 - step.high) / scale, WASH),
        ]

    def _draw_title(self, stage: int, last: Step) -> str:
        template = {"accept": strings.STAGE_CHILD, "reject": strings.STAGE_MISS}.get(last.verdict)
        if template is None:
            template = strings.STAGE_EMIT if self.children else strings.STAGE_BONUS
        share, *_ = ordered([last.share, last.low, last.high])
        return template.format(law=_law_name(stage), u=share, token=self._name(last.token))

    def _all(self, stage: int, taken: dict[int, float], chosen: int | None = None) -> list[Segment]:
        """Kept children by slot, other large tokens, the rest; each less what is taken of it."""
        r, visit = self.stages[stage], self.visit
        outside = sum(visit.outside_p) + visit.rest
        scale = r[-1] / outside if outside > 0 else 0.0
        mass = dict(zip(visit.ids, r, strict=False))
        mass |= {t: p * scale for t, p in zip(visit.outside_ids, visit.outside_p, strict=True)}
        large = sorted((t for t in mass if mass[t] >= LARGE), key=lambda t: -mass[t])
        # a child beyond the recorded support is part of the rest
        shown = [n.token for n in self.children if n.token in mass]
        shown += [t for t in large if t not in self.kind]
        segments = []
        for token in shown:
            kind, out = self.kind.get(token), taken.get(token, 0.0)
            mark = MARKS[kind] if kind else None
            look = (mark.colour if mark else WASH), mark.letter if mark else ""
            segments += _split(token, mass[token], out, *look, chosen=token == chosen)
        rest = max(0.0, 1 - sum(mass[t] for t in shown))
        out = sum(taken.values()) - sum(taken.get(t, 0.0) for t in shown)
        return segments + _split(None, rest, out, WASH, "")

    def _name(self, token: int) -> str:
        return escape(name(self.run, token, 10))


def _split(
    token: int | None, mass: float, out: float, colour: str, letter: str, chosen: bool = False
) -> list[Segment]:
    stays = Segment(token, max(0.0, mass - out), colour, False, chosen, letter)
    return [stays, Segment(token, min(mass, out), colour, True, False, letter)]


def _law_name(stage: int) -> str:
    return strings.LAW.format(index="".join(strings.SUBSCRIPTS[int(d)] for d in str(stage)))


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


def _law(rows: list[Row]) -> go.Bar:
    placed = _placed(rows)
    segments = [segment for _, _, segment, _ in placed]
    ground = [FAINT if s.colour == WASH else s.colour for s in segments]
    return go.Bar(
        name="law",
        orientation="h",
        base=[at for *_, at in placed],
        x=[s.width for s in segments],
        y=[i * PITCH + BAR for i, *_ in placed],
        width=THICK,
        marker={
            "color": [s.colour for s in segments],
            "line": {
                "color": [INK if s.chosen else PAPER for s in segments],
                "width": [2 if s.chosen else 1 for s in segments],
            },
            "pattern": {
                "shape": ["/" if s.taken else "" for s in segments],
                "fgcolor": ground,
                "bgcolor": [PAPER if s.taken else s.colour for s in segments],
                "size": 5,
                "solidity": 0.4,
            },
        },
        customdata=[[row.stage, s.token, at, s.width, s.taken] for _, row, s, at in placed],
        hoverinfo="skip",
    )


def _tests(rows: list[Row]) -> go.Bar:
    tests = [(i, row.ratio) for i, row in enumerate(rows) if row.ratio is not None]
    return go.Bar(
        name="test",
        orientation="h",
        x=[ratio for _, ratio in tests],
        y=[i * PITCH + TEST for i, _ in tests],
        width=THIN,
        marker={"color": PROBE},
        hoverinfo="skip",
    )


def _uniforms(rows: list[Row]) -> go.Scatter:
    marks = [(i, row) for i, row in enumerate(rows) if row.uniform is not None]
    return go.Scatter(
        name="uniform",
        mode="markers",
        x=[row.uniform for _, row in marks],
        y=[i * PITCH + (TEST + 7 if row.ratio is not None else TEST) for i, row in marks],
        marker={"symbol": "triangle-up", "size": 8, "color": INK},
        cliponaxis=False,
        hoverinfo="skip",
    )


def _ticks(i: int, row: Row) -> list[dict[str, Any]]:
    """The ground of a test, and the uniform as a line across what it decides."""
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


def _words(run: Run, i: int, row: Row) -> list[dict[str, Any]]:
    """The title above a bar, and in each segment the token, where it fits."""
    words = [note(row.title, 0, i * PITCH + TITLE, font={"color": INK})]
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
    """Middle and width of the part of a segment that a label may take: one side of the tick."""
    if tick is None or not at < tick < at + width:
        return at + width / 2, width
    if tick - at >= width / 2:
        return (at + tick) / 2, tick - at
    return (tick + at + width) / 2, at + width - tick
