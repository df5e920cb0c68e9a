"""A second run of one prompt and one seed, under other settings, and the two side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

import gradio as gr

from rheo.json_object import JsonObject
from rheo.trace.schema import Run
from visual.browser import messages
from visual.pages import controls
from visual.run import metrics
from visual.runtime import run_settings, run_store, session
from visual.runtime.session import PlaygroundVisitor
from visual.server.settings import current
from visual.words import measures

_KEPT = ("prompt", "pair", "seed")  # what a run that is run again keeps


def build(viewer: gr.HTML, visitor: gr.State, held: dict[str, gr.Component]) -> None:
    """Answer the viewer's events "again" {run}, which the button of the rail triggers, and
    "turned" {run}, which says that another run is shown.

    Args:
        held: `controls.RUN_INPUTS` by name.
    """
    quick: JsonObject = {
        "show_progress": "hidden",
        "trigger_mode": "multiple",
        "api_visibility": "private",
    }
    kept = [held[name] for name in _KEPT]
    begun = viewer.again(begin, visitor, [viewer, *kept], queue=False, **quick)
    viewer.turned(turned, visitor, list(held.values()), queue=False, **quick)
    begun.then(
        decode,
        [visitor, held["pair"], *(held[name] for name in run_settings.FIELDS)],
        viewer,
        concurrency_limit=None,  # as with Run: `queue` lets one at a time through
        preprocess=False,
        **quick,
    )


def begin(event: gr.EventData, visitor: PlaygroundVisitor) -> list[Any]:
    """Take the place of a run that goes on; which run is meant comes from a browser.

    The controls get what the run to come has of it: its prompt, its seed, its pair.
    """
    visitor.repeated = getattr(event, "run", None)
    run = run_store.find(visitor.runs, visitor.repeated)
    kept = dict(zip(controls.RUN_INPUTS, controls.made_with(run, ()) if run else (), strict=False))
    return [session.begin(visitor), *(kept.get(name, gr.skip()) for name in _KEPT)]


def turned(event: gr.EventData, visitor: PlaygroundVisitor) -> list[Any]:
    """Return what the run that is now shown was made with, for the controls."""
    run = run_store.find(visitor.runs, getattr(event, "run", None))
    if run is None:
        return [gr.skip() for _ in controls.RUN_INPUTS]
    return controls.made_with(run, visitor.locked)


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
