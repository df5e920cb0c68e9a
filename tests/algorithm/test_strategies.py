"""The table has a row for every strategy, and code asks a strategy's fields, never its name."""

import ast
from dataclasses import fields, replace
from pathlib import Path

import pytest

from rheo.algorithm.expansion import Policy
from rheo.algorithm.strategies import TABLE
from rheo.params import STRATEGY_FIELDS, DecodeParams, StrategyFields, strategy_fields

ROOT = Path(__file__).parents[2]


def comparisons_by_name(source: str) -> list[int]:
    """Return the lines that compare something with a strategy's name.

    >>> comparisons_by_name("if a == 'naive' or b in ('topk', 'rheo'): pass")
    [1, 1]
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        values = (v for side in sides for v in getattr(side, "elts", [side]))
        if any(isinstance(v, ast.Constant) and v.value in STRATEGY_FIELDS for v in values):
            found.append(node.lineno)
    return found


def test_every_strategy_has_its_rule_and_its_fields() -> None:
    assert list(TABLE) == list(STRATEGY_FIELDS)
    for name, row in TABLE.items():
        assert row.fields is STRATEGY_FIELDS[name] is strategy_fields(name), name
        assert row.fields.about.endswith(".")
        assert DecodeParams(strategy=name).fields is row.fields


def test_a_policy_follows_from_the_fields() -> None:
    params = DecodeParams(m=2, K=5, probes=3)
    policies = {name: row.policy(params) for name, row in TABLE.items()}
    assert policies["rheo"] == policies["rheo-rrsw"] == Policy(2, 1)
    assert policies["rheo-multi"] == Policy(2, 3) and policies["topk"] == Policy(5, 0)
    assert policies["naive"] == Policy(2, 1, proxy=False)
    by_token = replace(TABLE["rheo"], fields=replace(TABLE["rheo"].fields, structural_ties=False))
    assert by_token.policy(params) == Policy(2, 1, ties="token")


def test_each_field_tells_strategies_apart() -> None:
    """But structural ties, which only a planted mistake does without."""
    for field in fields(StrategyFields):
        values = {getattr(row, field.name) for row in STRATEGY_FIELDS.values()}
        assert len(values) > 1 or field.name == "structural_ties"


def test_a_name_of_another_version_is_read_as_rheo() -> None:
    assert strategy_fields("of tomorrow") is strategy_fields(None) is STRATEGY_FIELDS["rheo"]


@pytest.mark.parametrize("room", ["rheo", "visual"])
def test_nothing_asks_for_a_strategys_name(room: str) -> None:
    found = {
        str(path.relative_to(ROOT)): comparisons_by_name(path.read_text(encoding="utf-8"))
        for path in (ROOT / room).rglob("*.py")
    }
    assert not {path: lines for path, lines in found.items() if lines}


def test_a_comparison_by_name_is_noticed() -> None:
    assert comparisons_by_name("x = run.params.get('strategy') == 'topk'") == [1]
    assert comparisons_by_name("x = s != 'autoregressive'") and not comparisons_by_name("x = 1 < y")
    assert not comparisons_by_name("x = worth['topk'] > worth['rheo']")
