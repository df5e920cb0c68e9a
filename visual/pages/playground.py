"""The Playground: a prompt goes in, rounds come out, and every round can be stepped through."""

import html
import logging
import time
from typing import Any

import gradio as gr

from rheo.json_object import JsonObject
from rheo.trace.schema import Run
from visual.browser import component, messages
from visual.pages import controls, deep_link, recorded_runs, rerun, slider_constraints, url_state
from visual.round import what_if_view
from visual.runtime import run_settings, run_store, session, this_machine
from visual.runtime.model_loader import MODELS
from visual.runtime.session import PlaygroundVisitor
from visual.server.settings import current
from visual.words import labels

_LOG = logging.getLogger("rheoscope")
_IDLE = 1800  # seconds until an idle visitor's run is forgotten
_STATUS = 60  # characters of the model's state that the head has room for


def head() -> gr.HTML:
    """Build what stands above all pages; return the model's state, which `build` keeps true."""
    with gr.Row(elem_id="head"):
        gr.HTML(_heading(), elem_id="heading", apply_default_css=False)
        gr.HTML(deep_link.tools(), elem_id="share", apply_default_css=False)
        return gr.HTML(_status(current().pair), elem_id="status", apply_default_css=False)


def build(status: gr.HTML) -> None:
    """Build the page inside the caller's Blocks."""
    run_store.publish()
    visitor = gr.State(PlaygroundVisitor(), time_to_live=_IDLE, delete_callback=session.end)
    with gr.Row(elem_id="room"):
        with gr.Column(elem_id="rail", scale=0, min_width=272):
            gr.HTML(f"<h2>{labels.RAIL}</h2>", elem_id="rail-head", apply_default_css=False)
            held = url_state.standing()
            composer = controls.composer(held["prompt"])
            pair, fields, notice = controls.settings(held)
            gallery = recorded_runs.rail()
        with gr.Column(elem_id="view"):
            common = messages.common() | {"address": url_state.common()}
            viewer = component.viewer(_opening(run_store.recorded()), messages.dumps(common))
    clock = gr.Timer(1.0)

    quick: JsonObject = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    prompt = composer.prompt
    holds = {"prompt": prompt, "pair": pair, **fields}  # `controls.RUN_INPUTS` by name
    inputs = [visitor, *holds.values()]
    # any run of this visitor is asked to end before the next one takes its place in the queue
    begun = gr.on(
        [composer.run.click, prompt.submit],
        session.begin,
        visitor,
        viewer,
        trigger_mode="multiple",
        **quick,
    )
    begun.then(
        session.decode,
        inputs,
        viewer,
        concurrency_limit=None,  # `queue` lets one at a time through and tells the others so
        preprocess=False,  # what is wrong with a value is said by our own checks
        show_progress="hidden",
        trigger_mode="multiple",
        api_visibility="private",
    )
    composer.stop.click(session.stop, visitor, viewer, **quick)
    viewer.ask(_ask, visitor, viewer, trigger_mode="multiple", **quick)
    recorded_runs.connect(gallery, viewer, visitor, holds)
    slider_constraints.bind(visitor, fields, notice, **quick)
    rerun.build(viewer, visitor, holds)
    deep_link.build(holds, composer.examples, notice, viewer, visitor)
    clock.tick(_poll, pair, [status, clock], **quick)
    pair.input(lambda: gr.Timer(active=True), None, clock, **quick)


def _heading() -> str:
    return f"<h1>{labels.TITLE}</h1><p>{html.escape(labels.TAGLINE)}</p>{component.opener()}"


def _opening(run: Run | None) -> str:
    """Return the message that the viewer opens with, "" without a recorded run."""
    if run is None or not run.rounds:
        return ""
    first = run_store.gallery().get(run_store.GALLERY + run_store.FIRST.removesuffix(".json.gz"))
    at = first["round"] if first else messages.telling(run)  # what the run's note speaks of
    file = run_store.file(run_store.RECORDED)
    message = messages.opening(run_store.RECORDED, run, at, file)
    return messages.dumps({**message, "settings": run_settings.made_with(run)})


def _ask(event: gr.EventData, visitor: PlaygroundVisitor) -> Any:
    """Return a view that the browser asks for; what it sends is checked, anybody can send it."""
    names = ("run", "round", "node", "what", "other", *what_if_view.ASKED)
    asked = {key: getattr(event, key, None) for key in names}
    run = run_store.find(visitor.runs, asked["run"])
    try:
        answer = None if run is None else _answer(run, asked, visitor)
    except ValueError:
        answer = None
    except Exception:  # a view that fails costs the page that view alone
        _LOG.exception("A view of a run could not be made")
        answer = None
    run_key, at, node, what = (_sent(asked[part]) for part in ("run", "round", "node", "what"))
    key = messages.answer_key(run_key, at, node, what)
    return gr.update(reply=messages.dumps({"key": key, "answer": answer, "at": time.time()}))


def _sent(value: object) -> str:
    """Return a part of an answer's key as it was sent, "" where it can be none."""
    return str(value)[:60] if type(value) is str or type(value) is int else ""


def _answer(run: Run, asked: messages.Message, visitor: PlaygroundVisitor) -> messages.Message:
    if asked["what"] == "compare":
        return rerun.compared(visitor.runs, run, asked["other"])
    return messages.answer(run, asked, this_machine.machine(asked["run"], run))


def _status(pair: str) -> str:
    loading = MODELS.look(pair)
    state = "loading"
    if loading is not None and loading.over:
        state = "wrong" if loading.error else "ready"
    sentence = html.escape(loading.sentence if loading else labels.NOT_ASKED)
    if state == "wrong" or len(sentence) > _STATUS:  # a head of one line has no room for it
        head = f'<summary><p data-state="{state}">{labels.STATUS[state]}</p></summary>'
        return f"<details open>{head}<div>{sentence}</div></details>"
    return f'<p data-state="{state}">{sentence}</p>'


def _poll(pair: str) -> tuple[str, Any]:
    """Return the model's state; the clock stops when nothing more can change."""
    loading = MODELS.look(pair)
    return _status(pair), gr.Timer(active=loading is None or not loading.over)
