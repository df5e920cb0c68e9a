"""The Playground: a prompt goes in, rounds come out, and every round can be stepped through."""

import functools
import html
import itertools
import json
import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from rheo.catalogue import DEFAULT, PAIRS
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace import Round, Run
from rheo.tracefile import load
from visual import host, strings, wire
from visual.pages import live
from visual.pages.models import MODELS

LOG = logging.getLogger("rheoscope")
TRACES = Path(__file__).parents[2] / "assets" / "traces"
FIRST = "first.json.gz"
RECORDED = "recorded"  # the key of the run that the page opens with
PROMPT_LIMIT = 8000  # characters; the model's own context may be shorter
SECONDS = 600  # a run's time limit
POLL = 0.4  # seconds between two looks at a model that loads
IDLE = 1800  # seconds until an idle visitor's run is forgotten
RANGES = {  # of the sliders: lowest, highest, step
    "m": (0, 9, 1),
    "T": (0.0, 2.0, 0.05),
    "R": (4, 128, 1),
    "depth": (1, 12, 1),
    "K": (1, 32, 1),
    "S": (16, 1024, 16),
    "probes": (1, 4, 1),
    "max_new_tokens": (8, 256, 8),
}
FRONT, BACK = ("m", "T", "R", "depth"), ("K", "S", "probes", "max_new_tokens")
FIELDS = ("strategy", *FRONT, *BACK, "seed")  # the inputs of a run, after prompt and pair


@dataclass
class Session:
    """What a visitor's page has on the server.

    `epoch` moves on when a run is to end; `wanted` is the epoch of the last press of Run.
    """

    run: Run | None = None
    key: str = ""
    epoch: int = 0
    wanted: int = 0


@functools.cache
def recorded() -> Run | None:
    """The run to open with: the shipped one, else the newest trace there is."""
    found = sorted(TRACES.glob("*.json.gz"), key=lambda p: (p.name == FIRST, p.stat().st_mtime))
    return load(found[-1]) if found else None


def telling(run: Run) -> int:
    """The round that says most at first sight: an accepted probe, then the longest path."""

    def weight(round: Round) -> tuple[bool, int]:
        return any(e.origin == "probe" for e in round.emitted), round.accepted

    return max(range(len(run.rounds)), key=lambda k: weight(run.rounds[k]))


def head() -> gr.HTML:
    """What stands above all pages: the name, and the model's state, which `build` keeps true."""
    with gr.Row(elem_id="head"):
        gr.HTML(_heading(), elem_id="heading", apply_default_css=False)
        return gr.HTML(_status(DEFAULT), elem_id="status", apply_default_css=False)


def build(status: gr.HTML) -> None:
    """The page, inside the caller's Blocks."""
    session = gr.State(Session(), time_to_live=IDLE)
    with gr.Row(elem_id="room"):
        with gr.Column(elem_id="rail", scale=0, min_width=272):
            prompt, run, stop = _composer()
            pair, fields, notice = _settings()
        with gr.Column(elem_id="view"):
            viewer = host.viewer(_opening(recorded()), wire.dumps(wire.common()))
    clock = gr.Timer(1.0)

    quick = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    inputs = [session, prompt, pair, *fields.values()]
    # any run of this visitor is told to end before the next one takes its place in the queue
    begun = gr.on(
        [run.click, prompt.submit], _begin, session, viewer, trigger_mode="multiple", **quick
    )
    begun.then(
        _decode,
        inputs,
        viewer,
        concurrency_id="model",
        concurrency_limit=1,
        show_progress="hidden",
        trigger_mode="multiple",
        api_visibility="private",
    )
    stop.click(_stop, session, None, **quick)
    viewer.ask(_ask, session, viewer, trigger_mode="multiple", **quick)
    checked = [fields[name] for name in ("strategy", "m", "K", "S", "probes")]
    gr.on([field.input for field in checked], _check, list(fields.values()), notice, **quick)
    clock.tick(_poll, pair, [status, clock], **quick)
    pair.input(lambda: gr.Timer(active=True), None, clock, **quick)


