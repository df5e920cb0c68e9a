"""One visitor's run: begun, decoded round by round as messages for the viewer, stopped."""

import itertools
import secrets
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr

from rheo.decoding.watch import Watch
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.schema import Run
from visual.browser import messages
from visual.run import speedup
from visual.runtime import live_run, queue, reference_speed, run_settings, this_machine
from visual.runtime.kept_runs import KeptRuns
from visual.runtime.model_loader import MODELS
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, links, refusals, sentences

if TYPE_CHECKING:
    from rheo.decoding.engine import Engine

_POLL = 0.4  # seconds between two looks at a model that loads


@dataclass
class PlaygroundVisitor:
    """What the Playground of one visitor has on the server.

    `epoch` moves on when a run is to end; `wanted` is the epoch of the last press of Run; `doing`
    says how far that run has come; `locked` are the settings that the link holds fast.
    """

    runs: KeptRuns = field(default_factory=KeptRuns)
    epoch: int = 0
    wanted: int = 0
    doing: str = "nothing"  # or "waiting" or "decoding"
    locked: tuple[str, ...] = ()
    repeated: object = None  # the key of the run that is to be run again; see `rerun`


def begin(visitor: PlaygroundVisitor) -> str:
    """Let a run that still goes on end within its round; return the message that the next waits."""
    visitor.epoch += 1
    visitor.wanted = visitor.epoch
    visitor.doing = "waiting"
    return messages.dumps({"type": "wait", "n": visitor.epoch})


def stop(visitor: PlaygroundVisitor) -> Any:
    """End this visitor's run within its round, or at once where it still waits for the model."""
    visitor.epoch += 1
    if visitor.doing == "nothing":
        return gr.skip()
    sentence, state = labels.STOPPED_RUN, "done"
    if visitor.doing == "decoding":
        sentence, state = links.STOPPING, "running"
    number = [visitor.wanted, time.time()]  # the run's own: what it still says is listened to
    return messages.dumps({"type": "say", "n": number, "sentence": sentence, "state": state})


def end(visitor: PlaygroundVisitor) -> None:
    """End the run and forget all of them: the visitor is gone."""
    visitor.epoch += 1
    visitor.runs.clear()


def decode(visitor: PlaygroundVisitor, prompt: str, pair: str, *values: Any) -> Iterator[str]:
    """Yield the messages of a run, one a round; whatever is wrong becomes a sentence.

    A run that another one has replaced sends nothing more: the next one's messages come already.
    """
    numbers = itertools.count()  # no two messages are equal, or the browser would skip one
    epoch = visitor.wanted
    try:
        params = run_settings.params(values)
        limits.check(pair, params)
        work = _messages(visitor, epoch, usable(prompt), pair, params)
        with closing(queue.in_turn(lambda: visitor.epoch != epoch, work)) as found:
            for message in found:
                if visitor.wanted != epoch:
                    return
                yield messages.dumps({"n": [epoch, next(numbers)], **message})
    except RheoError as error:
        yield messages.dumps({"n": epoch, "type": "say", "sentence": str(error), "state": "wrong"})
    except Exception as error:
        sentence = labels.UNEXPECTED.format(kind=type(error).__name__)
        yield messages.dumps({"n": epoch, "type": "say", "sentence": sentence, "state": "wrong"})
        raise
    finally:
        if visitor.wanted == epoch:
            visitor.doing = "nothing"


def usable(prompt: object) -> str:
    """Return a prompt as it came.

    Raises:
        RheoError: there is nothing in it, or half a character.
    """
    if not isinstance(prompt, str) or not prompt.strip():
        raise RheoError(labels.PROMPT_EMPTY)
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise RheoError(refusals.NO_TEXT) from None
    return prompt


def cut(engine: "Engine", prompt: str, params: DecodeParams) -> tuple[str, str]:
    """Return the end of the prompt that is used, and one sentence where that is not all of it."""
    used, said = prompt[-run_settings.PROMPT_LIMIT :], ""
    if len(used) < len(prompt):
        said = links.CUT_CHARACTERS.format(limit=run_settings.PROMPT_LIMIT, length=len(prompt))
    used, kept, length = engine.fit(used, params.max_new_tokens, current().prompt_tokens)
    if kept < length:
        said = links.CUT_TOKENS.format(kept=kept, length=length)
    return used, said


def _messages(
    visitor: PlaygroundVisitor, epoch: int, prompt: str, pair: str, params: DecodeParams
) -> Generator[messages.Message, None, None]:
    """Wait for the model, then decode until the end, the time limit or the next epoch."""
    loading = MODELS.want(pair)
    while not loading.over and visitor.epoch == epoch:
        yield {"type": "say", "sentence": loading.sentence, "state": "waiting", "at": time.time()}
        time.sleep(_POLL)
    if loading.error:
        raise RheoError(loading.sentence)
    if visitor.epoch != epoch or loading.engine is None:
        yield {"type": "say", "sentence": labels.STOPPED_RUN, "state": "done"}
        return
    prompt, said = cut(loading.engine, prompt, params)
    visitor.doing = "decoding"
    end = time.monotonic() + current().seconds
    watch = Watch(lambda: visitor.epoch != epoch or time.monotonic() > end, times_plain=True)
    pieces = live_run.pieces(pair, prompt, params, watch=watch)
    yield from _rounds(visitor, epoch, pieces, watch, prompt, said)


def _rounds(
    visitor: PlaygroundVisitor,
    epoch: int,
    pieces: Generator[Run, None, None],
    watch: Watch,
    prompt: str,
    said: str,
) -> Generator[messages.Message, None, None]:
    """Yield a run's messages: it begins, its rounds, how it ended."""
    run: Run | None = None
    key = secrets.token_hex(16)
    reference_speed.keep(key, watch.plain_ms)
    seen = sentences.harmless(prompt)
    yield {"type": "begin", "key": key, "prompt": seen, "transcript": "", "metrics": []}
    try:
        for piece in pieces:
            run = live_run.grown(run, piece)
            visitor.runs.grow(key, run)
            for round in piece.rounds:
                shown = messages.a_round(run, round)
                running = {"sentence": f"{said} {labels.RUNNING}".strip(), "state": "running"}
                yield {"type": "round", "round": shown, **messages.state(run), **running}
            if watch.over():  # a round that goes on asks by itself
                break
    finally:
        pieces.close()
        if run is not None:
            visitor.runs.keep(key, run)
    assert run is not None  # the last piece always comes
    if run.stop != "closed":
        how = labels.FINISHED.format(stop=labels.STOPS[run.stop])
        how += speedup.ended(run, this_machine.machine(key, run))
    elif visitor.epoch != epoch:
        how = labels.STOPPED_RUN
    else:
        how = labels.TIME_IS_UP.format(seconds=current().seconds)
    yield {
        **messages.whole(key, run, most=0),  # its rounds have all been sent
        "settings": run_settings.made_with(run),
        "sentence": f"{said} {how}".strip(),
        "state": "done",
    }
