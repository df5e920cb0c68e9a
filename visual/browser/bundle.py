"""The scripts of `js/` as one function body: each file a module, in the order of its imports.

The files are ordinary ES modules with one exported thing each, so that an editor and a linter read
them as they are. A page cannot load them as such: gr.HTML takes a component's script as a function
body, and a saved page may fetch nothing. So they are joined here: every module becomes a function
that returns what it exports, called once in front of those that import it.
"""

import posixpath
import re
from pathlib import Path
from string import Template

JS = Path(__file__).parent / "js"
WRAP = Path(__file__).parent / "wrap"
_IMPORT = re.compile(r"^import \{ (\w+) \} from '(\.[\w./]+\.js)';\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)


def sources() -> dict[str, str]:
    """Return the text of every script by its path below `js/`."""
    return {p.relative_to(JS).as_posix(): p.read_text("utf-8") for p in sorted(JS.rglob("*.js"))}


def bundle(start: str, arguments: str, files: dict[str, str] | None = None) -> str:
    """Return one expression statement that runs what the module `start` exports.

    Args:
        start: path of a module below `js/`.
        arguments: what it is called with, as JavaScript.
        files: the modules' texts by path; by default those of `js/`.

    Raises:
        ValueError: see `order` and `exported`.

    >>> files = {"a.js": "import { b } from './b.js';\\nexport const a = () => b;\\n",
    ...          "b.js": "export const b = 1;\\n"}
    >>> print(bundle("a.js", "", files))
    (() => {
    'use strict';
    const b = (() => {
    const b = 1;
    return b;
    })();
    const a = (() => {
    const a = () => b;
    return a;
    })();
    a();
    })();
    """
    files = sources() if files is None else files
    modules = "\n".join(_wrapped(files[path]) for path in order(start, files))
    parts = {"modules": modules, "start": exported(files[start]), "arguments": arguments}
    return _template("wrapped_bundle.js").substitute(parts)


def order(start: str, files: dict[str, str]) -> list[str]:
    """Return the modules that `start` needs, each behind those that it imports.

    Raises:
        ValueError: modules import each other in a circle; an imported file is not there or exports
            another name; two files export one name.

    >>> order("a.js", {"a.js": "import { b } from './b.js';\\nexport const a = b;",
    ...                "b.js": "export const b = 1;"})
    ['b.js', 'a.js']
    """
    done: list[str] = []
    names: dict[str, str] = {}  # exported -> its file

    def visit(path: str, above: tuple[str, ...]) -> None:
        if path in above:
            raise ValueError(f"a circle of imports: {' > '.join((*above, path))}")
        if path in done:
            return
        for name, target in imported(path, files[path]):
            if target not in files or exported(files[target]) != name:
                raise ValueError(f"{path}: {target} does not export {name}")
            visit(target, (*above, path))
        other = names.setdefault(exported(files[path]), path)
        if other != path:
            raise ValueError(f"{other} and {path} export one name")
        done.append(path)

    visit(start, ())
    return done


def imported(path: str, text: str) -> list[tuple[str, str]]:
    """Return (name, path of its module) of every import of a module.

    >>> imported("page/a.js", "import { b } from '../tree/b.js';\\n")
    [('b', 'tree/b.js')]
    """
    folder = posixpath.dirname(path)
    found = [
        (name, posixpath.normpath(posixpath.join(folder, target)))
        for name, target in _IMPORT.findall(text)
    ]
    if len(found) != len(re.findall(r"^import\b", text, re.M)) or "import(" in text:
        raise ValueError(f"{path}: an import is written `import {{ name }} from './file.js';`")
    return found


def exported(text: str) -> str:
    """Return the name of the one thing that a module exports.

    Raises:
        ValueError: it exports nothing, or several things.
    """
    names = _EXPORT.findall(text)
    if len(names) != 1 or len(re.findall(r"^export\b", text, re.M)) != 1:
        raise ValueError(f"a module exports one thing, not {len(names)}: {names}")
    return names[0]


def _wrapped(text: str) -> str:
    """Return a module as a constant named like its export; its imports stand in front of it."""
    body = _EXPORT.sub("", _IMPORT.sub("", text)).strip()
    return _template("wrapped_module.js").substitute(name=exported(text), body=body)


def _template(name: str) -> Template:
    return Template((WRAP / name).read_text("utf-8").strip())
