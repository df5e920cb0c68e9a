"""Scripts and styles live in files of their own, not in Python's strings."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.source import FILES, SOURCES, inside

SCRIPT = re.compile(
    r"=>\s*\{|\bfunction\b\s*\w*\(|\bdocument\.\w|addEventListener|\b(const|let|var) \w+ ="
    r"|<style\b|<script(?![^>]*\bsrc=)|\{\s*-{0,2}[a-z][a-z-]*\s*:[^{}]*;"
)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """String literals but docstrings; the holes of an f-string read as "x"."""
    tree = ast.parse(source)
    skip = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "x" for p in node.values)
            yield node.lineno, "".join(parts)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skip
        ):
            yield node.lineno, node.value


def inline_code(source: str) -> list[str]:
    """Literals that carry a script or a style sheet; a one-line call into a real file may stay."""
    return [f"line {line}: {text[:60]!r}" for line, text in texts(source) if SCRIPT.search(text)]


@pytest.mark.parametrize("module", [n for n in FILES if not inside(n, "rheo")])
def test_scripts_and_styles_are_real_files(module):
    assert not inline_code(SOURCES[module])


@pytest.mark.parametrize(
    "literal",
    [
        '"() => { next(); }"',
        '"function go() {}"',
        '"<style>p{}</style>"',
        '"<script>go()</script>"',
        'f".tree {{ color: {c}; }}"',
    ],
)
def test_an_inline_script_or_style_is_noticed(literal):
    assert inline_code(f"x = {literal}")


def test_links_templates_and_calls_are_free():
    for text in ('<script src="/a.js"></script>', "round {n:d}; p %{y:.3f}", "(v) => rheo.show(v)"):
        assert not inline_code(f"x = {text!r}")
