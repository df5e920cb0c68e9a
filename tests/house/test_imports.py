"""Imports run one way, between folders and between files, and the page opens without torch.

Every rule is a function from source text to complaints, so each is also shown a planted offence.
"""

import re
import subprocess
import sys
from collections.abc import Iterable

import networkx as nx
import pytest

from tests.house.source import FILES, ROOT, SOURCES, graph_of, inside

# from the lowest floor up; what stands on one floor does not import each other
FLOORS: tuple[tuple[str, ...], ...] = (
    ("rheo.counting", "rheo.errors", "rheo.version", "rheo.json_object", "rheo.whole_file"),
    ("rheo.ranges",),
    ("rheo.params",),
    ("rheo.algorithm", "rheo.trace", "rheo.models.hub", "rheo.models.cpu"),
    ("rheo.models.target",),
    ("rheo.models.draft",),
    ("rheo.models",),
    ("rheo.decoding", "rheo.training"),
    ("rheo.exact",),
    ("rheo.bench", "rheo.gallery"),
    ("rheo.cli",),
    ("rheo.__main__", "rheo"),
    ("visual.style",),
    ("visual.words",),
    ("visual.tree", "visual.server", "visual.dilemma"),
    ("visual.round",),
    ("visual.run",),
    ("visual.browser",),
    ("visual.runtime",),
    ("visual.pages", "visual"),
    ("app",),
)
ABOVE = {"rheo": "visual", "visual": "app"}  # what no file of a half may name at all
STRANGER = re.compile(r"\b(import|from)\b[^#'\"]*\b(gradio|plotly)\b|['\"](gradio|plotly)[.'\"]")
HEAVY = {"torch", "transformers", "accelerate", "gguf", "scipy"}


def room_of(module: str) -> str:
    """Return the folder or file of `FLOORS` that a module belongs to.

    >>> room_of("rheo.models.target.pretrained"), room_of("rheo.models.loader"), room_of("rheo")
    ('rheo.models.target', 'rheo.models', 'rheo')
    """
    rooms = [room for floor in FLOORS for room in floor if inside(module, room)]
    best = max(rooms, key=len)
    # the package itself offers its contents to people outside: nothing below imports it
    if best in ("rheo", "visual") and module != best:
        raise AssertionError(f"{module} has no room: give its folder a floor")
    return best


FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}


def wrong_way(graph: dict[str, set[str]]) -> list[str]:
    """Return the imports that do not go down."""
    return [
        f"{module} imports {name}"
        for module, names in sorted(graph.items())
        for name in sorted(names)
        if room_of(module) != room_of(name) and FLOOR[room_of(name)] >= FLOOR[room_of(module)]
    ]


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other."""
    drawn = nx.DiGraph([(module, name) for module, names in graph.items() for name in names])
    return [sorted(group) for group in nx.strongly_connected_components(drawn) if len(group) > 1]


def strangers(sources: dict[str, str]) -> list[str]:
    """Return the lines of the engine that know the page's libraries."""
    return [
        f"{module}: {line.strip()}"
        for module, text in sources.items()
        if inside(module, "rheo")
        for line in text.splitlines()
        if STRANGER.search(line)
    ]


def test_every_module_has_a_floor():
    assert all(room_of(module) for module in FILES)


def test_imports_go_down():
    assert not wrong_way(graph_of(SOURCES))


def test_no_circle():
    assert not circles(graph_of(SOURCES))


def test_the_engine_does_not_know_the_page():
    assert not strangers(SOURCES)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("rheo.algorithm.tree", "from rheo.decoding.loop import Decoding"),
        ("rheo.algorithm.verify", "def f():\n    from rheo.models.target import target"),
        (
            "rheo.algorithm.walk",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import rheo.bench.tables",
        ),
        ("rheo.trace.schema", "import importlib\nimportlib.import_module('rheo.algorithm.tree')"),
        ("rheo.trace.io", "from rheo.algorithm import tree"),
        ("rheo.models.draft.lm", "from ...decoding import loop"),
        ("rheo.params", "from rheo import load"),
        ("rheo.bench.tables", "import visual.style.palette"),
        ("visual.style.palette", "from visual.words import labels"),
        ("visual.tree.layout", "from visual.round import bars"),
        ("visual.browser.messages", "from visual.pages import playground"),
        ("visual.round.bars", "import app"),
    ],
)
def test_an_import_the_wrong_way_is_noticed(module, line):
    assert wrong_way(graph_of({module: line}))


def test_an_import_down_is_free():
    line = "from rheo.trace import io, schema\nfrom rheo.errors import RheoError"
    assert not wrong_way(graph_of({"rheo.gallery.record": line}))


@pytest.mark.parametrize("late", ["", "def f():\n    ", "if TYPE_CHECKING:\n    "])
def test_a_circle_is_noticed(late):
    sources = {
        "rheo.trace.schema": f"{late}from rheo.trace.io import load",
        "rheo.trace.io": "from rheo.trace import validate",
        "rheo.trace.validate": "from rheo.trace.schema import Run",
    }
    assert circles(graph_of(sources)) == [sorted(sources)]


@pytest.mark.parametrize(
    "line",
    [
        "def f():\n    import plotly.graph_objects as go",
        "import json, gradio",
        "__import__('gradio')",
        "import_module('plotly.io')",
    ],
)
def test_a_stranger_is_noticed(line):
    assert strangers({"rheo.bench.tables": line})


def loaded_by(modules: Iterable[str]) -> set[str]:
    """Return the top-level packages in a fresh interpreter's memory after it imported `modules`."""
    code = f"import {', '.join(modules)}, sys; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ["rheo.params", "rheo.trace", "rheo.exact", "visual", "app"])
def test_a_page_can_open_before_the_engine_is_loaded(room):
    """Of `exact`, the package itself: it says what there is without torch."""
    light = [n for n in FILES if (inside(n, room) if room != "rheo.exact" else n == room)]
    assert light and not HEAVY & loaded_by(light)


def test_a_heavy_import_is_noticed():
    assert HEAVY & loaded_by(["safetensors.torch"])
