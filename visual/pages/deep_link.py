"""A page that is opened by a link: its settings go into the controls, the rest to the viewer."""

import html
import time
from dataclasses import dataclass
from string import Template
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from gradio.context import Context

from rheo.json_object import JsonObject
from visual.browser import component, messages, source_files
from visual.pages import controls, recorded_runs, url_state
from visual.runtime import run_settings, run_store
from visual.runtime.session import PlaygroundVisitor
from visual.words import links

TOOLS = Template(source_files.text("share.html"))
KEEP = "(...values) => window.rheoscope ? window.rheoscope.settings(values) : []"


def build(
    fields: JsonObject,
    examples: list[gr.Button],
    notice: gr.HTML,
    viewer: gr.HTML,
    visitor: gr.State,
) -> None:
    """Read the address once the page is there, and keep it true to the controls.

    Args:
        fields: the component of each of `url_state.SETTINGS`.
        examples: the buttons that put a prompt into its field.
        notice: where the sentences on bad values stand.
        viewer: its prop `opened` gets the values.
    """
    held = [fields[name] for name in url_state.SETTINGS]

    def opened(visitor: PlaygroundVisitor, request: gr.Request) -> list[Any]:
        made = answer(urlencode(dict(request.query_params)))
        visitor.locked = made.locked
        free = gr.update(interactive=False) if "prompt" in made.locked else gr.skip()
        return [*made.settings, made.notice, made.viewer, *(free for _ in examples)]

    quick: JsonObject = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    blocks = Context.root_block
    assert blocks is not None  # `build` is called inside one
    blocks.load(opened, visitor, [*held, notice, viewer, *examples], **quick)
    changes = [control.change for control in held]
    gr.on(changes, None, held, None, js=KEEP, api_visibility="private")


def tools() -> str:
    """Return what stands in the page's head: a link to this view, and the projector's mode."""
    word = {name: html.escape(text) for name, text in links.VIEWER_LINKS.items()}
    return TOOLS.substitute(word, idea_dialog=component.idea_dialog())


@dataclass(frozen=True)
class Answer:
    """What a link does: an update for each control, for the notice and for the viewer."""

    settings: list[Any]
    notice: str
    viewer: Any
    locked: tuple[str, ...]


def answer(query: str) -> Answer:
    """Return what a link does.

    A run of the gallery brings its own settings, the run that the page opens with has them already,
    and a run to come has the usual ones; the link's own have the last word.
    """
    values, said = url_state.parse(query)
    shown, had = _shipped(values, said)
    if values.get("trace") == url_state.LIVE:
        had = url_state.defaults()
    shown["opened"] = messages.dumps({"values": values, "said": " ".join(said), "at": time.time()})
    here = values["page"] == "playground"
    wanted = {**had, **values} if here else {}
    held = controls.filled({n: v for n, v in wanted.items() if n in url_state.SETTINGS})
    settings = [_update(name, held.get(name, {}), values) for name in url_state.SETTINGS]
    notice = sentences(values, said)
    return Answer(settings, notice, gr.update(**shown), values.get("lock", ()))


def _shipped(values: url_state.Values, said: list[str]) -> tuple[JsonObject, JsonObject]:
    """Return what the viewer gets of a run of the gallery, and that run's own settings."""
    name = values.get("trace", run_store.RECORDED)
    if name in (url_state.LIVE, run_store.RECORDED):
        return {}, {}
    key = f"{run_store.GALLERY}{name}"
    run = run_store.find({}, key)
    if run is None:
        said.append(url_state.ignored("trace", values.pop("trace"), links.WHY_NAME))
        return {}, {}
    entry = run_store.gallery()[key]
    had = run_settings.made_with(run)
    message = recorded_runs.shipped(key, run, entry["round"])
    message |= {"state": "recorded", "settings": had}
    sentence = entry["title"] + run_settings.left_out(run)
    shown = {"value": messages.dumps({**message, "sentence": sentence})}
    return shown, {**url_state.defaults(), **had}


def _update(name: str, held: JsonObject, values: url_state.Values) -> Any:
    changes = dict(held)
    if name in values.get("lock", ()):
        changes["interactive"] = False  # shown, greyed
    return gr.update(**changes) if changes else gr.skip()


def sentences(values: url_state.Values, said: list[str]) -> str:
    """Return what a reader of a link should know, as HTML; the link's own words are escaped."""
    lines = [f'<p class="wrong">{html.escape(sentence)}</p>' for sentence in said]
    if values.get("trace") == url_state.LIVE and values["page"] == "playground":
        form = links.PLACE_STEP if "step" in values else links.PLACE_ROUND
        there = {"round": values.get("round"), "step": values.get("step")}
        place = form.format(**there) if "round" in values else ""
        lines.append(f"<p>{html.escape(links.TO_RUN.format(place=place))}</p>")
    if values.get("lock"):
        names = ", ".join(links.CONTROLS.get(name, name) for name in values["lock"])
        lines.append(f"<p>{html.escape(links.LOCKED.format(names=names))}</p>")
    return "".join(lines)
