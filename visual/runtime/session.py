"""One visitor's run: begun, decoded round by round as messages for the viewer, stopped."""

import itertools
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.schema import Run
from visual.browser import messages as wire
from visual.run import metrics
from visual.runtime import live_run, queue, reference_speed, run_settings, this_machine
from visual.runtime.model_loader import MODELS
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, links, measures, refusals

PROMPT_LIMIT = 8000  # characters that are kept; the model's own context may be shorter
RUNS = 3  # a visitor's last ones: two to compare, and one more
_POLL = 0.4  # seconds between two looks at a model that loads


@dataclass
class Session:
    """What a visitor's page has on the server.

    `epoch` moves on when a run is to end; `wanted` is the epoch of the last press of Run; `doing`
    says how far that run has come.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    epoch: int = 0
    wanted: int = 0
    doing: str = "nothing"  # or "waiting" or "decoding"
    repeated: Any = None  # the key of the run that is to be run again; see `again`

    def keep(self, key: str, run: Run) -> None:
        """Put a run under its key; the oldest of more than `RUNS` is forgotten."""
        self.runs[key] = run
        while len(self.runs) > RUNS:
            del self.runs[next(iter(self.runs))]


def begin(session: Session) -> str:
    """A run of this visitor that still goes on ends after its round; the next takes its place."""
    session.epoch += 1
    session.wanted = session.epoch
    session.doing = "waiting"
    return wire.dumps({"type": "wait", "n": session.epoch})


def stop(session: Session) -> Any:
    """End this visitor's run after its round, or at once where it still waits for the model."""
    session.epoch += 1
    if session.doing == "nothing":
        return gr.skip()
    sentence, state = labels.STOPPED_RUN, "done"
    if session.doing == "decoding":
        sentence, state = links.STOPPING, "running"
    number = [session.wanted, time.time()]  # the run's own: what it still says is listened to
    return wire.dumps({"type": "say", "n": number, "sentence": sentence, "state": state})


def end(session: Session) -> None:
    """The visitor is gone: nobody waits for the run any more."""
    session.epoch += 1
    session.runs.clear()


def decode(session: Session, prompt: str, pair: str, *values: Any) -> Iterator[str]:
    """Messages of a run, one a round; whatever is wrong becomes a sentence.

    A run that another one has replaced ends without a word: the next speaks already.
    """
    numbers = itertools.count()  # no two messages are equal, or the browser would skip one
    epoch = session.wanted
    try:
        params = run_settings.params(values)
        limits.check(pair, params)
        work = _messages(session, epoch, usable(prompt), pair, params)
        with closing(queue.in_turn(lambda: session.epoch != epoch, work)) as messages:
            for message in messages:
                if session.wanted != epoch:
                    return
                yield wire.dumps({"n": [epoch, next(numbers)], **message})
    except RheoError as error:
        yield wire.dumps({"n": epoch, "type": "say", "sentence": str(error), "state": "wrong"})
    except Exception as error:
        sentence = labels.UNEXPECTED.format(kind=type(error).__name__)
        yield wire.dumps({"n": epoch, "type": "say", "sentence": sentence, "state": "wrong"})
        raise
    finally:
        if session.wanted == epoch:
            session.doing = "nothing"


def usable(prompt: Any) -> str:
    """A prompt as it came.

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


def cut(engine: Any, prompt: str, params: DecodeParams) -> tuple[str, str]:
    """The end of the prompt that is used, and one sentence where that is not all of it."""
    used, said = prompt[-PROMPT_LIMIT:], ""
    if len(used) < len(prompt):
        said = links.CUT_CHARACTERS.format(limit=PROMPT_LIMIT, length=len(prompt))
    used, kept, length = engine.fit(used, params.max_new_tokens, current().prompt_tokens)
    if kept < length:
        said = links.CUT_TOKENS.format(kept=kept, length=length)
    return used, said


def _messages(
    session: Session, epoch: int, prompt: str, pair: str, params: DecodeParams
) -> Iterator[dict[str, Any]]:
    """Wait for the model, then decode until the end, the time limit or the next epoch."""
    loading = MODELS.want(pair)
    while not loading.over and session.epoch == epoch:
        yield {"type": "say", "sentence": loading.sentence, "state": "waiting", "at": time.time()}
        time.sleep(_POLL)
    if loading.error:
        raise RheoError(loading.sentence)
    if session.epoch != epoch:
        yield {"type": "say", "sentence": labels.STOPPED_RUN, "state": "done"}
        return
    prompt, said = cut(loading.engine, prompt, params)
    session.doing = "decoding"
    yield from _rounds(session, epoch, live_run.pieces(pair, prompt, params), prompt, said)


def _rounds(
    session: Session, epoch: int, pieces: Iterator[Run], prompt: str, said: str
) -> Iterator[dict[str, Any]]:
    """A run's messages: it begins, its rounds, how it ended."""
    run, key, began, how = None, secrets.token_hex(6), time.monotonic(), ""
    made: list[dict[str, Any]] = []
    reference_speed.decoded.append(key)
    yield {"type": "begin", "key": key, "prompt": prompt, "transcript": "", "metrics": []}
    try:
        for piece in pieces:
            run = live_run.grown(run, piece)
            session.keep(key, run)
            for round in piece.rounds:
                made.append(shown := wire.a_round(run, round))
                running = {"sentence": f"{said} {labels.RUNNING}".strip(), "state": "running"}
                yield {"type": "round", "round": shown, **wire.state(run), **running}
            if session.epoch != epoch:
                how = labels.STOPPED_RUN
                break
            if time.monotonic() - began > (most := current().seconds):
                how = labels.TIME_IS_UP.format(seconds=most)
                break
    finally:
        pieces.close()
    times = metrics.ratio(run, this_machine.machine(key, run, session.runs))
    speed = measures.ENDED.format(ratio=times) if times else ""
    how = how or labels.FINISHED.format(stop=labels.STOPS[run.stop]) + speed
    yield {**wire.whole(key, run, made=made), "sentence": f"{said} {how}".strip(), "state": "done"}
