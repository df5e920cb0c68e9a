"""A file that appears whole or not at all, whatever stops its writer."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the path to write to; the file then takes the place of `path` in one step.

    A writer that fails (a full disk, Ctrl-C) leaves the old file and nothing beside it; one that is
    killed leaves `<name>.part`, which the next writer replaces.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "run.json")) as part:
    ...         _ = part.write_text("{}")
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.json']
    """
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
