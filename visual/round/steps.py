"""The frames of a round: what a reader sees, hears and may guess at each step of the stepper."""

import math

from rheo.counting import counted
from rheo.json_object import JsonObject
from rheo.trace.candidates import candidates, proposed
from rheo.trace.residuals import residuals
from rheo.trace.schema import Round, Run, Step, Visit
from visual.round import bars, cards, residual
from visual.tree import reveal
from visual.words import labels, measures, sentences, verdicts
from visual.words.sentences import word

OPEN = (0.15, 0.85)  # chances at which a guess is asked for; beyond them the verdict is told


def of(run: Run, round: Round) -> list[JsonObject]:
    """Return one frame a draft level, one for pruning, one a verdict; `reveal` says when.

    A frame has: phase ("draft", "prune", "verdict", and "end" for the last), node (whose panel is
    shown), child (the node whose verdict it is; None for an emission), sentence (the last frame's
    is the round's headline, and "own" its own), card (HTML), ask (where a verdict can be guessed:
    question, answer, hint, and the chance of the likelier answer), rows (of the node's residual
    strip that are decided) and emitted (tokens of the round known by then).
    """
    when = reveal.of(round)
    frames = [_frame("draft", 0, _level(run, round, level)) for level in range(when.levels + 1)]
    if when.prune is not None:
        frames.append(_frame("prune", 0, _prune(round)))
    said, emitted = iter(sentences.sentences(run, round)), 0
    for visit in round.visits:
        shown = cards.of_visit(run, round, visit), residual.revealed(run, round, visit)
        left = residuals(visit).left
        for at, (card, rows) in enumerate(zip(*shown, strict=True)):
            emitted += visit.steps[at].verdict != "reject"
            known = min(emitted, len(round.emitted))
            sentence = next(said).removesuffix(".") + _after(run, round, visit, at, emitted, left)
            frames.append(
                _frame("verdict", visit.node, sentence)
                | {"card": card, "ask": _ask(run, visit, at), "rows": rows, "emitted": known}
                | {"child": visit.steps[at].child}
            )
    last = frames[-1]
    last |= {"phase": "end", "own": last["sentence"], "sentence": sentences.headline(run, round)}
    return frames


def _frame(phase: str, node: int, sentence: str) -> JsonObject:
    frame = {"phase": phase, "node": node, "sentence": sentence}
    return {**frame, "child": None, "card": "", "ask": None, "rows": 0, "emitted": 0}


def _level(run: Run, round: Round, level: int) -> str:
    """Return what the draft did at a level, as far as the trace knows (see `unknown`)."""
    if level == 0:
        alone = verdicts.ROOT_BARE if round.candidates else verdicts.ROOT_ALONE
        template = verdicts.ROOT_CARD if len(round.nodes) > 1 else alone
        return template.format(token=word(run, round.root))
    kept = [round.nodes[i] for i in round.rows_at(level)]
    expanded, slots = proposed(round, level)
    if level == 1:  # known in older traces too: the root kept a child
        slots = len(bars.children(run, round, 0))
    probes = sum(node.kind == "probe" for node in kept)
    some = verdicts.KEPT_ALL if slots == len(kept) else verdicts.KEPT_SOME
    survive = {
        "kept": counted(len(kept), some),
        "probes": counted(probes, verdicts.PROBES) if probes else "",
    }
    if probes and len(kept) == 1:
        survive["probes"] = verdicts.PROBE_ALONE
    if level == 1:
        return verdicts.LEVEL_ONE.format(named=_named(run, round), **survive)
    if not slots:
        return verdicts.LEVEL_OLDER.format(level=level, **survive)
    return verdicts.LEVEL.format(
        level=level,
        parents=counted(expanded, measures.COUNTS["best node"]),
        above=level - 1,
        proposed=counted(slots, measures.COUNTS["token"]),
        **survive,
    )


