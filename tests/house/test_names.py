"""One name, one thing: file names, public classes and public constants."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePath

from tests.house.source import FILES, SOURCES


def repeated_stems(paths: Iterable[PurePath]) -> dict[str, list[str]]:
    """Return the file stems that stand twice, `__init__` apart."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        places[path.stem].append(str(path))
    return {stem: at for stem, at in places.items() if len(at) > 1 and stem != "__init__"}


def public(source: str) -> set[str]:
    """Return the classes and constants that a module defines for others.

    >>> sorted(public("A, _B = 1, 2\\nclass C: ...\\ndef f(): D = 1\\nx = 3"))
    ['A', 'C']
    """
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            found |= {name for name in named if name[:1].isupper()}
    return {name for name in found if not name.startswith("_")}


def repeated_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the public names that two modules define."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, text in sources.items():
        for name in public(text):
            places[name].append(module)
    return {name: at for name, at in places.items() if len(at) > 1}


def test_no_file_name_stands_twice():
    assert not repeated_stems(FILES.values())


def test_a_repeated_file_name_is_noticed():
    paths = [PurePath("rheo/trace/io.py"), PurePath("visual/io.py"), PurePath("a/__init__.py")]
    assert set(repeated_stems([*paths, PurePath("b/__init__.py")])) == {"io"}


def test_no_public_name_stands_for_two_things():
    assert not repeated_names(SOURCES)


def test_a_repeated_name_is_noticed():
    sources = {
        "rheo.a": "class Node: ...\nKINDS: int = 1\n_OWN = 1",
        "visual.b": "_OWN = 2\nKINDS = 2",
    }
    assert repeated_names(sources) == {"KINDS": ["rheo.a", "visual.b"]}
    assert repeated_names({"rheo.a": "class Node: ...", "rheo.b": "class Node: ..."})
