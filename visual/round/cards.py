"""The card of a step as HTML: its formula with the numbers filled in, and the uniform as a tick.

All that gives a verdict away (verdict, uniform, residual) has the class "spoiler", so that a reader
can guess first. Names and classes only: the style is in `css/cards.css`.
"""

import html
from collections.abc import Iterator

from rheo.params import strategy_fields
from rheo.trace.residuals import residuals
from rheo.trace.schema import Node, Round, Run, Step, Visit
from visual.round.residual_rows import draws
from visual.style.palette import CHECK, CROSS, MARKS
from visual.words import labels, sentences, verdicts
from visual.words.sentences import number, ordered

_ROOM = 0.13  # share of a bar from which a segment is labelled
_LEAST = 0.0005  # share from which a segment is drawn: its border would be wider than a smaller one
_GLYPHS = 9  # of such a label
SIGNS = {"accept": CHECK, "reject": CROSS, "emit": ""}
_Segment = tuple[str, float, str]  # label, width, classes


def of_visit(run: Run, round: Round, visit: Visit) -> list[str]:
    """Return one card a step of `visit`."""
    made = _Cards(run, round, visit)
    return [made.card(at) for at in range(len(visit.steps))]


def amount(mass: float) -> str:
    """Return a mass in words.

    >>> amount(0.585), amount(1.0)
    ('0.585', 'all')
    """
    shown = number(mass)
    return verdicts.WHOLE if shown == number(1.0) else shown


def letters(visit: Visit, at: int) -> tuple[str, str]:
    """Return the symbols of what the probe at step `at` is tested against and drawn from.

    They are ("p", "q̃") for a first probe without a head, else ("r", "q̃") or ("r", "q̃′").
    """
    earlier = visit.steps[:at]
    distribution = verdicts.RESIDUAL if earlier else verdicts.P_SYMBOL
    return distribution, verdicts.Q_TILDE_SYMBOL + verdicts.NEXT * sum(
        step.rule == "probe" for step in earlier
    )