def _named(run: Run, round: Round) -> str:
    """Return the root's children by kind, in words."""
    by_kind: dict[str, list[str]] = {}
    for child in bars.children(run, round, 0):
        cold = child.kind == "probe" and run.params.get("T") == 0
        kind = "cold probe" if cold else child.kind
        by_kind.setdefault(kind, []).append(word(run, child.token))
    parts = [
        verdicts.NAMED[kind].format(
            tokens=counted(len(tokens), measures.COUNTS["token"])
            if kind == "filler"
            else ", ".join(tokens)
        )
        for kind, tokens in by_kind.items()
    ]
    return verdicts.AND.join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _prune(round: Round) -> str:
    kept = counted(len(round.nodes) - 1, measures.COUNTS["best node"])
    found = candidates(round)
    if not found:
        return verdicts.PRUNE_OLDER.format(kept=kept)
    dropped, deepest = len(found) - len(round.nodes) + 1, found[-1].level
    template = verdicts.PRUNE if dropped else verdicts.NONE_DROPPED
    gone = ""
    if deepest > round.levels:
        one, more = verdicts.LEVELS_GONE
        said = one if deepest == round.levels + 1 else more
        gone = said.format(first=round.levels + 1, last=deepest)
    return template.format(
        kept=kept,
        candidates=counted(len(found), measures.COUNTS["candidate"]),
        dropped=f"{dropped:,}",
        levels=gone,
    )


def _after(
    run: Run, round: Round, visit: Visit, at: int, emitted: int, left: list[float | None]
) -> str:
    """Return how a verdict's sentence ends: where the walk goes on, or what a rejection leaves."""
    step = visit.steps[at]
    if step.verdict == "accept":
        if emitted == len(round.emitted):
            return verdicts.TEXT_ENDS
        goes_on = verdicts.GOES_ON_LEAF if round.is_leaf(step.child) else verdicts.GOES_ON
        return goes_on.format(token=word(run, step.token))
    mass = _left(visit, at, left)
    if not mass:
        return "."
    whole = step.rule == "sibling" or not any(s.verdict == "reject" for s in visit.steps[:at])
    distribution = labels.DISTRIBUTIONS["p" if whole else "residual"]
    return verdicts.LEFT.format(mass=cards.amount(mass), distribution=distribution)


def _left(visit: Visit, at: int, left: list[float | None]) -> float:
    """Return the mass left by a rejection that changes the next draw; 0 for the others."""
    step, later = visit.steps[at], visit.steps[at + 1 :]
    if step.verdict != "reject":
        return 0.0
    if step.rule == "probe":
        return left[at] or 0.0
    missed = later and later[0].rule == "probe"  # all children tested first, up to this one
    return math.prod(x or 0.0 for x in left[: at + 1]) if missed else 0.0


def chance(step: Step) -> float:
    """Return with what probability a test accepts, given all verdicts before it.

    A sibling's p is its share of what the ones before it have left.
    """
    return step.ratio if step.rule == "probe" else step.p


def _ask(run: Run, visit: Visit, at: int) -> JsonObject | None:
    """Return the question to guess; None for an emission, and where the answer is all but sure."""
    step = visit.steps[at]
    if step.rule == "emit" or not OPEN[0] <= chance(step) <= OPEN[1]:
        return None
    template = verdicts.ASK_PROBE if step.rule == "probe" else verdicts.ASK_SIBLING
    return {
        "question": template.format(token=word(run, step.token)),
        "answer": step.verdict,
        "likelier": float(f"{max(chance(step), 1 - chance(step)):.3g}"),
        "hint": _hint(visit, at, step),
    }


def _hint(visit: Visit, at: int, step: Step) -> str:
    if step.rule == "probe":
        distribution, draft = cards.letters(visit, at)
        return verdicts.HINT_PROBE.format(distribution=distribution, draft=draft)
    distribution = labels.DISTRIBUTIONS[
        "residual" if any(s.rule == "probe" for s in visit.steps[:at]) else "p"
    ]
    return verdicts.HINT_SIBLING.format(distribution=distribution)
