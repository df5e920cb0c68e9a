"""What stands behind the Playground: one model at a time, runs that grow, the opening round."""

import threading
from dataclasses import replace

import pytest

from rheo.errors import RheoError
from rheo.params import DecodeParams
from tests.visual import sample
from visual.browser import messages
from visual.pages import controls
from visual.runtime import live_run, run_settings, session
from visual.runtime.model_loader import Models
from visual.words import labels


class Engine:
    warning = None


def test_a_model_is_loaded_once_and_its_progress_can_be_read():
    gate, asked = threading.Event(), []

    def load(name, progress):
        asked.append(name)
        progress("Downloading", 0.25)
        gate.wait(5)
        return Engine()

    models = Models(load)
    assert models.look("a") is None
    first, second = models.want("a"), models.want("a")
    assert first is second and not first.over
    while first.fraction is None:
        pass
    assert "25" in first.sentence
    gate.set()
    assert models.want("a", wait=False) is first
    while not first.over:
        pass
    assert first.sentence == labels.READY and asked == ["a"]


def test_a_failed_load_is_one_sentence_and_is_tried_again():
    def load(name, progress):
        if name == "absent":
            raise RheoError("There is no network.")
        raise ValueError("secret detail")

    models = Models(load)
    failed = models.want("absent", wait=True)
    assert failed.over and failed.sentence.startswith("There is no network.")
    assert models.want("absent", wait=True) is not failed
    broken = models.want("broken", wait=True)
    assert "secret" not in broken.sentence and "ValueError" in broken.sentence


def test_another_pair_replaces_the_first():
    models = Models(lambda name, progress: Engine())
    first = models.want("a", wait=True)
    assert models.want("b", wait=True).engine is not first.engine
    assert models.look("a") is None


def test_pieces_join_to_the_run():
    run = sample.run()
    grown = None
    for round in run.rounds:
        grown = live_run.grown(grown, replace(run, rounds=(round,), stop="closed"))
    assert live_run.grown(grown, replace(run, rounds=())) == run


def test_the_page_opens_at_a_round_with_an_accepted_probe_if_there_is_one():
    run = sample.run(rounds=12)
    lucky = [k for k, r in enumerate(run.rounds) if any(e.origin == "probe" for e in r.emitted)]
    assert lucky and messages.telling(run) in lucky


@pytest.mark.parametrize("prompt", ["", "  \n", None, 3])
def test_an_unusable_prompt_is_one_sentence(prompt):
    with pytest.raises(RheoError):
        session.usable(prompt)


def test_settings_that_cannot_go_together_are_said_escaped():
    good = DecodeParams()
    values = [getattr(good, name) for name in run_settings.FIELDS]
    assert controls.check(*values) == ""
    values[run_settings.FIELDS.index("strategy")] = "<b>"
    assert "&lt;b&gt;" in controls.check(*values)
