"""The text twin of a round's drawing: one row a node, and the same as CSV."""

import csv as csv_format
import io
from typing import Any

from rheo.trace import Round, Run
from visual import graph as graphs
from visual import strings
from visual.text import name

FORMULA = ("=", "+", "-", "@")  # a cell that begins so is run by spreadsheets


def rows(run: Run, round: Round, ghosts: bool = False) -> list[dict[str, Any]]:
    """What is to know of each node of the tree; keys are `strings.COLUMNS`.

    Nodes come in the trace's order, then pruned children if asked for, then what the walk emitted.
    "step" counts the walk's verdicts from 1 and is None where there was none; numbers are the
    trace's own; None where there is none.
    """
    steps = [step for visit in round.visits for step in visit.steps]
    decided = {step.child: at for at, step in enumerate(steps, start=1) if step.child is not None}
    if steps and steps[-1].rule == "emit":
        decided["emit"] = len(steps)
    nodes = graphs.of(round, ghosts).nodes
    order = sorted(
        nodes, key=lambda n: (n == "emit", isinstance(n, str), 0 if isinstance(n, str) else n)
    )
    return [{"step": decided.get(n), "node": n, **_cells(run, nodes[n])} for n in order]


def _cells(run: Run, node: dict[str, Any]) -> dict[str, Any]:
    given = {key: node.get(key) for key in strings.COLUMNS if key not in ("step", "node")}
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
    writer = csv_format.DictWriter(out, list(strings.COLUMNS), lineterminator="\n")
    writer.writerow(strings.COLUMNS)
    for row in table:
        writer.writerow({key: _written(value) for key, value in row.items()})
    return out.getvalue()


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, str) and len(value) > 1 and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value
