"""Read and write the gallery's two files: what is to be recorded, and the index of what was."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from rheo.errors import RheoError
from rheo.whole_file import whole_file

INDEX = "index.json"  # of a folder of recorded runs
_Rows = TypeVar("_Rows")


class _Row(BaseModel, strict=True, extra="forbid"):
    """A row of either file: no field missing, unknown or of another type."""


class GalleryRun(_Row):
    """A run that is to be recorded.

    Attributes:
        note: what to look at, with {words} that the group's criterion fills in.
        params: of `DecodeParams`, beside the group's.
    """

    name: str = Field(pattern=r"^[\w-]+$")
    title: str
    sentence: str
    note: str
    params: dict[str, int | float | str]


class GalleryGroup(_Row):
    """Runs of one prompt and one seed.

    Attributes:
        wanted: a name of `criteria.CRITERIA`.
        seeds: how many are tried, from 0 on.
        params: of `DecodeParams`, common to the runs.
    """

    wanted: str
    prompt: str = Field(min_length=1)
    seeds: int = Field(ge=1)
    params: dict[str, int | float | str]
    runs: list[GalleryRun] = Field(min_length=1)


class GalleryEntry(_Row):
    """A recorded run as the index lists it; `round` is the one to open, counted from 0."""

    name: str
    title: str
    sentence: str
    round: int = Field(ge=0)


_GROUPS = TypeAdapter(list[GalleryGroup])
_ENTRIES = TypeAdapter(list[GalleryEntry])


def read_groups(path: Path) -> list[GalleryGroup]:
    """Read what is to be recorded. Raises RheoError with the place of what is wrong."""
    return _read(path, _GROUPS)


def read_index(folder: Path) -> list[GalleryEntry]:
    """Read the index of a folder of recorded runs, empty where there is none. Raises RheoError."""
    path = folder / INDEX
    return _read(path, _ENTRIES) if path.is_file() else []


def write_index(folder: Path, entries: list[GalleryEntry]) -> None:
    """Write the index of a folder of recorded runs."""
    text = _ENTRIES.dump_json(entries, indent=2).decode()
    with whole_file(folder / INDEX) as part:
        part.write_text(text + "\n", encoding="utf-8")


def _read(path: Path, rows: TypeAdapter[_Rows]) -> _Rows:
    """Read and check a file. Raises RheoError, one sentence with the first place that is wrong.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / INDEX
    ...     _ = place.write_text('[{"name": "a", "title": "b", "sentence": "c", "round": -1}]')
    ...     read_index(Path(folder))
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: The gallery's index.json is broken at 0.round.
    """
    try:
        return rows.validate_json(path.read_bytes())
    except OSError as error:
        raise RheoError(f"{path} could not be read: {error}.") from None
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "its first character"
        raise RheoError(f"The gallery's {path.name} is broken at {place}.") from None
