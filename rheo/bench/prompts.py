"""Prompt files: one {"suite", "id", "prompt"} a line."""

import json
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS


class Prompt(NamedTuple):
    """One user turn to be answered."""

    suite: str
    id: str
    text: str


def shipped() -> list[Path]:
    """The prompt files of `assets/`."""
    return sorted((ASSETS / "prompts").glob("*.jsonl"))


def read_prompts(paths: Iterable[Path | str], limit: int | None = None) -> list[Prompt]:
    """The prompts of some files, taken in turn from their suites; of several user turns, the first.

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
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RheoError(f"{path} could not be read: {error}.") from None
    return [
        _parse(line, f"Line {number} of {path}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _parse(line: str, where: str) -> Prompt:
    try:
        fields: Any = json.loads(line)
        turns = fields["prompt"]
        text = turns if isinstance(turns, str) else turns[0]
        prompt = Prompt(str(fields["suite"]), str(fields["id"]), text)
    except (ValueError, KeyError, TypeError, IndexError):
        prompt = None
    if prompt is None or not isinstance(prompt.text, str) or not prompt.text:
        raise RheoError(f'{where} is no {{"suite", "id", "prompt"}} with a text to ask.')
    return prompt
