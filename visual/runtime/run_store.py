"""Runs by key: the shipped ones, each also a file of the server, and a visitor's own."""

import functools
import threading
from collections.abc import Mapping
from pathlib import Path

from rheo.errors import RheoError
from rheo.gallery.listing import read_index
from rheo.json_object import JsonObject
from rheo.trace.io import load
from rheo.trace.schema import Run
from visual.browser import messages
from visual.server import cached_answer, routes
from visual.server.cached_answer import CachedAnswer

TRACES = Path(__file__).parents[2] / "assets" / "traces"
FIRST = "first.json.gz"
RECORDED = "recorded"  # the key of the run that the page opens with
GALLERY = "gallery/"  # before the name of a shipped run
_KEPT = 8  # shipped runs that stay in memory
_files: dict[str, CachedAnswer] = {}
_making = threading.Lock()


@functools.cache
def recorded() -> Run | None:
    """Return the run to open with: the shipped one, else the newest trace there is."""
    found = sorted(TRACES.glob("*.json.gz"), key=lambda p: (p.name == FIRST, p.stat().st_mtime))
    return load(found[-1]) if found else None


@functools.cache
def gallery() -> dict[str, JsonObject]:
    """Return the shipped runs by key, in their order: name, title, sentence, round to open."""
    return {GALLERY + entry.name: entry.model_dump() for entry in read_index(TRACES)}


@functools.lru_cache(maxsize=_KEPT)
def _shipped(name: str) -> Run | None:
    try:
        return load(TRACES / f"{name}.json.gz")
    except RheoError:
        return None


def publish() -> None:
    """Let the server answer with every shipped run's file, made when it is first asked for."""
    for key in (RECORDED, *gallery()):
        cached_answer.PUBLISHED[f"/{file(key)}"] = functools.partial(_published, key)


def file(key: str) -> str:
    """Return the address of a shipped run's file, below the page's.

    >>> file("gallery/first")
    'recorded/first.json'
    """
    return f"{routes.RECORDED_FILES}{key.removeprefix(GALLERY)}.json"


def _published(key: str) -> CachedAnswer | None:
    with _making:  # sixty visitors wait for one to make it
        if key not in _files:
            run = find({}, key)
            if run is None:
                return None
            _files[key] = CachedAnswer(messages.recorded_file(run), "application/json")
    return _files[key]


def find(own: Mapping[str, Run], key: object) -> Run | None:
    """Return the run named `key`, which comes from a browser and may be anything.

    Args:
        own: the visitor's runs by key.
    """
    if not isinstance(key, str):
        return None
    if key in gallery():
        return _shipped(gallery()[key]["name"])
    return recorded() if key == RECORDED else own.get(key)
