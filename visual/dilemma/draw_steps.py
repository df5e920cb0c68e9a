"""One verified draw as steps: a title, a sentence, a picture, and whether it can be guessed."""

import html
from collections.abc import Iterable
from typing import Any

from rheo.exact.coupling import Draw, OneNode
from rheo.params import strategy_fields
from visual.dilemma.acceptance import percent
from visual.style.palette import MARKS
from visual.words import one_hot
from visual.words.sentences import number, ordered

_ROOM = 0.05  # share of a bar from which a segment is labelled
_Segment = tuple[str, float, str]  # label, width, class


def steps(node: OneNode, draw: Draw, tokens: list[str]) -> list[dict[str, Any]]:
    """The steps of a draw. Each is {title, say, html, ask, verdict}: `ask` is a question or "",
    `verdict` "accept", "reject" or ""."""
    names = [html.escape(token) for token in tokens]
    made = [_slots(node, draw, names)]
    if draw.tested_first:
        made.append(_head(node, draw, names))
    if not draw.was_tested_first:
        if draw.probe is not None:
            made.append(_test(node, draw, names))
            if not draw.probe_accepted:
                made.append(_residual(node, draw, names))
        if not draw.probe_accepted:
            made.append(_siblings(draw, names))
    return made


def _step(title: str, say: str, picture: str, ask: str = "", verdict: str = "") -> dict[str, Any]:
    return {"title": title, "say": say, "html": picture, "ask": ask, "verdict": verdict}


def _quoted(names: list[str], tokens: Iterable[int]) -> str:
    said = ", ".join(f"‘{names[token]}’" for token in tokens)
    return said or one_hot.NOTHING_FIXED


def _slots(node: OneNode, draw: Draw, names: list[str]) -> dict[str, Any]:
    kind = dict(draw.children)
    if strategy_fields(draw.strategy).probes == "none":
        said = one_hot.STEP_FIXED.format(K=node.K, tokens=_quoted(names, kind))
        masses = [(t, node.q[t]) for t in node.order]
        picture = bar([(names[t], q, kind.get(t, "rest")) for t, q in masses])
        return _step(one_hot.STEP_SLOTS, said, chips(draw, names) + picture)
    if draw.probe is None:
        said = one_hot.STEP_NO_PROBE.format(m=node.m)
    else:
        fixed = [t for t, k in draw.children if k == "deterministic"]
        said = one_hot.STEP_DRAWN.format(
            u=number(draw.uniforms[0]),
            probe=_quoted(names, [draw.probe]),
            fixed=_quoted(names, fixed),
        )
    fillers = [t for t, k in draw.children if k == "filler"]
    if fillers:
        said += one_hot.STEP_FILLERS.format(tokens=_quoted(names, fillers))
    segments = [
        (names[t], high - low, "probe" if t == draw.probe else "rest") for t, low, high in draw.tail
    ]
    tick = draw.uniforms[0] if draw.probe is not None else None
    return _step(one_hot.STEP_SLOTS, said, chips(draw, names) + bar(segments, tick, "u₀"))


def _head(node: OneNode, draw: Draw, names: list[str]) -> dict[str, Any]:
    u = draw.uniforms[2]
    mass = draw.tested_first[-1][2]
    if draw.was_tested_first:
        said = one_hot.STEP_HEAD_TAKEN.format(
            u=number(u), token=_quoted(names, [draw.emitted]), p=number(node.p[draw.emitted])
        )
    else:
        shown = ordered([u, mass])
        said = one_hot.STEP_HEAD_MISSED.format(u=shown[0], mass=shown[1])
    segments = [(names[t], high - low, "deterministic") for t, low, high in draw.tested_first]
    picture = bar([*segments, ("", 1 - mass, "rest")], u, "u₂")
    verdict = "accept" if draw.was_tested_first else "reject"
    return _step(one_hot.STEP_HEAD, said, picture, one_hot.QUESTIONS["head"], verdict)


