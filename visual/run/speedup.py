"""A run's speed against plain decoding on this machine."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rheo.counting import counted
from rheo.params import strategy_fields
from rheo.trace.schema import Run
from visual.words import measures

ROUND_PARTS = ("target", "draft", "verify", "other")  # of a round's time


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


def milliseconds(run: Run) -> dict[str, float]:
    """Return mean ms a round, by part."""
    count = max(len(run.rounds), 1)
    return {
        part: math.fsum(getattr(r.ms, part) for r in run.rounds) / count for part in ROUND_PARTS
    }


def ms_a_token(run: Run) -> float | None:
    """Return the wall time of the rounds, in ms a token that they emitted."""
    emitted = sum(len(r.emitted) for r in run.rounds)
    return math.fsum(r.ms.total for r in run.rounds) / emitted if emitted else None


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
