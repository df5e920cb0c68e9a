"""A second run of one prompt and one seed, under other settings, and the two side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

import gradio as gr

from rheo.json_object import JsonObject
from rheo.trace.schema import Run
from visual.browser import messages
from visual.run import metrics
from visual.runtime import run_settings, run_store, session
from visual.runtime.session import PlaygroundVisitor
from visual.server.settings import current
from visual.words import measures


def build(viewer: gr.HTML, visitor: gr.State, pair: gr.Dropdown, fields: JsonObject) -> None:
    """Answer the viewer's event "again" {run}, which the button of the rail triggers."""
    quick: JsonObject = {
        "show_progress": "hidden",
        "trigger_mode": "multiple",
        "api_visibility": "private",
    }
    begun = viewer.again(begin, visitor, viewer, queue=False, **quick)
    begun.then(
        decode,
        [visitor, pair, *fields.values()],
        viewer,
        concurrency_limit=None,  # as with Run: `queue` lets one at a time through
        preprocess=False,
        **quick,
    )


def begin(event: gr.EventData, visitor: PlaygroundVisitor) -> str:
    """Take the place of a run that goes on; which run is meant comes from a browser."""
    visitor.repeated = getattr(event, "run", None)
    return session.begin(visitor)


def decode(visitor: PlaygroundVisitor, pair: Any, *values: Any) -> Iterator[str]:
    """Yield the messages of the repeated run's prompt and seed under the settings of the rail."""
    run = run_store.find(visitor.runs, visitor.repeated)
    if run is None:
        yield messages.dumps({"type": "say", "sentence": measures.NO_RUN_AGAIN, "state": "wrong"})
        return
    same = dict(zip(run_settings.FIELDS, values, strict=True)) | {"seed": run.params.get("seed", 0)}
    known = run.pair if run.pair in current().pairs else pair
    yield from session.decode(visitor, run.prompt, known, *same.values())


def compared(own: Mapping[str, Run], run: Run, other: object) -> dict[str, str]:
    """Return what the flip between two runs says.

    Raises:
        ValueError: they are not two runs of one prompt and one seed.
    """
    old = run_store.find(own, other)
    if old is None or (old.prompt, old.params.get("seed")) != (run.prompt, run.params.get("seed")):
        raise ValueError("no such pair of runs")
    words = {"old": measures.OLD, "new": measures.NEW, "label": measures.FLIP}
    return {"sentence": metrics.compared(old, run), "hint": measures.FLIP_HINT, **words}
