"""Which run a key names: one that is shipped, or one of the visitor's own."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheo.trace import Run
from rheo.tracefile import load

TRACES = Path(__file__).parents[2] / "assets" / "traces"
FIRST = "first.json.gz"
RECORDED = "recorded"  # the key of the run that the page opens with


@functools.cache
def recorded() -> Run | None:
    """The run to open with: the shipped one, else the newest trace there is."""
    found = sorted(TRACES.glob("*.json.gz"), key=lambda p: (p.name == FIRST, p.stat().st_mtime))
    return load(found[-1]) if found else None


def find(own: Mapping[str, Run], key: Any) -> Run | None:
    """The run named `key`, which comes from a browser and may be anything.

    Args:
        own: the visitor's runs by key.
    """
    if not isinstance(key, str):
        return None
    return recorded() if key == RECORDED else own.get(key)
