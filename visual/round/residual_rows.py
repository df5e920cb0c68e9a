"""The rows of a residual strip: the pieces of each distribution, and which one a uniform took.

A rejected probe takes min(r, q-tilde) out of the distribution r before it, and what is left is
stretched to 1. The second uniform falls on a kept child or on another token.
"""

from dataclasses import dataclass
from itertools import pairwise

from rheo.params import strategy_fields
from rheo.trace.residuals import residuals
from rheo.trace.schema import Round, Run, Step, Visit
from visual.style.palette import MARKS, WASH
from visual.words import labels
from visual.words.sentences import escape, name, number, ordered

LARGE = 0.06  # mass from which a token that is no child has a segment of its own


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
    """One bar: the distribution before a draw, and the draw."""

    stage: int  # rejections before it
    title: str
    segments: list[Segment]
    uniform: float | None = None
    ratio: float | None = None  # of a probe's test


def draws(steps: tuple[Step, ...]) -> list[list[Step]]:
    """Return the steps by draw: a probe is one, siblings and emission share a uniform."""
    groups = [[step] for step in steps[:1]]
    for last, step in pairwise(steps):
        if "probe" in (last.rule, step.rule) or last.share != step.share:
            groups.append([])
        groups[-1].append(step)
    return groups


class Draws:
    """The rows of one visit: for each draw the distribution before it, and how it ended."""

    def __init__(self, run: Run, round: Round, visit: Visit) -> None:
        self.run, self.visit = run, visit
        self.residuals = residuals(visit)
        self.place = {token: i for i, token in enumerate(visit.ids)}
        self.children = round.children(visit.node)
        self.kind = {n.token: n.kind for n in self.children}
        fields = strategy_fields(run.params.get("strategy"))
        self.tested_first = fields.tests_deterministic_first

    def rows(self, steps: tuple[Step, ...]) -> list[Row]:
        rows: list[Row] = []
        at = 0  # the first step of the draw
        for group in draws(steps):
            if group[0].rule == "probe":
                rows.append(self._probe_row(at, group[0]))
            else:
                rows += self._draw_rows(self.residuals.stage[at], group)
            at += len(group)
        if not steps or steps[-1].verdict == "reject":  # not decided to the end
            stage = sum(step.verdict == "reject" for step in steps)
            title = labels.STAGE_PLAIN.format(distribution=_stage_name(stage))
            rows.append(Row(stage, title, self._all(stage, [])))
        return rows

    def _probe_row(self, at: int, step: Step) -> Row:
        stage, taken = self.residuals.stage[at], self.residuals.taken[at]
        ratio, u = ordered([step.ratio, step.uniform])
        rejected = step.verdict == "reject"
        title = (labels.STAGE_REJECT if rejected else labels.STAGE_ACCEPT).format(
            distribution=_stage_name(stage),
            token=self._name(step.token),
            u=u,
            p=number(step.p),
            q_tilde=number(step.q_tilde),
            ratio=ratio,
        )
        chosen = None if rejected else step.token
        return Row(stage, title, self._all(stage, taken, chosen), step.uniform, step.ratio)

    def _draw_rows(self, stage: int, group: list[Step]) -> list[Row]:
        r, last = self.residuals.distributions[stage], group[-1]
        head = self.tested_first and self.kind.get(group[0].token) == "deterministic"
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
            title = labels.STAGE_LEFT.format(distribution=_stage_name(left))
            share = (last.share - used) / (1 - used)
            rows.append(Row(left, title, self._around(last, used, 1 - used), share))
        return rows

    def _around(self, step: Step, start: float, scale: float) -> list[Segment]:
        """Return what lies behind the kept children, from `start` on: the emitted token in it."""
        leaf = not self.children
        mark = MARKS["bonus" if leaf else "residual"]
        low = max(start, step.low)
        return [
            Segment(None, (low - start) / scale, WASH),
            Segment(step.token, (step.high - low) / scale, mark.colour, False, True, mark.letter),
            Segment(None, max(0.0, 1 - step.high) / scale, WASH),
        ]

    def _draw_title(self, stage: int, last: Step) -> str:
        template = {"accept": labels.STAGE_CHILD, "reject": labels.STAGE_MISS}.get(last.verdict)
        if template is None:
            template = labels.STAGE_EMIT if self.children else labels.STAGE_BONUS
        share, *_ = ordered([last.share, last.low, last.high])
        return template.format(
            distribution=_stage_name(stage), u=share, token=self._name(last.token)
        )

    def _all(self, stage: int, taken: list[float], chosen: int | None = None) -> list[Segment]:
        """Return kept children by slot, other large tokens, the rest, split by what is taken."""
        mass = self._by_token(self.residuals.distributions[stage])
        out_of = self._by_token(taken)
        large = sorted((t for t in mass if mass[t] >= LARGE), key=lambda t: -mass[t])
        # a child beyond the recorded support is part of the rest
        shown = [n.token for n in self.children if n.token in mass]
        shown += [t for t in large if t not in self.kind]
        segments = []
        for token in shown:
            kind, out = self.kind.get(token), out_of.get(token, 0.0)
            mark = MARKS[kind] if kind else None
            look = (mark.colour if mark else WASH), mark.letter if mark else ""
            segments += _split(token, mass[token], out, *look, chosen=token == chosen)
        rest = max(0.0, 1 - sum(mass[t] for t in shown))
        out = sum(taken) - sum(out_of.get(t, 0.0) for t in shown)
        return segments + _split(None, rest, out, WASH, "")

    def _by_token(self, masses: list[float]) -> dict[int, float]:
        """Return masses by token; those outside the record share the last one as they share p."""
        visit = self.visit
        outside = sum(visit.outside_p) + visit.rest
        scale = masses[-1] / outside if masses and outside > 0 else 0.0
        found = dict(zip(visit.ids, masses, strict=False))
        pairs = zip(visit.outside_ids, visit.outside_p, strict=True)
        return found | {token: p * scale for token, p in pairs}

    def _name(self, token: int) -> str:
        return escape(name(self.run, token, 10))


def _split(
    token: int | None, mass: float, out: float, colour: str, letter: str, chosen: bool = False
) -> list[Segment]:
    stays = Segment(token, max(0.0, mass - out), colour, False, chosen, letter)
    return [stays, Segment(token, min(mass, out), colour, True, False, letter)]


def _stage_name(stage: int) -> str:
    return labels.STAGE.format(index="".join(labels.SUBSCRIPTS[int(d)] for d in str(stage)))
