"""Randomness is an argument: nothing reads or sets a global random state."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.source import FILES, SOURCES

DRAWS = "bernoulli|cauchy|exponential|geometric|log_normal|normal|random|uniform"
DRAW = re.compile(
    r"torch\.((rand|randn|randint)(_like)?|randperm|multinomial|bernoulli|normal|poisson)"
)
IN_PLACE = re.compile(rf"((kaiming|xavier|trunc)_)?({DRAWS})_")
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
