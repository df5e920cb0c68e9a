"""Print the bench's figures as aligned text."""

from collections.abc import Sequence

from rheo.bench.ablation import PAPER_DEPTH_1, departures
from rheo.bench.confidence import IntervalDict
from rheo.bench.expected_acceptance import Compared
from rheo.bench.throughput import Throughput
from rheo.bench.vs_generate import AgainstGenerate
from rheo.bench.vs_plain import AgainstPlain
from rheo.counting import counted
from rheo.params import DecodeParams

ABREAST = 4  # columns of intervals that fit a line


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Pad columns to their widest cell: the first to the left, the others to the right.

    >>> print(aligned(["name", "tau"], [["topk", "2.1"], ["rheo", "12.25"]]))
    name    tau
    topk    2.1
    rheo  12.25
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def number(value: float | None, digits: int = 2) -> str:
    """Format a figure, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Format a share in percent."""
    return "-" if value is None else f"{value:.1%}"


def interval(cell: IntervalDict | None, digits: int = 2, sign: str = "") -> str:
    """Format a value with the ends of its 95 % interval.

    >>> interval({"value": 2.5, "low": 2.25, "high": 2.75})
    '2.50 [2.25, 2.75]'
    """
    if cell is None or cell["value"] is None:
        return "-"
    value = f"{cell['value']:{sign}.{digits}f}"
    if cell["low"] is None:
        return value
    return f"{value} [{cell['low']:{sign}.{digits}f}, {cell['high']:{sign}.{digits}f}]"


def against_plain(rows: Sequence[AgainstPlain]) -> str:
    """Return the table of `vs_plain.against_plain`."""
    header = ["T", "x plain", "tau", "tokens/s", "plain tokens/s", "ms a round"]
    return aligned(
        header,
        [
            [
                number(row["T"], 1),
                interval(row["ratio"]),
                number(row["tau"]),
                number(row["tokens_per_s"], 1),
                number(row["plain_tokens_per_s"], 1),
                number(row["ms"]["total"], 1),
            ]
            for row in rows
        ],
    )


def sampled(result: Throughput) -> str:
    """Return the tables of `throughput.bench`."""
    rows = []
    for name, s in result["strategies"].items():
        parts = [
            number(s["ms"][part], 1) for part in ("draft", "target", "verify", "other", "total")
        ]
        rows.append(
            [
                name if s["lossless"] else f"{name} (BIASED)",
                interval(s["tau"]),
                number(s["expected_accepted"]),
                number(s["tokens_per_s"], 1),
                interval(s["ratio"]),
                *parts,
                percent(s["outside_models"]),
            ]
        )
    header = ["strategy", "tau [95 %]", "expected", "tokens/s", "x autoregressive [95 %]"]
    header += ["draft", "target", "verify", "other", "ms/round", "outside"]
    suites = [
        [suite, name, interval(s["tau"]), number(s["tokens_per_s"], 1), interval(s["ratio"])]
        for suite, strategies in result["suites"].items()
        for name, s in strategies.items()
    ]
    note = (
        "tau: tokens emitted by rounds / rounds. expected: accepted tokens given the drawn tree. "
        "outside: share of a\nround outside the two models' forwards. The ratio is the median over "
        "prompts, prefill included."
    )
    tables = [aligned(header, rows), note]
    tables.append(
        aligned(["suite", "strategy", "tau [95 %]", "tokens/s", "x autoregressive [95 %]"], suites)
    )
    return "\n\n".join(tables)


def compared(result: Compared) -> str:
    """Return the tables of `expected_acceptance.compare`."""
    header = ["strategy", "expected accepted [95 %]", "first accepted [95 %]"]
    header += ["probe survival", "probe acceptance", "coverage"]
    rows = [
        [
            name,
            interval(s["expected_accepted"], 4),
            interval(s["first_acceptance"], 4),
            percent(s["probe_survival"]),
            percent(s["probe_acceptance"]),
            percent(s["coverage"]),
        ]
        for name, s in result["strategies"].items()
    ]
    tables = [aligned(header, rows)]
    if result["differences"]:
        pairs = [
            [f"{d['of']} - {d['over']}", interval(d, 4, "+"), f"{d['share_of_tau']:+.1%}"]
            for d in result["differences"]
        ]
        tables.append(aligned(["paired difference", "accepted [95 %]", "of tau"], pairs))
    suites = [
        [suite, *(interval(s, 3) for s in strategies.values())]
        for suite, strategies in result["suites"].items()
    ]
    if len(result["strategies"]) <= ABREAST:
        tables.append(aligned(["suite", *result["strategies"]], suites))
    notes = _drawn(result)
    if "closed_form_gap" in result:
        notes += (
            f" Top-K equals the sum of its path products within {result['closed_form_gap']:.1e}."
        )
    return "\n\n".join([*tables, notes])


def _drawn(result: Compared) -> str:
    """Return how much was drawn, in words."""
    contexts = counted(result["contexts"], ("{count} context", "{count} contexts"))
    trees = counted(result["draws"], ("{count} tree", "{count} trees"))
    return f"{contexts}, {trees} each; intervals by context."


def depth_1(result: Compared, params: DecodeParams) -> str:
    """Return the acceptance of the first draft token beside the paper's, and what was measured."""
    rows = [
        [name, interval(s["first_acceptance"], 3), number(PAPER_DEPTH_1.get(name), 3)]
        for name, s in result["strategies"].items()
    ]
    notes = _drawn(result)
    slots = counted(params.K, ("K = {count} slot", "K = {count} slots"))
    notes += f"\nOne level of {slots}, all kept, at T = {params.T:g}."
    if others := departures(params):
        notes += f" This is not the paper's setting: it has {', '.join(others)}."
    return aligned(["acceptance at depth 1", "here [95 %]", "paper"], rows) + "\n\n" + notes


def pairs(result: AgainstGenerate) -> str:
    """Return the table of `vs_generate.against_generate`."""
    rows = [
        [
            str(i),
            str(p["tokens"]),
            number(p["ours_s"], 3),
            number(p["generate_s"], 3),
            number(p["ratio"], 3),
            "yes" if p["same_ids"] else "no",
        ]
        for i, p in enumerate(result["pairs"], start=1)
    ]
    header = ["pair", "tokens", "ours, s", "generate, s", "ratio", "same ids"]
    threads = counted(result["threads"], ("{count} thread", "{count} threads"))
    median = f"median ratio {interval(result['ratio'], 3)}, {threads}"
    return aligned(header, rows) + "\n\n" + median
