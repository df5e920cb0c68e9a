"""The table is the trace in rows."""

import csv
import io

import pytest

from tests.visual import by_hand, sample
from visual import strings, table


def test_a_round_by_hand():
    run = by_hand.run()
    rows = table.rows(run, run.rounds[0])
    shown = [(r["step"], r["node"], r["token"], r["kind"], r["verdict"]) for r in rows]
    assert shown == [
        (None, 0, "␣the", "root", "root"),
        (2, 1, "␣cat", "deterministic", "reject"),
        (1, 2, "␣sea", "probe", "reject"),
        (3, 3, "␣dog", "filler", "accept"),
        (None, 4, "␣sat", "deterministic", "unvisited"),
        (None, 5, "␣ate", "probe", "unvisited"),
        (None, 6, "␣air", "deterministic", "unvisited"),
        (4, 7, "␣ran", "deterministic", "reject"),
        (5, "emit", "␣and", "residual", "emit"),
    ]
    assert len(table.rows(run, run.rounds[0], ghosts=True)) == len(rows) + 6


@pytest.mark.parametrize("run", [by_hand.run(), sample.run(3)])
def test_rows_hold_the_numbers_of_the_trace(run):
    for r in run.rounds:
        rows = {row["node"]: row for row in table.rows(run, r)}
        for i, node in enumerate(r.nodes[1:], start=1):
            for key in ("kind", "parent", "slot", "depth", "proxy", "true", "p", "accept", "score"):
                assert rows[i][key] == getattr(node, key)
        steps = [step for visit in r.visits for step in visit.steps]
        decided = {row["step"]: row for row in rows.values() if row["step"]}
        assert len(decided) == len(steps)
        for at, step in enumerate(steps, start=1):
            assert decided[at]["verdict"] == step.verdict


def test_csv_reads_back():
    run = by_hand.run()
    rows = table.rows(run, run.rounds[0], ghosts=True)
    back = list(csv.reader(io.StringIO(table.csv(rows))))
    assert back[0] == list(strings.COLUMNS.values())
    for row, line in zip(rows, back[1:], strict=True):
        for value, cell in zip(row.values(), line, strict=True):
            if isinstance(value, float):
                assert float(cell) == pytest.approx(value, rel=1e-8)
            else:
                assert cell == ("" if value is None else str(value))


@pytest.mark.parametrize(
    ("raw", "cell"),
    [('=HYPERLINK("x")', '\'=HYPERLINK("x")'), ("-", "-"), (' a,"b"\n', '␣a,"b"↵')],
)
def test_a_token_is_no_formula(raw, cell):
    run = by_hand.with_text(by_hand.run(), raw)
    back = list(csv.reader(io.StringIO(table.csv(table.rows(run, run.rounds[0])))))
    assert {line[2] for line in back[1:]} == {cell}
