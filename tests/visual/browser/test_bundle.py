"""The scripts: one exported thing a file, no circle of imports, no name of two files."""

from collections import Counter
from pathlib import PurePosixPath

import pytest

from visual.browser import bundle, html_export

STARTS = (
    "page/playground_page.js",
    "page/recorded_list.js",
    "dilemma/dilemma_page.js",
    html_export.START,
)
FILES = {
    "a.js": "import { b } from './in/b.js';\nexport const a = b;\n",
    "in/b.js": "export const b = 1;\n",
}
LONGEST = 300  # lines of a script


def doubled(paths) -> list[str]:
    """Return the stems that stand for more than one file."""
    counts = Counter(PurePosixPath(path).stem for path in paths)
    return sorted(stem for stem, count in counts.items() if count > 1)


def folders_below(files: dict[str, str]) -> dict[str, set[str]]:
    """Return the other folders that each folder's modules import from."""
    found: dict[str, set[str]] = {}
    for path, text in files.items():
        home = PurePosixPath(path).parent.name
        others = {PurePosixPath(target).parent.name for _, target in bundle.imported(path, text)}
        found.setdefault(home, set()).update(others - {home})
    return found


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Return the folders that are reached from themselves."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        queue = [start]
        while queue:
            new = graph.get(queue.pop(), set()) - found
            found |= new
            queue += new
        return found

    return sorted(name for name in graph if name in reached(name))


def test_every_script_exports_one_thing_and_is_used():
    files = bundle.sources()
    used = {path for start in STARTS for path in bundle.order(start, files)}
    assert used == set(files)
    names = [bundle.exported(text) for text in files.values()]
    assert len(set(names)) == len(names)


def test_no_stem_twice_and_no_folder_or_file_too_large():
    files = bundle.sources()
    assert not doubled(files)
    assert max(Counter(PurePosixPath(path).parent for path in files).values()) <= 12
    assert max(len(text.splitlines()) for text in files.values()) <= LONGEST


def test_imports_run_one_way_between_folders():
    assert not circles(folders_below(bundle.sources()))


def test_a_planted_circle_of_folders_is_noticed():
    there = {"a/x.js": "import { y } from '../b/y.js';\n", "b/y.js": ""}
    back = {"b/z.js": "import { w } from '../a/w.js';\n", "a/w.js": ""}
    assert not circles(folders_below(there))
    assert circles(folders_below(there | back)) == ["a", "b"]


def test_a_planted_second_stem_is_noticed():
    assert doubled(["page/viewer.js", "tree/viewer.js", "tree/other.js"]) == ["viewer"]


def test_modules_stand_behind_what_they_import():
    assert bundle.order("a.js", FILES) == ["in/b.js", "a.js"]


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"in/b.js": "import { a } from '../a.js';\nexport const b = 1;\n"}, "circle"),
        ({"in/b.js": "export const b = 1;\nexport const c = 2;\n"}, "one thing"),
        ({"in/b.js": "const b = 1;\nexport { b };\n"}, "one thing"),
        ({"in/b.js": "const b = 1;\n"}, "one thing"),
        ({"in/b.js": "export const c = 1;\n"}, "does not export b"),
        ({"a.js": "import b from './in/b.js';\nexport const a = b;\n"}, "an import is written"),
        ({"a.js": "export const a = () => import('./in/b.js');\n"}, "an import is written"),
        ({"a.js": "import { b } from './c.js';\nexport const a = b;\n"}, "does not export b"),
    ],
)
def test_a_planted_offence_is_refused(planted, said):
    with pytest.raises(ValueError, match=said):
        bundle.bundle("a.js", "", FILES | planted)


def test_two_files_may_not_export_one_name():
    files = {
        "a.js": "import { b } from './b.js';\nimport { c } from './c.js';\nexport const a = b + c;",
        "b.js": "import { x } from './x.js';\nexport const b = x;",
        "c.js": "import { x } from './y.js';\nexport const c = x;",
        "x.js": "export const x = 1;",
        "y.js": "export const x = 2;",
    }
    with pytest.raises(ValueError, match="export one name"):
        bundle.bundle("a.js", "", files)
