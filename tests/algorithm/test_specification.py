"""The specification names tests that exist, and code cites sections that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "rheo" / "algorithm" / "README.md").read_text(encoding="utf-8")
SECTIONS = {int(n) for n in re.findall(r"^## (\d+)\.", TEXT, re.MULTILINE)}


def named_tests(text: str) -> list[tuple[str, str]]:
    """Return (file, test or "") for each `tests/...` and each `::test` behind one."""
    found, file = [], ""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+\*?))?`", text):
        file = path or file
        if path or test:
            found.append((file, test))
    return found


def missing(text: str) -> list[tuple[str, str]]:
    """Return the named tests that are not there."""
    wrong = []
    for file, test in named_tests(text):
        path = ROOT / file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        start = f"def {test.removesuffix('*')}" + ("" if test.endswith("*") else "(")
        if not source or (test and start not in source):
            wrong.append((file, test))
    return wrong


def wrong_citations(text: str) -> list[str]:
    """Return cited sections that the specification lacks."""
    cited = re.findall(r"algorithm sections? (\d+)", text)
    return [n for n in cited if int(n) not in SECTIONS]


def test_every_test_it_names_exists() -> None:
    assert len(named_tests(TEXT)) > 25
    assert not missing(TEXT)


@pytest.mark.parametrize("room", ["rheo", "visual", "tests"])
def test_every_cited_section_exists(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert path == Path(__file__) or not wrong_citations(source), path


def test_an_absent_test_and_an_absent_section_are_noticed() -> None:
    assert missing("`tests/algorithm/test_tree.py::test_of_nothing`, `::test_ties_go*`") == [
        ("tests/algorithm/test_tree.py", "test_of_nothing")
    ]
    assert missing("`tests/algorithm/absent.py`")
    assert wrong_citations("(algorithm section 9)") == ["9"]