class _Cards:
    """The cards of one visit."""

    def __init__(self, run: Run, round: Round, visit: Visit) -> None:
        self.run, self.round, self.visit = run, round, visit
        self.children = round.children(visit.node)
        self.kind = {n.token: n.kind for n in self.children}
        self.group = [group for group in draws(visit.steps) for _ in group]  # of each step
        self.residuals = residuals(visit)
        fields = strategy_fields(run.params.get("strategy"))
        self.tested_first = fields.tests_deterministic_first

    def card(self, at: int) -> str:
        step = self.visit.steps[at]
        make = {"probe": self._probe, "sibling": self._sibling, "emit": self._emit}[step.rule]
        spoiler = " spoiler" if step.rule == "emit" else ""  # what was drawn is the outcome itself
        return f'<div class="rs-card{spoiler}" data-rule="{step.rule}">{make(at, step)}</div>'

    def _probe(self, at: int, step: Step) -> str:
        distribution, draft = letters(self.visit, at)
        ratio, u = ordered([step.ratio, step.uniform])
        p, q = number(step.p), number(step.q_tilde)
        formula = verdicts.RATIO.format(
            distribution=distribution, draft=draft, p=p, q_tilde=q, ratio=ratio
        )
        outcome = verdicts.RATIO_OUTCOME.format(u=u, verdict=labels.VERDICTS[step.verdict])
        widest = max(step.p, step.q_tilde) or 1.0
        accepts = bar([("", step.ratio, "probe"), ("", 1 - step.ratio, "other")])
        mass = self.residuals.left[at] or 0.0
        return (
            self._head(self._node(step).kind, step)
            + _pair(distribution, step.p / widest, p, "target")
            + _pair(draft, step.q_tilde / widest, q, "draft")
            + _line(formula, outcome)
            + unit(accepts + tick(step.uniform, f"{verdicts.TICK_1} {u}"))
            + self._residual(distribution, draft, mass)
        )

    def _residual(self, distribution: str, draft: str, mass: float) -> str:
        if mass <= 0:  # an accepted probe, or a rejection by rounding alone, which takes nothing
            return ""
        after = verdicts.RESIDUAL if distribution == verdicts.P_SYMBOL else verdicts.RESIDUAL_NEXT
        formula = verdicts.RESIDUAL_FORMULA.format(
            next=after, distribution=distribution, draft=draft, mass=number(mass)
        )
        said = verdicts.RESIDUAL_SAID.format(mass=amount(mass), distribution=distribution)
        return f'<p class="rs-left spoiler"><b>{formula}</b> {said}</p>'

    def _sibling(self, at: int, step: Step) -> str:
        distribution, verdict = self._distribution(at), labels.VERDICTS[step.verdict]
        if step.low == step.high:
            line = _line(
                verdicts.NO_MASS.format(distribution=distribution),
                verdicts.NO_MASS_OUTCOME.format(verdict=verdict),
            )
        else:
            holds = step.low <= step.share < step.high
            said = sentences.interval(step) | {"distribution": distribution, "verdict": verdict}
            said["holds"] = labels.HOLDS if holds else labels.MISSES
            outcome = verdicts.INTERVAL_OUTCOME.format(**said)
            line = _line(verdicts.INTERVAL.format(**said), outcome)
        return self._head(self._node(step).kind, step) + line + self._shares(at, step)

    def _emit(self, at: int, step: Step) -> str:
        seen = not all(emission.node is not None for emission in self.round.emitted)
        said = verdicts.EMITTED.format(
            **sentences.interval(step), distribution=self._distribution(at)
        )
        kind = "residual" if self.children else "bonus"
        line = _line(said if seen else verdicts.NOT_EMITTED)
        return self._head(kind, step) + line + self._shares(at, step, kind)

    def _shares(self, at: int, step: Step, kind: str = "") -> str:
        """Return the bar of the draw from 0 to 1: kept children by slot, then all the rest.

        Those that the walk has passed are hatched, the one in question is outlined.
        """
        segments, used = [], 0.0
        passed = {s.token for s in self.visit.steps[:at] if s in self.group[at]}
        for child, width in self._widths(at):
            here = " here" if child.token == step.token and step.rule == "sibling" else ""
            look = child.kind + (" gone" if child.token in passed else here)
            segments.append((short(self.run, child.token), width, look))
            used += width
        if kind:
            low = max(used, step.low)
            segments.append(("", low - used, "other"))
            segments.append((short(self.run, step.token), step.high - low, f"{kind} here"))
            used = max(used, step.high)
        (u,) = ordered([step.share])
        label = f"{verdicts.TICK_2} {u}" if step.share == step.uniform else u  # else it is rescaled
        ground = bar([*segments, ("", 1 - used, "other")])
        return unit(ground + tick(step.share, label))

    def _widths(self, at: int) -> Iterator[tuple[Node, float]]:
        """Yield the children in this draw and their shares, by their steps or by the residual."""
        group = self.group[at]
        tested_in = {s.token: s.high - s.low for s in group if s.rule == "sibling"}
        first = self.visit.steps.index(group[0])
        before, r = self.visit.steps[:first], self.residuals.before(first)
        mass = dict(zip(self.visit.ids, r, strict=False))
        tested = {s.token for s in before}
        # RRSw tests its deterministic children before the probe: they are a draw of their own
        head = self.tested_first and self.kind.get(group[0].token) == "deterministic"
        for child in self.children:
            later = head and child.kind != "deterministic"
            if child.kind != "probe" and child.token not in tested and not later:
                yield child, tested_in.get(child.token, mass.get(child.token, 0.0))

    def _distribution(self, at: int) -> str:
        after = any(step.rule == "probe" for step in self.visit.steps[:at])
        return labels.DISTRIBUTIONS["residual" if after else "p"]

    def _node(self, step: Step) -> Node:
        return self.round.nodes[step.child]

    def _head(self, kind: str, step: Step) -> str:
        mark, verdict = MARKS[kind], labels.VERDICTS[step.verdict]
        sign = SIGNS[step.verdict]
        token = html.escape(sentences.name(self.run, step.token))
        return (
            f'<p class="rs-head"><b class="{kind}">{mark.glyph}{mark.letter}</b> '
            f"<code>{token}</code> {labels.ORIGINS[kind]}"
            f'<em class="spoiler {step.verdict}">{sign} {verdict}</em></p>'
        )


def short(run: Run, token: int) -> str:
    """Return a token as a segment's label, escaped."""
    return html.escape(sentences.name(run, token, _GLYPHS))


def _line(open: str, concealed: str = "") -> str:
    spoiler = f'<span class="spoiler">{concealed}</span>' if concealed else ""
    return f'<p class="rs-formula">{open}{spoiler}</p>'


def _pair(label: str, share: float, value: str, look: str) -> str:
    bar = f'<i><b class="{look}" style="width:{_percent(share)}"></b></i>'
    return f'<div class="rs-pair"><span>{label}</span>{bar}<span>{value}</span></div>'


def unit(inside: str) -> str:
    """Return a bar from 0 to 1 around its segments and its tick."""
    return f'<div class="rs-unit" aria-hidden="true">{inside}</div>'  # the formula says it all


def bar(segments: list[_Segment]) -> str:
    """Return segments side by side; those with room for it have their label."""
    return "".join(
        f'<i class="{look}" style="width:{_percent(width)}">{label if width >= _ROOM else ""}</i>'
        for label, width, look in segments
        if width >= _LEAST
    )


def tick(at: float, label: str) -> str:
    """Return a uniform's tick on a bar from 0 to 1; a question hides it."""
    side = " left" if at > 0.7 else ""
    return f'<em class="rs-tick spoiler{side}" style="left:{_percent(at)}"><s>{label}</s></em>'


def _percent(share: float) -> str:
    """Return a share as a CSS length.

    >>> _percent(0.25), _percent(1 / 3)
    ('25%', '33.33%')
    """
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"
