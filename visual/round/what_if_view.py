"""A visited node under the settings of the rail, beside what the run had: small HTML."""

import html
import importlib
import math
from typing import TYPE_CHECKING

from rheo.counting import counted
from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.params import strategy_fields
from rheo.trace.schema import Round, Run
from visual.style.palette import MARKS
from visual.style.plotly_base import cell
from visual.words import labels, measures, sentences
from visual.words.sentences import name, number

if TYPE_CHECKING:
    from rheo.exact.what_if import RecomputedNode, RecomputedSlot

_PARTS = ("deterministic", "probe", "filler")
_SLOTS = 6  # in the table
_TOKENS = 3  # of the residual
_LEAST = 0.0005  # share of a bar from which a part is drawn: less says 0.0 %
_ROOM = 0.09  # share of a bar from which a part is labelled
_LINES = "{before}{after}"  # each in a line of its own
LEAST_ERROR = 0.0005  # errors below this do not show in the figures


ASKED = ("m", "T", "K", "strategy")


def block(
    run: Run, round: Round, node: int, asked: JsonObject, vocabulary: int | None = None
) -> JsonObject:
    """Return {"html"} and what was asked: the node before -> after, or one sentence why not.

    Args:
        asked: `ASKED`, from a browser; `rheo.exact.what_if` refuses what cannot be.
    """
    asked = {name: asked.get(name) for name in ASKED}
    if asked["strategy"] is None:
        asked["strategy"] = own(run)["strategy"]
    try:
        made = _made(run, round, node, asked, vocabulary)
    except RheoError as error:
        made = f"<p>{html.escape(str(error))}</p>"
    return {"html": made, **asked}


def own(run: Run) -> JsonObject:
    """Return what the run itself had of `ASKED`."""
    usual = zip(ASKED, (1, 1.0, 10, "rheo"), strict=True)
    return {key: run.params.get(key, default) for key, default in usual}


def _made(run: Run, round: Round, node: int, asked: JsonObject, vocabulary: int | None) -> str:
    engine = importlib.import_module("rheo.exact.what_if")  # torch, which no view waits for
    size = vocabulary or engine.LARGEST_VOCABULARY
    before = engine.recompute(run, round, node, **own(run), vocabulary=size)
    after = engine.recompute(run, round, node, **asked, vocabulary=size)
    had = own(run)["strategy"]
    now, before_now = (
        _with(run, name, look, asked["strategy"] != had)
        for name, look in ((asked["strategy"], after), (had, before))
    )
    title = html.escape(measures.WITH.format(settings=now))
    had = html.escape(measures.RUN_HAD.format(settings=before_now))
    bars = "".join(_bar(which, look) for which, look in (("run", before), ("whatif", after)))
    return (
        f'<p class="wi-title"><b>{title}</b> <span>{had}</span></p>'
        f'<div class="wi-bars">{bars}</div>'
        f'<dl class="wi-rows">{_rows(run, before, after)}</dl>{_table(run, before, after)}'
        f'<p class="wi-note">{html.escape(_note(round, node, asked, after))}</p>'
    )


def _bar(which: str, look: "RecomputedNode") -> str:
    """Return what is accepted at the node, stacked by kind."""
    parts = []
    for kind in _PARTS:
        share = math.fsum(s.accept or 0.0 for s in look.slots if s.kind == kind)
        if share < _LEAST:
            continue
        shown = f"{MARKS[kind].letter} {100 * share:.0f}" if share >= _ROOM else ""
        parts.append(f'<i data-kind="{kind}" style="width:{100 * share:.2f}%">{shown}</i>')
    percent = f"{100 * look.accept:.1f} %"
    label = measures.BAR_LABEL.format(name=measures.BARS[which], percent=percent)
    return (
        f'<div data-bar="{which}"><span>{measures.BARS[which]}</span>'
        f'<span class="wi-bar" role="img" aria-label="{label}">{"".join(parts)}</span>'
        f'<b data-accept="{look.accept:.9f}">{percent}</b></div>'
    )


