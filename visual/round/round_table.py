"""The text twin of a round's drawing: one row a node, and the same as CSV."""

import csv as csv_format
import io
import math
from collections.abc import Iterator
from typing import Any

from rheo.trace.schema import Round, Run, Step, Visit
from visual.tree import graph
from visual.words import labels
from visual.words.sentences import name

FORMULA = ("=", "+", "-", "@")  # a cell that begins so is run by spreadsheets
TESTED = ("tested", "ratio", "uniform", "low", "high", "left")  # columns of a verdict


def rows(run: Run, round: Round, ghosts: bool = False) -> list[dict[str, Any]]:
    """What is to know of each node of the tree; keys are `strings.COLUMNS`.

    Nodes come in the trace's order, then pruned children if asked for, then what the walk emitted.
    "step" counts the walk's verdicts from 1; "tested" is the token's mass in what is left of p
    before its verdict, "uniform" what decided it, "low" and "high" its interval, and "left" the
    mass that its rejection leaves. Numbers are the trace's own; None where there is none.
    """
    decided = {}
    for at, (step, left) in enumerate(_verdicts(round), start=1):
        decided["emit" if step.child is None else step.child] = {"step": at, **_test(step, left)}
    nodes = graph.of(round, ghosts).nodes
    order = sorted(
        nodes, key=lambda n: (n == "emit", isinstance(n, str), 0 if isinstance(n, str) else n)
    )
    empty = dict.fromkeys(labels.COLUMNS)
    return [empty | {"node": n, **_cells(run, nodes[n]), **decided.get(n, {})} for n in order]


def _verdicts(round: Round) -> Iterator[tuple[Step, float | None]]:
    """Every step of the walk with the mass that it leaves."""
    for visit in round.visits:
        yield from zip(visit.steps, _left(visit), strict=True)


def _left(visit: Visit) -> list[float | None]:
    """Of each rejected step the mass of what is left, before it is stretched to 1."""
    stages, place = iter(visit.residuals()), {t: i for i, t in enumerate(visit.ids)}
    law, probe, left = next(stages), 0, []
    for step in visit.steps:
        q = (*visit.q_tilde[probe], 0.0) if step.rule == "probe" else ()
        probe += step.rule == "probe"
        if step.verdict != "reject":
            left.append(None)
            continue
        if step.rule == "probe":
            left.append(math.fsum(max(0.0, a - b) for a, b in zip(law, q, strict=True)))
        else:
            left.append(1 - law[place[step.token]] if step.token in place else 1 - step.p)
        law = next(stages)
    return left


def _test(step: Step, left: float | None) -> dict[str, Any]:
    shown = step.uniform if step.rule == "probe" else step.share
    return {
        "tested": step.p,
        "ratio": step.ratio,
        "uniform": shown,
        "low": step.low,
        "high": step.high,
        "left": left,
    }


def _cells(run: Run, node: dict[str, Any]) -> dict[str, Any]:
    own = [key for key in labels.COLUMNS if key not in ("step", "node", *TESTED)]
    given = {key: node.get(key) for key in own}
    if node["verdict"] in ("root", "emit"):  # neither stands in a slot
        given["slot"] = None
    if node["verdict"] == "root":
        given["parent"] = None
    return {**given, "token": name(run, node["token"])}


def csv(table: list[dict[str, Any]]) -> str:
    """Rows as CSV with a head; numbers to 9 significant digits, as the trace keeps them.

    >>> csv([{"step": 1, "node": 2, "token": "␣a,b", "p": 0.25}]).splitlines()[1][:12]
    '1,2,"␣a,b",,'
    """
    out = io.StringIO()
    writer = csv_format.DictWriter(out, list(labels.COLUMNS), lineterminator="\r\n")
    writer.writerow(labels.COLUMNS)
    for row in table:
        writer.writerow({key: _written(value) for key, value in row.items()})
    return out.getvalue()


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, str) and len(value) > 1 and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value
