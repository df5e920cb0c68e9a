"""The source tree as text: its modules, what each imports, and what stands where."""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("rheo", "visual")


def module_of(path: Path) -> str:
    """Return the dotted name of a file below `ROOT`.

    >>> module_of(ROOT / "rheo" / "trace" / "__init__.py"), module_of(ROOT / "app.py")
    ('rheo.trace', 'app')
    """
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


PATHS = [*(p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))), ROOT / "app.py"]
FILES = {module_of(path): path for path in PATHS}
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
DOTTED = {name for name in SOURCES if "." in name}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}


def inside(name: str, area: str) -> bool:
    """Return whether a dotted name is `area` or lies below it."""
    return name == area or name.startswith(area + ".")


def imports(module: str, source: str, package: bool = False) -> set[str]:
    """Return the dotted names that a module imports anywhere in its text.

    Imports in functions and for type checking count, and so does a string that is the dotted name
    of a module: `import_module("rheo.trace.io")` imports as much as a statement does. `from a
    import b` gives "a.b", for b may be a module, and "a" too.
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            found |= {name} & DOTTED
    return found


def own_imports(module: str, source: str, names: set[str], packages: set[str]) -> set[str]:
    """Return the modules among `names` that a module imports.

    `from rheo.trace import io` imports `rheo.trace.io`; that Python runs the package's `__init__`
    first is no import of the module's.
    """
    asked = imports(module, source, module in packages)
    found = {name for name in asked if name in names}
    # a name that is no module is an attribute: of the module in front of it
    found |= {a.rpartition(".")[0] for a in asked if a not in names} & names
    bare = {name for name in found & packages if not _takes_from(asked, name, names)}
    return found - bare - {module}


def _takes_from(asked: set[str], package: str, names: set[str]) -> bool:
    """Return whether anything but a module of the package is taken from it."""
    below = {a for a in asked if a.rpartition(".")[0] == package}
    return any(a not in names for a in below) or not below


def graph_of(sources: dict[str, str], packages: set[str] = PACKAGES) -> dict[str, set[str]]:
    """Return what each module imports of the others."""
    names = set(sources) | set(SOURCES)
    return {name: own_imports(name, text, names, packages) for name, text in sources.items()}


def tracked() -> list[str]:
    """Return the paths under version control; none outside a checkout."""
    git = ["git", "-C", str(ROOT), "ls-files"]
    return subprocess.run(git, capture_output=True, text=True).stdout.splitlines()
