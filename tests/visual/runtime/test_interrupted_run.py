"""Stop and a run's deadline act within a round: shown with a model whose draft levels are slow."""

import threading
import time
from types import SimpleNamespace

import pytest

from rheo.decoding.engine import Engine
from rheo.models.draft.lm import LMDraft
from rheo.models.hub.catalogue import DEFAULT, PAIRS
from rheo.models.loader import LoadedPair
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from tests.tiny import byte_level_tokenizer, tiny_model
from visual.runtime import live_run, queue, session
from visual.server import settings
from visual.words import labels

pytestmark = pytest.mark.usefixtures("one_thread")
LEVEL_S, DEPTH = 1.0, 12  # eleven seconds a round, for the root's level costs none
PARAMS = DecodeParams(K=3, R=8, depth=DEPTH, max_new_tokens=24)


@pytest.fixture
def engine(monkeypatch) -> Engine:
    """A tiny pair, as the page's loaded model."""
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    draft = LMDraft(Target(tiny_model(seed=1, vocab=288), None), 288)
    made = Engine(LoadedPair(PAIRS[DEFAULT], target, draft, "draft"))
    loaded = SimpleNamespace(engine=made, over=True, error="")
    models = SimpleNamespace(want=lambda name: loaded, look=lambda name: loaded)
    for module in (session, live_run):
        monkeypatch.setattr(module, "MODELS", models)
    return made


def slow_from(engine: Engine, monkeypatch, round: int) -> None:
    """Let every draft level take a second from this round on."""
    level, calls = engine.draft.level, []

    def slow(*nodes):
        calls.append(nodes)
        if len(calls) > round * (DEPTH - 1):
            time.sleep(LEVEL_S)
        return level(*nodes)

    monkeypatch.setattr(engine.draft, "level", slow)


def begun(monkeypatch, seconds: int = 300):
    """A visitor who pressed Run, and the messages."""
    allowed = settings.read({"RHEO_SECONDS": str(seconds)})
    monkeypatch.setattr(session, "current", lambda: allowed)
    visitor = session.PlaygroundVisitor()
    session.begin(visitor)
    return visitor, session._messages(visitor, visitor.epoch, "the cat", "tiny", PARAMS)


@pytest.mark.parametrize("rounds", [0, 2])
def test_stop_acts_within_a_round(engine, monkeypatch, rounds):
    slow_from(engine, monkeypatch, rounds)
    visitor, messages = begun(monkeypatch)
    timer = threading.Timer(2.0, session.stop, [visitor])
    began = time.monotonic()
    timer.start()
    *_, last = messages
    timer.join()
    assert last["sentence"] == labels.STOPPED_RUN and len(last["rounds"]) == rounds
    assert time.monotonic() - began < 8, "it waited for the end of the round"
    assert len(visitor.runs[last["key"]].rounds) == rounds, "the rounds so far stay"
    assert engine._lock.acquire(blocking=False) and not queue.MODEL_QUEUE, "the model is free again"


def test_a_deadline_acts_within_a_round(engine, monkeypatch):
    slow_from(engine, monkeypatch, 0)
    _, messages = begun(monkeypatch, seconds=5)
    began = time.monotonic()
    *_, last = messages
    assert last["sentence"] == labels.TIME_IS_UP.format(seconds=5)
    assert time.monotonic() - began < 10, "it waited for the end of the round"


def test_a_run_that_ends_by_itself_says_so(engine, monkeypatch):
    _, messages = begun(monkeypatch)
    *_, last = messages
    assert labels.FINISHED.format(stop=labels.STOPS["length"]) in last["sentence"]
    assert "beside it" in last["sentence"]  # the speed-up, from steps between its rounds
