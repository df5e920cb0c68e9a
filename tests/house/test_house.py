"""The house rules of the source tree: which way imports run, where randomness and scripts live.

Every rule is a function from source text to complaints, so each is also shown a planted offence.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("rheo", "visual", "app")
TOP_LEVEL = {"app.py", "rheo", "visual", "assets", "tests", "requirements.txt", "README.md"}
TOP_LEVEL |= {"LICENSE", "pyproject.toml"}
LONGEST_FILE, LONGEST_APP = 350, 150

PAGE = {"gradio", "plotly", "visual", "app"}
LOOP = {"rheo.models.target.target", "rheo.models.draft", "rheo.decoding.loop"}
FORBIDDEN = {
    # module: what neither it nor anything of ours that it imports may import
    "rheo": PAGE,
    "visual": {"app"},
    "rheo.errors": {"rheo"},
    "rheo.trace.schema": {
        "rheo.params",
        "rheo.algorithm.distribution",
        "rheo.algorithm.tree",
        "rheo.algorithm.verify",
        *LOOP,
    },
    "rheo.params": {"rheo.algorithm.tree", "rheo.algorithm.verify", "rheo.trace.schema", *LOOP},
    "rheo.algorithm.distribution": {
        "rheo.algorithm.tree",
        "rheo.algorithm.verify",
        "rheo.trace.schema",
        "transformers",
        *LOOP,
    },
    "rheo.algorithm.tree": {"rheo.trace.schema", "transformers", *LOOP},
    "rheo.algorithm.verify": {"rheo.trace.schema", "transformers", *LOOP},
}
HEAVY = {"torch", "transformers", "accelerate", "gguf", "scipy"}


def python_files() -> dict[str, Path]:
    """Dotted module name -> file, of rheo, visual and app."""
    files = [p for room in ROOMS for p in (ROOT / room).rglob("*.py")]
    files += [p for p in (ROOT / "app.py",) if p.exists()]
    names = (p.relative_to(ROOT).with_suffix("").parts for p in files)
    return {".".join(n).removesuffix(".__init__"): p for n, p in zip(names, files, strict=True)}


FILES = python_files()
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}


# Which way imports run


def imports(module: str, source: str, package: bool = False) -> set[str]:
    """Dotted names that a module imports anywhere, functions and type checking included.

    `from a import b` gives both "a" and "a.b", for b may be a module.
    """
    home = module.split(".") if package else module.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*start, *(node.module.split(".") if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """All that `start` imports, and what modules of ours among them import in turn."""
    found, queue = set(), [start]
    while queue:
        new = graph.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


def inside(name: str, area: str) -> bool:
    """Whether a dotted name is `area` or lies below it."""
    return name == area or name.startswith(area + ".")


def wrong_way(graph: dict[str, set[str]]) -> list[str]:
    """Imports, direct or through another module of ours, that the table forbids."""
    return [
        f"{module} reaches {name}"
        for area, banned in FORBIDDEN.items()
        for module in graph
        if inside(module, area)
        for name in sorted(reached(module, graph))
        if any(inside(name, b) for b in banned)
    ]


def graph_of(sources: dict[str, str]) -> dict[str, set[str]]:
    return {name: imports(name, text, name in PACKAGES) for name, text in sources.items()}


def test_imports_run_one_way():
    assert not wrong_way(graph_of(SOURCES))


def test_trace_knows_only_errors():
    ours = {n for n in graph_of(SOURCES).get("rheo.trace.schema", ()) if inside(n, "rheo")}
    assert all(n == "rheo" or inside(n, "rheo.errors") for n in ours), ours


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("rheo.algorithm.tree", "from rheo.decoding.loop import decode"),
        ("rheo.algorithm.verify", "def f():\n    from . import target"),
        ("rheo.algorithm.distribution", "from .tree import DraftTree"),
        ("rheo.trace.schema", "from rheo import params"),
        ("rheo.models.draft.lm", "from ...visual import bars"),
        ("rheo.bench.throughput", "import plotly.graph_objects as go"),
        ("visual.round.bars", "import app"),
    ],
)
def test_an_import_the_wrong_way_is_noticed(module, line):
    assert wrong_way(graph_of({module: line}))


def test_an_import_through_a_helper_is_noticed():
    graph = {
        "rheo.algorithm.tree": {"rheo.algorithm.walk"},
        "rheo.algorithm.walk": {"rheo.models.target.target"},
    }
    assert wrong_way(graph) == ["rheo.algorithm.tree reaches rheo.models.target.target"]


# What stays light


def loaded_by(modules: Iterable[str]) -> set[str]:
    """Top-level packages in memory after a fresh interpreter has imported the modules."""
    code = f"import {', '.join(modules)}, sys; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "room", ["rheo.errors", "rheo.params", "rheo.trace.schema", "visual", "app"]
)
def test_a_page_can_open_before_the_engine_is_loaded(room):
    light = [n for n in FILES if (n == room if room != "visual" else inside(n, room))]
    if light:
        assert not HEAVY & loaded_by(light)


def test_a_heavy_import_is_noticed():
    assert HEAVY & loaded_by(["safetensors.torch"])


# Sizes and places


def tracked() -> list[str]:
    """Paths under version control; none outside a checkout, where there is nothing to hold to."""
    git = ["git", "-C", str(ROOT), "ls-files"]
    return subprocess.run(git, capture_output=True, text=True).stdout.splitlines()


def strays(paths: Iterable[str]) -> set[str]:
    """Top-level names that have no room; dotfiles are free."""
    tops = {path.split("/")[0] for path in paths}
    return {top for top in tops - TOP_LEVEL if not top.startswith(".")}


def test_only_the_named_rooms_stand_at_the_top():
    assert not strays(tracked())


def test_a_stray_file_is_noticed():
    assert strays(["app.py", ".ci/run", "notes/plan.md", "rheo/tree.py"]) == {"notes"}


def test_files_stay_short():
    kinds = {".py", ".js", ".css"}
    files = [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in kinds]
    limits = dict.fromkeys(files, LONGEST_FILE) | {
        FILES[n]: LONGEST_APP for n in FILES.keys() & {"app"}
    }
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in limits}
    assert not {str(p.relative_to(ROOT)): lengths[p] for p in limits if lengths[p] > limits[p]}


# Randomness is an argument

KINDS = "bernoulli|cauchy|exponential|geometric|log_normal|normal|random|uniform"
DRAW = re.compile(
    r"torch\.((rand|randn|randint)(_like)?|randperm|multinomial|bernoulli|normal|poisson)"
)
IN_PLACE = re.compile(rf"((kaiming|xavier|trunc)_)?({KINDS})_")
OWN_STATE = re.compile(r"random\.(Random|SystemRandom)|numpy\.random\.([A-Z]\w*|default_rng)")
GLOBAL = re.compile(
    r"(random|numpy\.random)\.\w+"
    r"|torch\.(random\.\w+|(cuda\.|mps\.)?(manual_seed(_all)?|seed(_all)?|set_rng_state(_all)?))"
)


def aliases(tree: ast.AST) -> dict[str, str]:
    """Local name -> dotted name of what it was imported as."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name.split(".")[0]: a.name for a in node.names if a.asname}
            names |= {
                a.name.split(".")[0]: a.name.split(".")[0] for a in node.names if not a.asname
            }
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`np.random.rand` -> "numpy.random.rand"; "" for what does not start at an imported name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])


