"""One visitor's run: begun, decoded round by round as messages for the viewer, stopped."""

import itertools
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace import Run
from visual import strings, wire
from visual.pages import controls, live
from visual.pages.models import MODELS

PROMPT_LIMIT = 8000  # characters; the model's own context may be shorter
RUNS = 3  # a visitor's last ones: two to compare, and one more
SECONDS = 600  # a run's time limit
POLL = 0.4  # seconds between two looks at a model that loads


@dataclass
class Session:
    """What a visitor's page has on the server.

    `epoch` moves on when a run is to end; `wanted` is the epoch of the last press of Run.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    epoch: int = 0
    wanted: int = 0

    def keep(self, key: str, run: Run) -> None:
        """Put a run under its key; the oldest of more than `RUNS` is forgotten."""
        self.runs[key] = run
        while len(self.runs) > RUNS:
            del self.runs[next(iter(self.runs))]


def begin(session: Session) -> str:
    """A run of this visitor that still goes on ends after its round; the next takes its place."""
    session.epoch += 1
    session.wanted = session.epoch
    return wire.dumps({"type": "wait", "n": session.epoch})


def stop(session: Session) -> None:
    session.epoch += 1


def decode(session: Session, prompt: str, pair: str, *values: Any) -> Iterator[str]:
    """Messages of a run, one a round; whatever is wrong becomes a sentence."""
    numbers = itertools.count()  # no two messages are equal, or the browser would skip one
    epoch = session.wanted
    try:
        params = controls.params(values)
        _check_prompt(prompt)
        for message in _messages(session, epoch, prompt, pair, params):
            yield wire.dumps({"n": [epoch, next(numbers)], **message})
    except RheoError as error:
        yield wire.dumps({"n": epoch, "type": "say", "sentence": str(error), "state": "wrong"})
    except Exception as error:
        sentence = strings.UNEXPECTED.format(kind=type(error).__name__)
        yield wire.dumps({"n": epoch, "type": "say", "sentence": sentence, "state": "wrong"})
        raise


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
            session.keep(key, run)
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
