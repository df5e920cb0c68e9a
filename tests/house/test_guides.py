"""What a stranger reads first is true: folders name their files, and named files are there."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.source import FILES, PACKAGES, ROOMS, ROOT, SOURCES, tracked

TEXTS = {".py", ".js", ".css", ".html", ".md"}
FROM_OUTSIDE = {"plotly.js", "plotly.min.js", "answer.html"}
EXAMPLE = re.compile(r">>>|\.\.\. |^\[|import \{|PurePath")  # its files are made up


def contents(folder: Path) -> set[str]:
    """Return the modules and folders of a package that it has to name."""
    modules = {p.stem for p in folder.glob("*.py") if not p.stem.startswith("__")}
    return modules | {p.name for p in folder.iterdir() if p.is_dir() and p.name[0] not in "_."}


def unnamed(source: str, names: Iterable[str]) -> set[str]:
    """Return the names that a package's docstring leaves out."""
    said = ast.get_docstring(ast.parse(source)) or ""
    return {name for name in names if not re.search(rf"\b{name}\b", said)}


def absent(text: str, there: set[str]) -> set[str]:
    """Return the files that a text names and that are not there.

    >>> sorted(absent("see `io.py`, and old/steps.css", {"io.py"}))
    ['steps.css']
    """
    lines = (line for line in text.splitlines() if not EXAMPLE.search(line.strip()))
    named = {
        name for line in lines for name in re.findall(r"(\w[\w.]*\.(?:py|js|css|html|md))\b", line)
    }
    return named - there - FROM_OUTSIDE


def written() -> dict[str, str]:
    """Return the texts of the rooms, of the app and of the guides."""
    rooms = [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in TEXTS]
    paths = [*rooms, ROOT / "app.py", ROOT / "README.md", ROOT / "assets/notebooks/one_round.py"]
    return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_folder_names_all_that_is_in_it(package):
    assert not unnamed(SOURCES[package], contents(FILES[package].parent))


def test_every_file_that_is_named_is_there():
    there = {Path(path).name for path in tracked()}
    if not there:
        pytest.skip("this is no checkout")
    found = {path: absent(text, there) for path, text in written().items()}
    assert not {path: names for path, names in found.items() if names}


def test_each_offence_is_noticed():
    assert unnamed('"""Read io, then schema."""', {"io", "schema", "validate"}) == {"validate"}
    assert unnamed("x = 1", {"io"}) == {"io"}
    assert absent("the style is in host/steps.css", {"cards.css"}) == {"steps.css"}
    assert not absent(">>> order('a.js')", set())
