"""The table is the trace in rows."""

import csv
import io

import pytest

from tests.visual import by_hand, sample
from visual.round import round_table
from visual.words import labels


def test_a_round_by_hand():
    run = by_hand.run()
    rows = round_table.rows(run, run.rounds[0])
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
    assert len(round_table.rows(run, run.rounds[0], ghosts=True)) == len(rows) + 6


@pytest.mark.parametrize("run", [by_hand.run(), sample.run(3)])
def test_rows_hold_the_numbers_of_the_trace(run):
    for r in run.rounds:
        rows = {row["node"]: row for row in round_table.rows(run, r)}
        for i, node in enumerate(r.nodes[1:], start=1):
            for key in ("kind", "parent", "slot", "depth", "proxy", "true", "p", "accept", "score"):
                assert rows[i][key] == getattr(node, key)
        steps = [step for visit in r.visits for step in visit.steps]
        decided = {row["step"]: row for row in rows.values() if row["step"]}
        assert len(decided) == len(steps)
        for at, step in enumerate(steps, start=1):
            assert decided[at]["verdict"] == step.verdict


def test_a_verdict_has_its_numbers():
    """The residuals of the sample by hand: what each rejection of round 0 leaves."""
    run = by_hand.run()
    rows = {row["node"]: row for row in round_table.rows(run, run.rounds[0])}
    shown = {n: [rows[n][key] for key in round_table.TESTED] for n in (2, 1, 3, 7, "emit", 4)}
    assert shown[2] == pytest.approx([0.1, 0.25, 0.611, None, None, 0.5])
    assert shown[1] == pytest.approx([0.6, None, 0.712, 0.0, 0.6, 0.4])
    assert shown[3] == [0.5, None, 0.712, 0.6, 0.8, None]
    assert shown[7] == pytest.approx([0.4, None, 0.653, 0.0, 0.4, 0.6])
    assert shown["emit"] == [1 / 3, None, 0.653, 0.6, 0.8, None]
    assert shown[4] == [None] * 6  # never tested


def test_the_table_says_all_that_the_steps_say():
    for run in (by_hand.run(), by_hand.rrsw(), sample.run(3)):
        for r in run.rounds:
            decided = {row["step"]: row for row in round_table.rows(run, r) if row["step"]}
            steps = [step for visit in r.visits for step in visit.steps]
            for at, step in enumerate(steps, start=1):
                row = decided[at]
                assert row["tested"] == step.p and row["ratio"] == step.ratio
                assert (row["low"], row["high"]) == (step.low, step.high)
                assert row["uniform"] == (step.uniform if step.rule == "probe" else step.share)
                assert (row["left"] is None) == (step.verdict != "reject")


def test_csv_reads_back():
    run = by_hand.run()
    rows = round_table.rows(run, run.rounds[0], ghosts=True)
    back = list(csv.reader(io.StringIO(round_table.csv(rows))))
    assert back[0] == list(labels.COLUMNS.values())
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
    back = list(csv.reader(io.StringIO(round_table.csv(round_table.rows(run, run.rounds[0])))))
    assert {line[2] for line in back[1:]} == {cell}
