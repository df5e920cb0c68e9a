"""Read prompt files: one {"suite", "id", "prompt"} a line."""

from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS


class Prompt(NamedTuple):
    """One user turn to be answered."""

    suite: str
    id: str
    text: str


_Turn = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]


class PromptRow(BaseModel, strict=True):
    """A line of a prompt file; of several user turns, the first is asked."""

    suite: str | int
    id: str | int
    prompt: _Turn | Annotated[list[_Turn], Field(min_length=1)]

    def first_turn(self) -> Prompt:
        """Return what is asked."""
        turn = self.prompt if isinstance(self.prompt, str) else self.prompt[0]
        return Prompt(str(self.suite), str(self.id), turn)


def shipped() -> list[Path]:
    """List the prompt files of `assets/`."""
    return sorted((ASSETS / "prompts").glob("*.jsonl"))


def read_prompts(paths: Iterable[Path | str], limit: int | None = None) -> list[Prompt]:
    """Read the prompts of some files, taken in turn from their suites.

    Args:
        limit: how many at most, so that every suite has its share.

    Raises:
        RheoError: a file that cannot be read, a line of another form, or no prompt at all.
    """
    suites: dict[str, list[Prompt]] = {}
    for path in paths:
        for prompt in _read(Path(path)):
            suites.setdefault(prompt.suite, []).append(prompt)
    in_turn = chain.from_iterable(zip_longest(*suites.values()))
    prompts = [prompt for prompt in in_turn if prompt is not None][:limit]
    if not prompts:
        raise RheoError("There is no prompt to run: name a file that has some, or a larger limit.")
    return prompts


def _read(path: Path) -> list[Prompt]:
    """Read the prompts of one file. Raises RheoError with the line's number."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not at U+2028 inside a text
    except (OSError, UnicodeDecodeError) as error:
        raise RheoError(f"{path} could not be read: {error}.") from None
    return [
        _parse(line, f"Line {number} of {path}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _parse(line: str, where: str) -> Prompt:
    """Read the prompt of one line. Raises RheoError that begins with `where`."""
    try:
        return PromptRow.model_validate_json(line).first_turn()
    except ValidationError:
        raise RheoError(f'{where} is no {{"suite", "id", "prompt"}} with a text to ask.') from None