def _test(node: OneNode, draw: Draw, names: list[str]) -> dict[str, Any]:
    p, q = draw.tested[draw.probe], node.q_tilde[draw.probe]
    u, ratio = ordered([draw.uniforms[1], draw.accept])
    verdict = "accept" if draw.probe_accepted else "reject"
    said = one_hot.STEP_PASSED if draw.probe_accepted else one_hot.STEP_FAILED
    said = one_hot.STEP_CERTAIN if draw.accept >= 1 else said
    name = _quoted(names, [draw.probe])
    said = said.format(token=name, p=number(p), q=number(q), ratio=ratio, u=u)
    widest = max(p, q, 1e-12)
    pair = _pairs([("p", p / widest, "target"), ("q̃", q / widest, "draft")], [p, q])
    segments = [(percent(draw.accept), draw.accept, "probe"), ("", 1 - draw.accept, "rest")]
    title = one_hot.STEP_TEST.format(token=name)
    picture = pair + bar(segments, draw.uniforms[1], "u₁")
    return _step(title, said, picture, one_hot.QUESTIONS["test"], verdict)


def _pairs(rows: list[_Segment], numbers: list[float]) -> str:
    lines = (
        f'<div class="dl-pair"><span>{label}</span><span class="dl-line"><i class="{look}" '
        f'style="width:{100 * width:.2f}%"></i></span><b>{number(x)}</b></div>'
        for (label, width, look), x in zip(rows, numbers, strict=True)
    )
    return "".join(lines)


def _residual(node: OneNode, draw: Draw, names: list[str]) -> dict[str, Any]:
    taken = [min(p, q) for p, q in zip(draw.tested, node.q_tilde, strict=True)]
    widest = max(*draw.tested, *draw.residual)
    kinds = dict(draw.children)
    lines = "".join(
        f'<div class="dl-left"><span class="{kinds.get(t, "")}">{names[t]}</span>'
        f'<span class="dl-line"><i class="target" style="width:{100 * (p - out) / widest:.2f}%">'
        f'</i><i class="taken" style="width:{100 * out / widest:.2f}%"></i></span><b>→</b>'
        f'<span class="dl-line"><i class="residual" style="width:{100 * r / widest:.2f}%"></i>'
        f"</span><b>{100 * r:.1f}</b></div>"
        for t, (p, out, r) in enumerate(zip(draw.tested, taken, draw.residual, strict=True))
    )
    said = one_hot.STEP_LEFT.format(mass=percent(sum(taken)))
    return _step(one_hot.STEP_RESIDUAL, said, f'<div class="dl-lefts">{lines}</div>')


def _siblings(draw: Draw, names: list[str]) -> dict[str, Any]:
    kinds, u = dict(draw.children), number(draw.share)
    token = _quoted(names, [draw.emitted])
    if draw.taken is not None:
        said = one_hot.STEP_TAKEN.format(u=u, token=token, kind=kinds[draw.taken])
    else:
        law = (
            one_hot.LAW_P
            if strategy_fields(draw.strategy).probes == "none"
            else one_hot.LAW_RESIDUAL
        )
        said = one_hot.STEP_EMITTED.format(u=u, token=token, law=law)
    segments = [(names[t], high - low, kinds.get(t, "rest")) for t, low, high in draw.intervals]
    verdict = "reject" if draw.taken is None else "accept"
    return _step(
        one_hot.STEP_SIBLINGS,
        said,
        chips(draw, names, gone=draw.probe) + bar(segments, draw.share, "u₂"),
        one_hot.QUESTIONS["siblings"],
        verdict,
    )


def chips(draw: Draw, names: list[str], gone: int | None = None) -> str:
    """The slots in a row: letter and word; the token that is out already is struck through."""
    cells = "".join(
        f'<span class="dl-chip {kind}{" gone" if token == gone else ""}">'
        f"<b>{MARKS[kind].glyph}{MARKS[kind].letter}</b> "
        f"{names[token]}</span>"
        for token, kind in draw.children
    )
    return f'<div class="dl-chips">{cells}</div>'


def bar(segments: list[_Segment], tick: float | None = None, name: str = "") -> str:
    """A bar from 0 to 1, and a uniform as a tick on it."""
    parts = "".join(
        f'<i class="{look}" style="width:{100 * width:.3f}%" title="{label} {percent(width)}">'
        f"{label if width >= _ROOM else ''}</i>"
        for label, width, look in segments
        if width > 0
    )
    said = ", ".join(f"{label} {percent(width)}" for label, width, _ in segments if label)
    mark, u = "", ""
    if tick is not None:
        u = number(tick)
        side = " left" if tick > 0.85 else ""
        mark = f'<em class="dl-tick{side}" style="left:{100 * tick:.3f}%"><s>{name} {u}</s></em>'
    label = one_hot.NODE_BAR_LABEL.format(parts=said, u=u or "–")
    return f'<div class="dl-unit" role="img" aria-label="{label}">{parts}{mark}</div>'
