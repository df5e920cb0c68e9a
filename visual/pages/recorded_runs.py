"""Recorded runs: the gallery, a trace of one's own opened, the run shown saved to a file.

Files travel as text in the viewer's own events: the server has no upload and no download.
"""

import base64
import binascii
import html
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from string import Template
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.trace import io
from rheo.trace.schema import Run
from visual.browser import component, html_export, messages, source_files
from visual.pages import controls
from visual.round import round_table
from visual.runtime import queue, run_settings, run_store, session
from visual.runtime.session import PlaygroundVisitor
from visual.server.settings import current
from visual.words import labels, recordings, refusals, sentences

_LOG = logging.getLogger("rheoscope")
PLAIN = 16 * 2**20  # bytes of a visitor's trace, unpacked: what is shown stays in memory
_ROUNDS, _NODES, _TEXT = 1024, 1024, 4096  # of it; text: of a token, of the note
_ALL_NODES = 40_000  # of all its rounds: 256 tokens at R = 128, a token a round
_MARGIN = 32  # kB of a request that are not the file
_messages: dict[tuple[str, int], messages.Message] = {}  # of shipped runs
SAVED = ("json", "html", "csv")


def rail() -> gr.HTML:
    """Build the list of recorded runs and the way to open a file; `connect` wires it."""
    return gr.HTML(
        "",
        html_template=_template("recorded_list.html", recordings.GALLERY_WORDS),
        js_on_load=component.script("page/recorded_list.js"),
        elem_id="recorded",
        apply_default_css=False,
        common=messages.dumps(
            {
                "words": recordings.GALLERY_WORDS,
                "items": list(run_store.gallery().values()),
                "prefix": run_store.GALLERY,
                "limits": {"packed": packed(), "plain": PLAIN},
            }
        ),
    )


def connect(
    gallery: gr.HTML,
    viewer: gr.HTML,
    visitor: gr.State,
    held: dict[str, gr.Component],
) -> None:
    """Send a run chosen or dropped to the viewer and its settings into the controls.

    Args:
        held: `controls.RUN_INPUTS` by name.
    """
    shown = [viewer, *held.values()]
    hidden: JsonObject = {
        "show_progress": "hidden",
        "api_visibility": "private",
        "trigger_mode": "multiple",
    }
    gallery.open(opened, visitor, shown, queue=False, **hidden)
    gallery.read(taken_in, visitor, shown, concurrency_limit=None, **hidden)  # a line of our own
    viewer.save(saved, visitor, viewer, concurrency_id="save", concurrency_limit=1, **hidden)


def packed() -> int:
    """Return the largest trace, in bytes as packed, that a request can carry as base64."""
    return (current().body_kb - _MARGIN) * 1024 * 3 // 4


def _template(name: str, said: dict[str, str]) -> str:
    page = Template(source_files.text(name))
    return page.substitute({key: html.escape(word) for key, word in said.items()})


# Opening


def opened(event: gr.EventData, visitor: PlaygroundVisitor) -> list[Any]:
    """Return the shipped run that {"key"} names, for the viewer and for the controls; else one
    sentence for the viewer. A run that is decoded meanwhile ends without a word."""
    key = getattr(event, "key", None)
    return _shown(visitor, lambda: _shipped(key))


def taken_in(event: gr.EventData, visitor: PlaygroundVisitor) -> Iterator[list[Any]]:
    """Yield the visitor's place in line, then the run that {"data"} holds, as `opened` does: to
    read and draw a trace takes the processor, which all visitors share."""
    try:
        with queue.OPENING.ticket(current().queue) as ticket:
            for count in queue.OPENING.places(ticket):
                sentence = refusals.AHEAD.format(count=count)
                yield _told(visitor, sentence, "waiting")
            yield _shown(visitor, lambda: _own(getattr(event, "data", None)))
    except queue.Full:
        yield _told(visitor, recordings.TOO_MANY_OPEN, "wrong")


def _shown(
    visitor: PlaygroundVisitor, found: Callable[[], tuple[Run, messages.Message]]
) -> list[Any]:
    """Return a run that is found, and keep it for its visitor unless it is ours."""
    try:
        run, message = found()
        text = messages.dumps({"n": [visitor.epoch + 1, time.time()], **message})
    except RheoError as error:
        return _told(visitor, str(error), "wrong")
    except Exception:  # numbers that no run has; the views were made for those of a run
        _LOG.exception("A trace that was opened could not be drawn")
        return _told(visitor, recordings.UNDRAWABLE, "wrong")
    session.begin(visitor)
    visitor.doing = "nothing"
    if message["key"] not in run_store.gallery():
        visitor.runs.keep(message["key"], run)
    return [text, *controls.made_with(run, visitor.locked)]


