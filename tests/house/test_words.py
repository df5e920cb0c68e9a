"""The field's words: a distribution is no law, but for "exact law", which the audit defines."""

import re

from tests.house.source import SOURCES, inside

LAW = re.compile(r"\blaws?\b", re.IGNORECASE)
EXACT_LAW = re.compile(r"\bexact[ _]law\b", re.IGNORECASE)
STATISTICIANS = ("rheo.exact", "rheo.cli")  # the audit, and the help of its command


def private_words(module: str, source: str) -> list[str]:
    """Return the lines that say "law" for a distribution."""
    if any(inside(module, room) for room in STATISTICIANS) and EXACT_LAW.search(source):
        return []
    return [line.strip() for line in source.splitlines() if LAW.search(line)]


def test_distributions_are_called_distributions():
    found = {module: private_words(module, text) for module, text in SOURCES.items()}
    assert not {module: lines for module, lines in found.items() if lines}


def test_a_law_is_noticed():
    line = "law = target_distribution(logits, T)  # the target's law"
    assert private_words("rheo.algorithm.walk", line) == [line]
    assert private_words("rheo.exact.worlds", line) == [line]
    assert not private_words("rheo.exact.audit", f"# the exact law\n{line}")
