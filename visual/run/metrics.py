"""Figures of a run: what was accepted, what became of the probes, where the time went."""

import html
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rheo.counting import counted
from rheo.json_object import JsonObject
from rheo.params import strategy_fields
from rheo.trace.candidates import ghost_kind, unknown
from rheo.trace.schema import Round, Run
from visual.style.palette import MARKS
from visual.words import measures, sentences

_PARTS = ("target", "draft", "verify", "other")
ENDS = ("residual", "bonus")
COST_OF_A_LEVEL, _OVERHEAD = 0.06, 0.3  # in plain steps; they reproduce the paper's table


@dataclass(frozen=True)
class Plain:
    """Plain autoregressive decoding as measured on this machine: ms a token.

    Attributes:
        ms: the median of so many `tokens`. fastest, slowest: the ends of their range.
        beside: they were interleaved with the run that is compared, not measured before it.
    """

    ms: float
    tokens: int
    fastest: float
    slowest: float
    beside: bool = False

    @classmethod
    def of(cls, samples: Sequence[float], beside: bool = False) -> "Plain":
        """Return the figures of at least one sample, in ms.

        >>> Plain.of([40.0, 44.0, 90.0])
        Plain(ms=44.0, tokens=3, fastest=40.0, slowest=90.0, beside=False)
        """
        low, high = min(samples), max(samples)
        return cls(statistics.median(samples), len(samples), low, high, beside)


@dataclass(frozen=True)
class Machine:
    """What is known beside the trace. `here`: the run was decoded by this very process."""

    here: bool = False
    plain: Plain | None = None
    vocabulary: int | None = None  # of the target


ELSEWHERE = Machine()  # a run that was decoded somewhere else


def plain_of(run: Run) -> Plain | None:
    """Return the reference of an autoregressive run; None for another, or without rounds."""
    if strategy_fields(run.params.get("strategy")).draws_tree or not run.rounds:
        return None
    return Plain.of([r.ms.total for r in run.rounds])


def origins(run: Run) -> dict[str, int]:
    """Return the tokens that rounds emitted, by origin."""
    count = dict.fromkeys(("deterministic", "probe", "filler", *ENDS), 0)
    for r in run.rounds:
        for emission in r.emitted:
            count[emission.origin] += 1
    return count


def survival(run: Run) -> tuple[int, int]:
    """Return the probes that pruning kept, and all probes of nodes that kept a child."""
    kept = sum(node.kind == "probe" for r in run.rounds for node in r.nodes)
    ghosts = [g for r in run.rounds for node in r.nodes for g in node.ghosts]
    lost = sum(ghost_kind(run, ghost) == "probe" for ghost in ghosts)
    return kept, kept + lost


def tested(run: Run) -> tuple[int, int, float]:
    """Return probes accepted, probes tested, and the mean probability of those tests."""
    steps = [s for r in run.rounds for v in r.visits for s in v.steps if s.rule == "probe"]
    mean = statistics.fmean(s.ratio for s in steps) if steps else 0.0
    return sum(s.verdict == "accept" for s in steps), len(steps), mean


def milliseconds(run: Run) -> dict[str, float]:
    """Return mean ms a round, by part."""
    count = max(len(run.rounds), 1)
    return {part: math.fsum(getattr(r.ms, part) for r in run.rounds) / count for part in _PARTS}


def ms_a_token(run: Run) -> float | None:
    """Return the wall time of the rounds, in ms a token that they emitted."""
    emitted = sum(len(r.emitted) for r in run.rounds)
    return math.fsum(r.ms.total for r in run.rounds) / emitted if emitted else None


def projected(tau: float, depth: int, draft: float = COST_OF_A_LEVEL, overhead: float = _OVERHEAD):
    """Return the speed-up where a round costs 1 + overhead + depth x draft plain steps.

    >>> round(projected(5.25, 8), 2)  # the paper measured 2.93
    2.95
    """
    return tau / (1 + overhead + depth * draft)


def box(run: Run, machine: Machine) -> JsonObject:
    """Return what the run's box says beside its timeline; texts but for `shares`, which is HTML."""
    return {
        "figures": figures(run),
        "shares": shares(run),
        "speed": speed(run, machine),
        "projection": projection(run),
        "label": label(run),
        "hint": measures.ROUNDS_HINT,
    }


