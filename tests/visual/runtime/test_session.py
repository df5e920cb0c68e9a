"""A visitor's run without a browser: stopped, replaced, cut, left."""

import json

import pytest

from rheo.params import DecodeParams
from tests.browser.served import Engine
from tests.visual import sample
from visual.runtime import live_run, model_loader, queue, run_settings, session
from visual.words import labels, links

PAIR = "smollm2-135m"


@pytest.fixture(autouse=True)
def scripted(monkeypatch):
    """The scripted model, loaded and quick; rounds of the sample as pieces."""
    held = model_loader.Models(lambda name, progress: Engine())
    held.want(PAIR, wait=True)
    for module in (session, live_run):
        monkeypatch.setattr(module, "MODELS", held)
    monkeypatch.setattr("tests.browser.served.ROUND_S", 0.0)
    sample.run(rounds=60)


def begun(prompt="long"):
    visitor = session.PlaygroundVisitor()
    session.begin(visitor)
    usual = DecodeParams()
    values = [getattr(usual, name) for name in run_settings.FIELDS]
    return visitor, map(json.loads, session.decode(visitor, prompt, PAIR, *values))


def until(messages, kind):
    return next(message for message in messages if message["type"] == kind)


def test_stop_ends_a_run_of_a_model_that_is_asked_between_rounds_alone():
    visitor, messages = begun()
    until(messages, "round")
    said = json.loads(session.stop(visitor))
    assert (said["sentence"], said["state"]) == (links.STOPPING, "running")
    rest = list(messages)
    assert [m["type"] for m in rest][-1] == "run" and len(rest) <= 2
    assert rest[-1]["sentence"] == labels.STOPPED_RUN and visitor.doing == "nothing"
    assert not queue.MODEL_QUEUE


def test_stop_with_nothing_running_changes_nothing():
    visitor = session.PlaygroundVisitor()
    assert isinstance(session.stop(visitor), dict)  # gradio's "no update"
    _, messages = begun("short")
    assert list(messages)[-1]["type"] == "run"


def test_a_replaced_run_ends_without_a_word():
    visitor, messages = begun()
    until(messages, "round")
    session.begin(visitor)
    assert [m["type"] for m in messages] in ([], ["round"]) and not queue.MODEL_QUEUE
    assert visitor.doing == "waiting"  # it is the next run that waits


def test_a_visitor_who_leaves_frees_the_model():
    visitor, messages = begun()
    until(messages, "round")
    assert queue.MODEL_QUEUE
    session.end(visitor)
    list(messages)
    assert not queue.MODEL_QUEUE and visitor.epoch > visitor.wanted


def test_a_closed_page_closes_the_run():
    """What Gradio does with the generator of a tab that is closed."""
    visitor = session.PlaygroundVisitor()
    session.begin(visitor)
    usual = DecodeParams()
    messages = session.decode(
        visitor, "long", PAIR, *(getattr(usual, name) for name in run_settings.FIELDS)
    )
    while json.loads(next(messages))["type"] != "round":
        pass
    assert queue.MODEL_QUEUE
    messages.close()
    assert not queue.MODEL_QUEUE and visitor.doing == "nothing"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("short", ""),
        (" ".join("w" for _ in range(130)), "last 100 of 130 tokens"),
        ("x" * (run_settings.PROMPT_LIMIT + 5), "last 8,000 of 8,005 characters"),
    ],
)
def test_a_prompt_that_is_too_long_is_cut_and_said_so(prompt, said):
    used, sentence = session.cut(Engine(), prompt, DecodeParams())
    assert said in sentence and bool(said) == bool(sentence)
    assert prompt.endswith(used) and (used == prompt) == (not said)
