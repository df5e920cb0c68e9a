"""A round as a table: one row a node, and the same as CSV."""

import csv as csv_format
import io
from collections.abc import Iterator
from typing import Any

from rheo.json_object import JsonObject
from rheo.trace.residuals import residuals
from rheo.trace.schema import Round, Run, Step
from visual.tree import graph
from visual.words import labels
from visual.words.sentences import name

FORMULA = ("=", "+", "-", "@")  # a cell that begins so is run by spreadsheets
TESTED = ("tested", "ratio", "uniform", "low", "high", "left")  # columns of a verdict


def rows(run: Run, round: Round, ghosts: bool = False) -> list[JsonObject]:
    """Return one row a node of the tree; keys are `labels.COLUMNS`.

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
    """Yield every step of the walk with the mass that its rejection leaves."""
    for visit in round.visits:
        yield from zip(visit.steps, residuals(visit).left, strict=True)


def _test(step: Step, left: float | None) -> JsonObject:
    shown = step.uniform if step.rule == "probe" else step.share
    return {
        "tested": step.p,
        "ratio": step.ratio,
        "uniform": shown,
        "low": step.low,
        "high": step.high,
        "left": left,
    }


def _cells(run: Run, node: JsonObject) -> JsonObject:
    own = [key for key in labels.COLUMNS if key not in ("step", "node", *TESTED)]
    given = {key: node.get(key) for key in own}
    if node["verdict"] in ("root", "emit"):  # neither stands in a slot
        given["slot"] = None
    if node["verdict"] == "root":
        given["parent"] = None
    return {**given, "token": name(run, node["token"])}


def csv(table: list[JsonObject]) -> str:
    """Return rows as CSV with a head; numbers to 9 significant digits, as the trace keeps them.

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