def _heading() -> str:
    return f"<h1>{html.escape(strings.TITLE)}</h1><p>{html.escape(strings.TAGLINE)}</p>"


def _composer() -> tuple[gr.Textbox, gr.Button, gr.Button]:
    prompt = gr.Textbox(
        strings.EXAMPLES[0][1],
        label=strings.PROMPT,
        placeholder=strings.PROMPT_HINT,
        lines=3,
        max_lines=6,
        elem_id="prompt",
    )
    with gr.Row(elem_id="examples"):
        for name, example in strings.EXAMPLES:
            button = gr.Button(name, size="sm", variant="secondary", min_width=0)
            button.click(
                None, None, prompt, js=f"() => {json.dumps(example)}", api_visibility="private"
            )
    with gr.Row(elem_id="acts"):
        run = gr.Button(strings.RUN, variant="primary", elem_id="run", min_width=0, scale=2)
        stop = gr.Button(strings.STOP, variant="secondary", elem_id="stop", min_width=0, scale=1)
    return prompt, run, stop


def _settings() -> tuple[gr.Dropdown, dict[str, Any], gr.HTML]:
    defaults = DecodeParams()
    fields: dict[str, Any] = {}
    fields["strategy"] = gr.Dropdown(
        [(label, name) for name, label in strings.STRATEGIES.items()],
        value=defaults.strategy,
        label=strings.STRATEGY,
        elem_id="strategy",
    )
    notice = gr.HTML("", elem_id="notice", apply_default_css=False)
    fields |= {name: _slider(name, getattr(defaults, name)) for name in FRONT}
    with gr.Accordion(strings.MORE, open=False, elem_id="more"):
        pair = gr.Dropdown(
            [(known.label, name) for name, known in PAIRS.items()],
            value=DEFAULT,
            label=strings.PAIR,
            elem_id="pair",
        )
        fields |= {name: _slider(name, getattr(defaults, name)) for name in BACK}
        label, hint = strings.SLIDERS["seed"]
        fields["seed"] = gr.Number(
            defaults.seed, label=label, info=hint, precision=0, minimum=0, elem_id="seed"
        )
    return pair, {name: fields[name] for name in FIELDS}, notice


def _slider(name: str, value: float) -> gr.Slider:
    low, high, step = RANGES[name]
    label, hint = strings.SLIDERS[name]
    return gr.Slider(low, high, value, step=step, label=label, info=hint, elem_id=name, buttons=[])


def _opening(run: Run | None) -> str:
    """The message that the viewer opens with; the panel it shows first is in it."""
    if run is None or not run.rounds:
        return ""
    at = telling(run)
    node = wire.tree.default_node(run.rounds[at])
    opening = wire.whole(RECORDED, run, at)
    opening["answers"] = {_name(RECORDED, at, node, "panel"): wire.panel(run, run.rounds[at], node)}
    opening |= {
        "sentence": strings.RECORDED.format(stop=strings.STOPS[run.stop]),
        "state": "recorded",
    }
    return wire.dumps(opening)


def _name(key: str, at: int, node: int, what: str) -> str:
    """What an answer is kept under in the browser; host.js makes the same."""
    return f"{key}/{at}/{node}/{what}"


def _begin(session: Session) -> str:
    """A run of this visitor that still goes on ends after its round; the next takes its place."""
    session.epoch += 1
    session.wanted = session.epoch
    return wire.dumps({"type": "wait", "n": session.epoch})


def _stop(session: Session) -> None:
    session.epoch += 1


def _decode(session: Session, prompt: str, pair: str, *values: Any) -> Iterator[str]:
    """Messages of a run, one a round; whatever is wrong becomes a sentence."""
    numbers = itertools.count()  # no two messages are equal, or the browser would skip one
    epoch = session.wanted
    try:
        params = _params(values)
        _check_prompt(prompt)
        for message in _messages(session, epoch, prompt, pair, params):
            yield wire.dumps({"n": [epoch, next(numbers)], **message})
    except RheoError as error:
        yield wire.dumps({"n": epoch, "type": "say", "sentence": str(error), "state": "wrong"})
    except Exception as error:
        sentence = strings.UNEXPECTED.format(kind=type(error).__name__)
        yield wire.dumps({"n": epoch, "type": "say", "sentence": sentence, "state": "wrong"})
        raise


