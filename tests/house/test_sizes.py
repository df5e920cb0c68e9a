"""Folders, files and functions stay small, and every folder says what lives there."""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePath

import pytest

from tests.house.source import FILES, PACKAGES, ROOMS, ROOT, SOURCES, tracked

TOP_LEVEL = {"app.py", "rheo", "visual", "assets", "tests", "requirements.txt", "README.md"}
TOP_LEVEL |= {"LICENSE", "pyproject.toml"}
MOST_FILES, LONGEST_FILE, LONGEST_FUNCTION, LONGEST_APP = 12, 300, 50, 150
CODE = {".py", ".js", ".css", ".html"}


def crowded(paths: Iterable[PurePath]) -> dict[str, int]:
    """Return the folders with more code files than one look takes in; `__init__` is no file."""
    count = Counter(str(p.parent) for p in paths if p.suffix in CODE and p.stem != "__init__")
    return {folder: n for folder, n in count.items() if n > MOST_FILES}


def long_functions(source: str) -> list[str]:
    """Return the functions that do not fit a screen."""
    functions = (
        n
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = ((f.name, f.end_lineno - f.lineno + 1) for f in functions)
    return [f"{name}: {n} lines" for name, n in lengths if n > LONGEST_FUNCTION]


def unexplained(source: str) -> str:
    """Return what is wrong with the text that a folder opens with, "" if nothing."""
    said = ast.get_docstring(ast.parse(source)) or ""
    sentences = len(re.findall(r"[.:](?:\s|$)", said))
    return "" if sentences >= 2 else f"{sentences} sentences"


def strays(paths: Iterable[str]) -> set[str]:
    """Return the top-level names that have no room; dotfiles are free."""
    tops = {path.split("/")[0] for path in paths}
    return {top for top in tops - TOP_LEVEL if not top.startswith(".")}


def code_files() -> list[Path]:
    return [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in CODE]


def test_no_folder_is_crowded():
    assert not crowded(p.relative_to(ROOT) for p in code_files())


def test_files_stay_short():
    limits = dict.fromkeys(code_files(), LONGEST_FILE) | {FILES["app"]: LONGEST_APP}
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in limits}
    assert not {str(p.relative_to(ROOT)): lengths[p] for p in limits if lengths[p] > limits[p]}


def test_functions_fit_a_screen():
    found = {module: long_functions(text) for module, text in SOURCES.items()}
    assert not {module: wrong for module, wrong in found.items() if wrong}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_folder_says_what_lives_there(package):
    assert not unexplained(SOURCES[package])


def test_only_the_named_rooms_stand_at_the_top():
    assert not strays(tracked())


def test_each_offence_is_noticed():
    assert crowded(PurePath(f"rheo/room/{i}.py") for i in range(13)) == {"rheo/room": 13}
    assert long_functions("def f():\n" + "    x = 1\n" * 50) == ["f: 51 lines"]
    assert not long_functions("def f():\n" + "    x = 1\n" * 49)
    assert unexplained("") and unexplained('"""Views."""')
    assert strays(["app.py", ".ci/run", "notes/plan.md", "rheo/errors.py"]) == {"notes"}