def figures(run: Run) -> list[tuple[str, str, str]]:
    """Return the run's figures as (label, value, hint)."""
    if not run.rounds:
        return []
    said = {"tau": f"{run.tau:.2f}", "expected": f"{run.expected_accepted:.2f}"}
    said["accepted"] = f"{statistics.fmean(r.accepted for r in run.rounds):.2f}"
    emitted = origins(run)
    said["kinds"] = _counts({k: n for k, n in emitted.items() if k not in ENDS})
    said["ended"] = _counts({k: emitted[k] for k in ENDS})
    took = ms_a_token(run)
    said["speed"] = f"{1000 / took:.1f}" if took else measures.NONE_OF
    hints = {"expected": measures.EXPECTED_OLDER} if "end tokens" in unknown(run) else {}
    kept, slots = survival(run)
    accepted, count, mean = tested(run)
    if slots:
        said["survival"] = _of(kept, slots)
        said["tests"] = _of(accepted, count)
        hints["survival"] = measures.SURVIVAL_HINT
        hints["tests"] = measures.TESTS_HINT.format(mean=f"{mean:.2f}") if count else ""
    return [
        (name, said[key], hints.get(key, ""))
        for key, name in measures.FIGURES.items()
        if key in said
    ]


def _counts(count: dict[str, int]) -> str:
    return " · ".join(
        measures.COUNT.format(letter=MARKS[kind].letter, count=n) for kind, n in count.items()
    )


def _of(part: int, whole: int) -> str:
    if not whole:
        return measures.NONE_OF
    return measures.OF.format(part=part, whole=whole, percent=percent(part / whole))


def percent(share: float) -> str:
    """Return a share in whole percents.

    >>> percent(0.625)
    '62 %'
    """
    return measures.PERCENT.format(value=100 * share)


def shares(run: Run) -> str:
    """Return where a round's time goes: one stacked bar and its labels, as HTML."""
    ms = milliseconds(run)
    total = math.fsum(ms.values())
    if total <= 0:
        return ""
    parts, labels = [], []
    for part in _PARTS:
        name, share = measures.SHARES[part], ms[part] / total
        title = measures.SHARE_TITLE.format(name=name, ms=ms[part])
        said = measures.PART_SHARE.format(name=name, percent=percent(share))
        parts.append(f'<i data-part="{part}" style="width:{100 * share:.2f}%" title="{title}"></i>')
        labels.append(f'<span data-part="{part}" title="{title}"><i></i>{said}</span>')
    said = ", ".join(
        measures.PART_SHARE.format(name=measures.SHARES[p], percent=percent(ms[p] / total))
        for p in _PARTS
    )
    label = html.escape(measures.SHARES_LABEL.format(total=total, parts=said))
    return (
        f"<p>{measures.ROUND_COST.format(total=total)}</p>"
        f'<div class="rm-bar" role="img" aria-label="{label}">{"".join(parts)}</div>'
        f'<p class="rm-labels" aria-hidden="true">{"".join(labels)}</p>'
    )


def ratio(run: Run, machine: Machine) -> tuple[float, float, float] | None:
    """Return how many times as fast as plain decoding here it was; None if not measured.

    The median of the plain steps gives the first number, their fastest and slowest the range.
    """
    took, plain = ms_a_token(run), machine.plain
    if took is None or not machine.here or plain is None or plain_of(run) is not None:
        return None
    return plain.ms / took, plain.fastest / took, plain.slowest / took


def ended(run: Run, machine: Machine) -> str:
    """Return what is added to the sentence on a run's end: its speed, if it was measured beside."""
    times = ratio(run, machine)
    if times is None or machine.plain is None or not machine.plain.beside:
        return ""
    return measures.ENDED.format(ratio=times[0], low=times[1], high=times[2])


