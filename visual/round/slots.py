"""How the root's slots were filled: the probe's uniform on q-tilde, as a card and in words."""

import html

from rheo.counting import counted
from rheo.trace.schema import Round, Run
from visual.round import cards
from visual.style.palette import MARKS
from visual.words import labels, one_hot, sentences


def sentence(run: Run, round: Round) -> str:
    """Return which tokens are fixed, which one was drawn, and which fill up.

    Top-K draws nothing; nor does a node whose draft has no mass outside its top m.
    """
    fixed, probe, fillers = (
        ", ".join(sentences.word(run, node.token) for node in round.nodes if node.kind == kind)
        for kind in ("deterministic", "probe", "filler")
    )
    if not round.visits[0].q_tilde:
        return one_hot.STEP_FIXED.format(
            slots=counted(len(round.nodes) - 1, one_hot.FIXED_SLOTS), tokens=fixed
        )
    if not probe:
        said = one_hot.STEP_NO_PROBE.format(m=run.params["m"])
    else:
        u = sentences.number(round.uniforms.probes[0][0])
        fixed = fixed or one_hot.NOTHING_FIXED
        said = one_hot.STEP_DRAWN.format(u=u, probe=probe, fixed=fixed)
    return said + (one_hot.STEP_FILLERS.format(tokens=fillers) if fillers else "")


def card(run: Run, round: Round) -> str:
    """Return what the slots were filled from as a bar from 0 to 1, as HTML.

    It is q-tilde with the probe's uniform on it; for Top-K q itself, its slots in their colours.
    """
    visit, children = round.visits[0], round.nodes[1:]
    if not visit.q_tilde:
        kinds = {node.token: node.kind for node in children}
        return _framed(cards.unit(_bar(run, visit.ids, visit.q, kinds)))
    probe = next((node for node in children if node.kind == "probe"), None)
    if probe is None:
        return ""
    u, mark = round.uniforms.probes[0][0], MARKS["probe"]
    token = html.escape(sentences.name(run, probe.token))
    head = (
        f'<p class="rs-head"><b class="probe">{mark.glyph}{mark.letter}</b> '
        f"<code>{token}</code> {labels.ORIGINS['probe']}</p>"
    )
    tick = cards.tick(u, f"{one_hot.TICK_0} {sentences.number(u)}")
    bar = _bar(run, visit.ids, visit.q_tilde[0], {probe.token: "probe"})
    return _framed(head + cards.unit(bar + tick))


def _bar(run: Run, ids: tuple[int, ...], masses: tuple[float, ...], kinds: dict[int, str]) -> str:
    return cards.bar(
        [
            (cards.short(run, token), mass, kinds.get(token, "free"))
            for token, mass in zip(ids, masses, strict=True)
        ]
    )


def _framed(inside: str) -> str:
    return f'<div class="rs-card" data-rule="slots">{inside}</div>'