def _params(values: tuple[Any, ...]) -> DecodeParams:
    return DecodeParams(**dict(zip(FIELDS, values, strict=True)))


def _check_prompt(prompt: Any) -> None:
    if not isinstance(prompt, str) or not prompt.strip():
        raise RheoError(strings.PROMPT_EMPTY)
    if len(prompt) > PROMPT_LIMIT:
        raise RheoError(strings.PROMPT_TOO_LONG.format(length=len(prompt), limit=PROMPT_LIMIT))


def _messages(
    session: Session, epoch: int, prompt: str, pair: str, params: DecodeParams
) -> Iterator[dict[str, Any]]:
    """Wait for the model, then decode until the end, the time limit or the next epoch."""
    loading = MODELS.want(pair)
    while not loading.over and session.epoch == epoch:
        yield {"type": "say", "sentence": loading.sentence, "state": "waiting", "at": time.time()}
        time.sleep(POLL)
    if loading.error:
        raise RheoError(loading.sentence)
    if session.epoch != epoch:
        yield {"type": "say", "sentence": strings.STOPPED_RUN, "state": "done"}
        return
    run, key, began, how = None, secrets.token_hex(6), time.monotonic(), ""
    yield {"type": "begin", "key": key, "prompt": prompt, "transcript": "", "metrics": []}
    pieces = live.pieces(pair, prompt, params)
    try:
        for piece in pieces:
            run = live.grown(run, piece)
            session.run, session.key = run, key
            for round in piece.rounds:
                shown = wire.a_round(run, round)
                yield {"type": "round", "round": shown, **wire.state(run), **_running(run)}
            if session.epoch != epoch:
                how = strings.STOPPED_RUN
                break
            if time.monotonic() - began > SECONDS:
                how = strings.TIME_IS_UP.format(seconds=SECONDS)
                break
    finally:
        pieces.close()
    how = how or strings.FINISHED.format(stop=strings.STOPS[run.stop])
    yield {**wire.whole(key, run), "sentence": how, "state": "done"}


def _running(run: Run) -> dict[str, str]:
    return {"sentence": strings.RUNNING, "state": "running"}


def _ask(event: gr.EventData, session: Session) -> Any:
    """A view that the browser wants. What it sends is checked: anybody can send anything."""
    asked = {key: getattr(event, key, None) for key in ("run", "round", "node", "what")}
    run = {RECORDED: recorded(), session.key or None: session.run}.get(asked["run"])
    try:
        answer = wire.answer(run, asked) if run is not None else None
    except ValueError:
        answer = None
    except Exception:  # a view that fails costs the page that view alone
        LOG.exception("The %s of round %s could not be drawn", asked["what"], asked["round"])
        answer = None
    key = _name(*(str(asked[part])[:40] for part in ("run", "round", "node", "what")))
    return gr.update(reply=wire.dumps({"key": key, "answer": answer, "at": time.time()}))


def _check(*values: Any) -> str:
    """One sentence on settings that cannot go together, or on a strategy that is biased."""
    try:
        params = _params(values)
    except RheoError as error:
        return f'<p class="wrong">{html.escape(str(error))}</p>'
    return f"<p>{html.escape(strings.BIASED_NOTE)}</p>" if params.strategy == "naive" else ""


def _status(pair: str) -> str:
    loading = MODELS.look(pair)
    state = "loading"
    if loading is not None and loading.over:
        state = "wrong" if loading.error else "ready"
    sentence = loading.sentence if loading else strings.NOT_ASKED
    return f'<p data-state="{state}">{html.escape(sentence)}</p>'


def _poll(pair: str) -> tuple[str, Any]:
    """The model's state for the status line; the clock stops when nothing more can change."""
    loading = MODELS.look(pair)
    return _status(pair), gr.Timer(active=loading is None or not loading.over)