def speed(run: Run, machine: Machine) -> str:
    """Return the speed-up over plain decoding on this machine, or why there is none to tell."""
    took = ms_a_token(run)
    if took is None:
        return ""
    own = plain_of(run)
    if own is not None:
        return measures.THE_REFERENCE.format(ms=own.ms)
    if not machine.here:
        return measures.MADE_ELSEWHERE.format(device=device(run), speed=1000 / took)
    if machine.plain is None:
        return measures.UNMEASURED
    times, plain = ratio(run, machine), machine.plain
    form = measures.MEASURED if plain.beside else measures.MEASURED_BEFORE
    said = form.format(
        ratio=times[0],
        low=times[1],
        high=times[2],
        ms=took,
        plain=plain.ms,
        fastest=plain.fastest,
        slowest=plain.slowest,
        steps=counted(plain.tokens, measures.COUNTS["step"]),
    )
    return said if times[0] >= 1 else f"{said} {_why_slow(run, plain)}"


def _why_slow(run: Run, plain: Plain) -> str:
    ms = milliseconds(run)
    steps = ms["target"] / plain.ms
    tau = len([e for r in run.rounds for e in r.emitted]) / len(run.rounds)
    if steps > tau / 2:
        rows = round(statistics.fmean(len(r.nodes) for r in run.rounds))
        return measures.WHY_SLOW.format(
            rows=counted(rows, measures.COUNTS["row"]), steps=steps, tau=tau
        )
    return measures.WHY_SLOW_DRAFT.format(round=math.fsum(ms.values()) / plain.ms, tau=tau)


def device(run: Run) -> str:
    """Return what a run was decoded on, in a word or two."""
    kind = run.device.split(":")[0]
    name, threads = measures.DEVICES.get(kind, kind), run.versions.get("threads")
    if kind != "cpu" or not threads:
        return name
    shown = counted(int(threads), measures.COUNTS["thread"]) if threads.isdecimal() else threads
    return measures.THREADS.format(device=name, threads=shown)


def projection(run: Run) -> JsonObject | None:
    """Return what the browser recomputes as the reader changes two costs; None without draft."""
    if not run.rounds or not strategy_fields(run.params.get("strategy")).draws_tree:
        return None
    costs = {"draft": COST_OF_A_LEVEL, "overhead": _OVERHEAD}
    return {
        "title": measures.PROJECTION,
        "formula": measures.PROJECTION_FORMULA,
        "names": {"draft": measures.DRAFT_COST, "overhead": measures.OVERHEAD},
        "why": measures.PROJECTION_WHY.format(**costs),
        "tau": run.tau,
        "depth": int(run.params.get("depth", 8)),
        **costs,
    }


def label(run: Run) -> str:
    """Return the timeline in a sentence, for who does not see it."""
    if not run.rounds:
        return ""
    counts = ", ".join(str(len(r.emitted)) for r in run.rounds)
    return measures.TIMELINE_LABEL.format(counts=counts, tau=f"{run.tau:.2f}")


def compared(old: Run, new: Run) -> str:
    """Return two runs of one prompt and one seed in a sentence."""
    fields = [strategy_fields(run.params.get("strategy")) for run in (old, new)]
    names = [
        k
        for k in new.params
        if old.params.get(k) != new.params[k] and any(row.reads(k) for row in fields)
    ]
    changed = ", ".join(
        measures.SETTING.format(name=k, old=_shown(old.params.get(k)), new=_shown(new.params[k]))
        for k in names
    )
    apart = parting(old, new)
    both = {"old": old, "new": new}
    said = {f"{key}_tau": _two(run.tau) for key, run in both.items()}
    said |= {f"{key}_expected": _two(run.expected_accepted) for key, run in both.items()}
    where = measures.SAME_TEXT if apart is None else measures.PARTED.format(round=apart + 1)
    return measures.COMPARED_SAID.format(
        changed=changed or measures.SAME_SETTINGS, parting=where, **said
    )


def parting(old: Run, new: Run) -> int | None:
    """Return the first round that emitted other tokens; None where the text is the same so far."""

    def tokens(r: Round) -> list[int]:
        return [e.token for e in r.emitted]

    pairs = enumerate(zip(old.rounds, new.rounds, strict=False))
    apart = next((k for k, (a, b) in pairs if tokens(a) != tokens(b)), None)
    if apart is None and len(old.rounds) != len(new.rounds):
        return min(len(old.rounds), len(new.rounds))
    return apart


def _two(x: float | None) -> str:
    return "–" if x is None else f"{x:.2f}"


def _shown(value: Any) -> str:
    return sentences.number(value) if isinstance(value, float) else str(value)