def global_draws(source: str) -> Iterator[str]:
    """Calls that read or set a global random state."""
    tree = ast.parse(source)
    names = aliases(tree)
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        name = dotted(call.func, names)
        seeded = any(k.arg == "generator" for k in call.keywords)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        on_global = GLOBAL.fullmatch(name) and not OWN_STATE.fullmatch(name)
        if on_global or (not seeded and (DRAW.fullmatch(name) or IN_PLACE.fullmatch(method))):
            yield f"line {call.lineno}: {ast.unparse(call.func)}"


@pytest.mark.parametrize("module", [n for n in FILES if n != "app"])
def test_no_global_random_state(module):
    assert not list(global_draws(SOURCES[module]))


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.manual_seed(0)",
        "import torch as t\nt.rand(3)",
        "import torch\ntorch.empty(3).uniform_()",
        "from torch import nn\nnn.init.xavier_uniform_(w)",
        "import torch\ntorch.cuda.manual_seed_all(0)",
        "import numpy as np\nnp.random.seed(1)",
        "from numpy.random import rand\nrand(2)",
        "from random import choice\nchoice([1])",
    ],
)
def test_a_global_draw_is_noticed(source):
    assert list(global_draws(source))


def test_a_draw_from_a_given_generator_is_free():
    source = "import torch, random, numpy as np\ng = torch.Generator()\ng.manual_seed(1)\n"
    source += (
        "torch.rand(3, generator=g)\nnp.random.default_rng(1).random()\nrandom.Random(1).random()"
    )
    assert not list(global_draws(source))


# Scripts and styles live in files of their own

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
