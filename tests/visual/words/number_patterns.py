"""Templates read backwards: a sentence gives its fields, a field its numbers."""

import functools
import re
from string import Formatter

NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# fields of letters and tokens; whatever else a template has is a number, or numbers with words
LETTERS = frozenset(
    (
        *("token", "tokens", "kind", "next", "verdict", "distribution", "draft", "holds"),
        *("parent", "taken", "why", "named", "text", "root", "name", "letter", "rule", "title"),
        *("stage", "stop", "origin", "parting", "hovertext", "error"),
    )
)


@functools.cache
def pattern(template: str) -> re.Pattern[str]:
    """A template as an expression with a group for each field, the same field meaning the same."""
    seen: set[str] = set()
    out = []
    for literal, field, _, _ in Formatter().parse(template):
        out.append(re.escape(literal))
        if field is None:
            continue
        shape = {"verdict": r"\w+", "named": ".+"}.get(field, ".+?")
        out.append(f"(?P={field})" if field in seen else f"(?P<{field}>{shape})")
        seen.add(field)
    return re.compile("".join(out), re.DOTALL)


def fields(template: str) -> set[str]:
    """The fields of a template."""
    return {field for _, field, _, _ in Formatter().parse(template) if field}


def has_number(template: str) -> bool:
    """Whether a template can show a number: a digit of its own does not count."""
    return bool(fields(template) - LETTERS)


def shows(said: str, *values: float) -> None:
    """Assert that these numbers, and no others, stand in a text, each right to its last digit."""
    found = [x[0] for x in NUMBER.finditer(said)]
    assert len(found) == len(values), (said, values)
    for shown, value in zip(found, values, strict=True):
        plain = shown.replace(",", "")
        digits, _, power = plain.partition("e")
        decimals = len(digits.partition(".")[2])
        unit = 10.0 ** (int(power or 0) - decimals)
        assert abs(float(plain) - value) <= 0.501 * unit + 2e-8 * abs(value), (said, value)


def mass(said: str, value: float) -> None:
    """Assert a mass to three digits, which is "all" where they say 1."""
    if said == "all":
        assert abs(value - 1) < 5.1e-3, value
    else:
        three(said, value)


def three(said: str, value: float) -> None:
    """Assert a number with three significant digits, trailing zeros cut."""
    assert abs(float(said) - value) <= 5.01e-3 * abs(value) + 1e-12, (said, value)
