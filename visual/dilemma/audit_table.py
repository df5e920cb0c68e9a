"""A world's audits as a table: exact distance, and green and red said in words too."""

import html
import math
from collections.abc import Sequence

from rheo.json_object import JsonObject
from visual.dilemma.acceptance import percent
from visual.words import one_hot

LEAST = 1e-9  # a distance above it is a bias; rounding gives 1e-15


def table(rows: Sequence[JsonObject]) -> str:
    """Return `comparison` records as an HTML table."""
    head = "".join(f"<th>{name}</th>" for name in one_hot.VERDICT_HEAD)
    body = "".join(map(_row, rows))
    said = note(rows)
    below = f"<p class='dl-note'>{html.escape(said)}</p>" if said else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def note(rows: Sequence[JsonObject]) -> str:
    """Return what the table says about cheating, in a sentence; "" where it says nothing."""
    honest = max((r["expected_accepted"] for r in rows if not biased(r)), default=math.inf)
    paid = [r for r in rows if biased(r) and r["expected_accepted"] > honest]
    if not paid:
        return ""
    names = ", ".join(one_hot.RULE_NAMES[row["strategy"]] for row in paid)
    return one_hot.CHEATING_PAYS.format(names=names)


def biased(row: JsonObject) -> bool:
    """Return whether the exact distribution differs from the target's."""
    return row["tv"] > LEAST


def _row(row: JsonObject) -> str:
    bad = biased(row)
    words = one_hot.VERDICT_BAD.format(percent=percent(row["tv"])) if bad else one_hot.VERDICT_GOOD
    name = html.escape(one_hot.RULE_NAMES[row["strategy"]])
    if not row["lossless"]:
        name += f" <small>{one_hot.SABOTAGED}</small>"
    cells = (words, _worst(row) if bad else one_hot.VERDICT_SAME, f"{row['expected_accepted']:.3f}")
    return (
        f'<tr class="{"bad" if bad else "good"}" data-rule="{row["strategy"]}"><th>{name}</th>'
        f"<td>{distance(row['tv'])}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    )


def distance(tv: float) -> str:
    """Return a total variation in digits.

    >>> distance(0.0867), distance(3e-16)
    ('0.0867', '3e-16')
    """
    return f"{tv:.4f}" if tv > LEAST else f"{tv:.0e}"


def _worst(row: JsonObject) -> str:
    sequence = " ".join(one_hot.WORLD_WORDS[token] for token in row["worst"])
    share, target = percent(row["worst_law"]), percent(row["worst_target"])
    return one_hot.VERDICT_WORST.format(sequence=sequence, share=share, target=target)
