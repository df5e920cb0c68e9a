"""The model card's figures: those of the shipped head, and tables that add up."""

import json
import re

import pytest
from safetensors import safe_open

from rheo.models.hub.catalogue import ASSETS

HEAD = ASSETS / "eagle3-smollm2-135m"
CARD = (HEAD / "README.md").read_text(encoding="utf-8")
SIGNED = re.compile(r"([+-]?[\d.]+) \[")


def cells(start: str) -> list[list[str]]:
    """The rows of the table whose head begins so."""
    lines = CARD[CARD.index(start) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def first(cell: str) -> float:
    """The figure before an interval."""
    return float((SIGNED.match(cell) or re.match(r"([+-]?[\d.]+)", cell))[1])


def test_the_head_is_as_it_says():
    config = json.loads((HEAD / "config.json").read_text(encoding="utf-8"))
    assert f"{config['draft_vocab_size']:,} of {config['vocab_size']:,} tokens" in CARD
    size = (HEAD / "model.safetensors").stat().st_size / 1e6
    assert f"float16, {size:.0f} MB" in CARD
    with safe_open(HEAD / "model.safetensors", "pt") as stored:
        assert stored.get_tensor("d2t").shape[0] == config["draft_vocab_size"]


def test_differences_are_those_of_their_columns():
    rows = {row[0]: row[1:] for row in cells("| | T = 1, 300 contexts")}
    topk, rrsw, rheo = (first(rows[f"`{name}`"][0]) for name in ("topk", "rheo-rrsw", "rheo"))
    for name, other in (("topk", topk), ("rheo-rrsw", rrsw)):
        said = rows[f"`rheo` - `{name}`"][0]
        assert first(said) == pytest.approx(rheo - other, abs=0.0011)
        share = float(re.search(r"([\d.]+) % of tau", said)[1])
        assert share == pytest.approx(100 * (rheo - other) / (1 + other), abs=0.06)
    cold = [first(rows[f"`{name}`"][1]) for name in ("rheo", "topk", "rheo` - `topk")]
    assert cold[2] == pytest.approx(cold[0] - cold[1], abs=0.0011)


def test_one_parameter_at_a_time_has_one_reference():
    by_m = [(first(row[1]), first(row[2])) for row in cells("| m | `rheo`")]
    by_T = [(float(r[0]), first(r[1]), first(r[2]), first(r[3])) for r in cells("| T | `topk`")]
    assert all(gain == pytest.approx(rheo - topk, abs=0.0015) for _, topk, rheo, gain in by_T)
    topk = next(topk for T, topk, _, _ in by_T if T == 1)
    assert all(rheo - gain == pytest.approx(topk, abs=0.0015) for rheo, gain in by_m)
    by_S = [(first(row[1]), row[2]) for row in cells("| S | `rheo`")]
    assert all(first(x) == pytest.approx(r - by_S[0][0], abs=0.0015) for r, x in by_S[1:])


def test_a_wrong_figure_is_noticed():
    with pytest.raises(AssertionError):
        assert first("+0.187 [+0.1, +0.2]") == pytest.approx(1.053 - 0.875, abs=0.0011)