def _told(visitor: PlaygroundVisitor, sentence: str, state: str) -> list[Any]:
    """Return one sentence; the run shown stays, and so do the controls."""
    said = {"n": [visitor.epoch, time.time()], "type": "say", "sentence": sentence}
    return [messages.dumps({**said, "state": state}), *(gr.skip() for _ in controls.RUN_INPUTS)]


def _shipped(key: object) -> tuple[Run, messages.Message]:
    if not isinstance(key, str):
        raise RheoError(recordings.NOT_THERE)
    run, entry = run_store.find({}, key), run_store.gallery().get(key)
    if run is None or entry is None:
        raise RheoError(recordings.NOT_THERE)
    said = recordings.GALLERY_RUN.format(title=entry["title"])
    return run, {**shipped(key, run, entry["round"]), **_with_settings(run, said)}


def shipped(key: str, run: Run, at: int) -> messages.Message:
    """Return the message of a shipped run: round `at`, and the file that holds them all."""
    if (key, at) not in _messages:  # the same for everybody
        _messages[key, at] = messages.whole(key, run, at, most=1) | {"file": run_store.file(key)}
    return dict(_messages[key, at])


def _own(data: object) -> tuple[Run, messages.Message]:
    run = read(data)
    pair = sentences.harmless(run.pair)
    shown = _with_settings(run, recordings.OPENED.format(pair=pair, stop=labels.STOPS[run.stop]))
    return run, {**messages.whole(secrets.token_hex(16), run, 0), **shown}


def _with_settings(run: Run, sentence: str) -> messages.Message:
    """Return what the viewer says of a recorded run, and what the run was made with."""
    said = sentence + run_settings.left_out(run)
    return {"state": "recorded", "sentence": said, "settings": run_settings.made_with(run)}


def read(data: object) -> Run:
    """Read a visitor's trace from base64; nothing about it is trusted.

    Raises:
        RheoError: it is too large, no trace, or none that can be shown.
    """
    if not isinstance(data, str) or len(data) > packed() * 4 // 3 + 4:
        raise RheoError(recordings.TRACE_TOO_LARGE.format(limit=f"{packed() / 2**20:.1f} MB"))
    try:
        blob = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        blob = b""  # which is no trace, as the loader says
    run = io.loads(blob, PLAIN)
    if not run.rounds:
        raise RheoError(recordings.NO_ROUNDS)
    _check_size(run)
    return run


def _check_size(run: Run) -> None:
    """Refuse a trace too large to draw: a drawing repeats a token's text at every node."""
    nodes = [len(round.nodes) for round in run.rounds]
    text = max(map(len, [run.note, run.pair, *run.tokens.values()]))
    for count, limit, said in (
        (len(run.rounds), _ROUNDS, recordings.ROUNDS),
        (max(nodes), _NODES, recordings.NODES),
        (sum(nodes), _ALL_NODES, recordings.ALL_NODES),
        (text, _TEXT, recordings.TEXT),
    ):
        if count > limit:
            raise RheoError(recordings.TOO_MUCH.format(what=said.format(count=count)))


# Saving


def saved(event: gr.EventData, visitor: PlaygroundVisitor) -> Any:
    """Return the file asked for with {"what", "run", "round"} as text; `n` comes back."""
    what, at, n = (getattr(event, name, None) for name in ("what", "round", "n"))
    run = run_store.find(visitor.runs, getattr(event, "run", None))
    data = None
    if run is not None and what in SAVED and type(at) is int and 0 <= at < len(run.rounds):
        try:
            data = made(what, run, at)
        except Exception:
            _LOG.exception("The %s of a run could not be made", what)
    number = n if type(n) is int and abs(n) < 2**53 else 0
    return gr.update(
        saved=messages.dumps({"n": number, "what": what if data else "", "data": data})
    )


def made(what: str, run: Run, at: int) -> str | tuple[str, str]:
    """Return a file's content: base64; of "html" what stands before plotly.js and what behind."""
    if what == "html":
        return html_export.page(run, at)
    if what == "json":
        return base64.b64encode(io.dumps(run, packed=True)).decode()
    return base64.b64encode(
        round_table.csv(round_table.rows(run, run.rounds[at])).encode("utf-8-sig")
    ).decode()
