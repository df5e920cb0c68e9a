"""Figures of a run: what was accepted, what became of the probes, where the time went."""

import html
import math
import statistics
from typing import Any

from rheo.json_object import JsonObject
from rheo.params import DecodeParams, strategy_fields
from rheo.trace.candidates import ghost_kind, unknown
from rheo.trace.schema import Round, Run
from visual.run.speedup import ROUND_PARTS, Machine, milliseconds, ms_a_token, speed
from visual.style.palette import MARKS
from visual.words import measures, sentences

ENDS = ("residual", "bonus")
COST_OF_A_LEVEL, _OVERHEAD = 0.06, 0.3  # in plain steps; they reproduce the paper's table


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
    for part in ROUND_PARTS:
        name, share = measures.SHARES[part], ms[part] / total
        title = measures.SHARE_TITLE.format(name=name, ms=ms[part])
        said = measures.PART_SHARE.format(name=name, percent=percent(share))
        parts.append(f'<i data-part="{part}" style="width:{100 * share:.2f}%" title="{title}"></i>')
        labels.append(f'<span data-part="{part}" title="{title}"><i></i>{said}</span>')
    said = ", ".join(
        measures.PART_SHARE.format(name=measures.SHARES[p], percent=percent(ms[p] / total))
        for p in ROUND_PARTS
    )
    label = html.escape(measures.SHARES_LABEL.format(total=total, parts=said))
    return (
        f"<p>{measures.ROUND_COST.format(total=total)}</p>"
        f'<div class="rm-bar" role="img" aria-label="{label}">{"".join(parts)}</div>'
        f'<p class="rm-labels" aria-hidden="true">{"".join(labels)}</p>'
    )


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
    usual = DecodeParams().as_dict()  # what an older trace does not name
    before, after = usual | old.params, usual | new.params
    names = [k for k in after if before[k] != after[k] and any(row.reads(k) for row in fields)]
    changed = ", ".join(
        measures.SETTING.format(name=k, old=_shown(before[k]), new=_shown(after[k])) for k in names
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