def _rows(run: Run, before: "RecomputedNode", after: "RecomputedNode") -> str:
    probes = [_probe(look) for look in (before, after)]
    rows = {"z": [number(look.z) for look in (before, after)]}
    if any(probes):
        rows["probe"] = [_token(run, probe) for probe in probes]
        rows["proxy"] = [_number(probe and probe.proxy) for probe in probes]
        rows["ratio"] = [_number(look.probe) for look in (before, after)]
    if before.overlap is not None or after.overlap is not None:
        rows["overlap"] = [_number(look.overlap) for look in (before, after)]
    if any(slot.accept is not None for slot in after.slots):
        rows["residual"] = [_residual(run, look) for look in (before, after)]
    return "".join(
        f'<div data-row="{key}"><dt>{measures.WHATIF_ROWS[key]}</dt>'
        f"<dd>{_change(*pair, _LINES if key == 'residual' else measures.CHANGE)}</dd></div>"
        for key, pair in rows.items()
    )


def _probe(look: "RecomputedNode") -> "RecomputedSlot | None":
    """Return the first probe slot that was kept."""
    return next((s for s in look.slots if s.kind == "probe" and s.accept is not None), None)


def _token(run: Run, slot: "RecomputedSlot | None") -> str:
    return measures.NO_PROBE_HERE if slot is None else html.escape(name(run, slot.token, 10))


def _number(x: float | None) -> str:
    return measures.NOTHING if x is None else number(x)


def _residual(run: Run, look: "RecomputedNode") -> str:
    """Return the largest tokens of what is left after every test; the outside counts as one."""
    inside = sorted(zip(look.residual, look.ids, strict=False), reverse=True)[:_TOKENS]
    shown = [f"{html.escape(name(run, token, 8))} {cell(mass)}" for mass, token in inside if mass]
    rest = max(0.0, 1 - math.fsum(mass for mass, _ in inside))
    return " · ".join([*shown, measures.ALL_OTHERS.format(mass=cell(rest))])


def _change(before: str, after: str, form: str = measures.CHANGE) -> str:
    if before == after:
        return before
    return form.format(before=f"<s>{before}</s>", after=f"<b>{after}</b>")


def _table(run: Run, before: "RecomputedNode", after: "RecomputedNode") -> str:
    """Return the slots that stay kept: proxy, true and accept, before -> after."""
    kept = [(i, slot) for i, slot in enumerate(after.slots) if slot.accept is not None][:_SLOTS]
    if not kept:
        return ""
    head = "".join(f'<th scope="col">{word}</th>' for word in measures.WHATIF_COLUMNS)
    return f"<table><tr>{head}</tr>{''.join(_row(run, before, i, s) for i, s in kept)}</table>"


def _row(run: Run, before: "RecomputedNode", at: int, slot: "RecomputedSlot") -> str:
    was = before.slots[at] if at < len(before.slots) else None
    mark, cells = MARKS[slot.kind], []
    for key in ("proxy", "true", "accept"):
        old = None if was is None else getattr(was, key)
        shown = cell(getattr(slot, key))
        cells.append(f"<td>{shown if old is None else _change(cell(old), shown)}</td>")
    token = html.escape(name(run, slot.token, 8))
    head = f'<th scope="row"><i data-kind="{slot.kind}">{mark.glyph} {mark.letter}</i> {token}</th>'
    return f"<tr>{head}{''.join(cells)}</tr>"


def _with(run: Run, strategy: str, look: "RecomputedNode", named: bool) -> str:
    """Return the settings of a look that its strategy reads; the strategy where it is `named`."""
    said = {"strategy": strategy, "m": look.m, "T": look.T, "K": look.K}
    name = f"{labels.STRATEGY_NAMES.get(strategy, strategy)}, " if named else ""
    return name + sentences.settings(run, ("m", "T", "K"), **said)


def _note(round: Round, node: int, asked: JsonObject, after: "RecomputedNode") -> str:
    said = []
    if strategy_fields(asked["strategy"]).deterministic == "all":
        said.append(measures.TOP_K)
    if all(slot.accept is None for slot in after.slots):
        said.append(measures.ALL_PRUNED)
    if after.error >= LEAST_ERROR:
        visit = round.visited[node]
        known = len(visit.ids) + len(visit.outside_ids)
        error = number(math.ceil(after.error * 1000) / 1000)
        tokens = counted(known, measures.COUNTS["token"])
        said.append(measures.ERROR.format(known=tokens, rest=cell(visit.rest), error=error))
    if after.stand_ins:
        said.append(measures.STAND_IN.format(u=number(after.uniforms[-1])))
    if not after.sure and len(after.uniforms) > after.stand_ins:
        said.append(measures.UNSURE)
    return " ".join([*said, measures.NEEDS_RUN])
