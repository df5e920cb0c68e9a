"""A watch ends a decoding within a round and times plain steps; text and trace do not change."""

import dataclasses
import threading
import time

import pytest

from rheo.algorithm.strategies import TABLE
from rheo.decoding.recorder import record_round
from rheo.decoding.watch import Watch, is_turn
from rheo.trace.schema import Milliseconds
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens

NO_TIME = Milliseconds(draft=0.0, target=0.0, verify=0.0, other=0.0)
pytestmark = pytest.mark.usefixtures("one_thread")


class FakeClock:
    """A clock that each pass of a target advances by a millisecond a pass so far."""

    def __init__(self, target) -> None:
        self.now, self.passes = 0.0, 0
        run = target.verify

        def verify(*rows):
            self.passes += 1
            self.now += 1e-3 * self.passes
            return run(*rows)

        target.verify = verify

    def __call__(self) -> float:
        return self.now


def slow(d, seconds: float) -> None:
    """Let every draft level take so long."""
    level = d.draft.level

    def sleepy(nodes, parents):
        time.sleep(seconds)
        return level(nodes, parents)

    d.draft.level = sleepy


def bare(rounds) -> list:
    """Recorded rounds without their times."""
    return [dataclasses.replace(record_round(r), ms=NO_TIME) for r in rounds]


@pytest.mark.parametrize("asked", range(1, 9))
def test_a_decoding_ends_at_whatever_look_it_is_over(models, asked) -> None:
    """Rounds of depth 3 look three times: before two further levels and before verification."""
    looks = iter(range(1, 100))
    whole = decoding(models, seed=3)
    new_tokens(whole)
    d = decoding(models, seed=3, watch=Watch(over=lambda: next(looks) >= asked))
    new_tokens(d)
    assert len(d.rounds) == (asked - 1) // 3 and d.stopped == "closed"
    assert whole.text.startswith(d.text) and d.first == whole.first
    assert not d.rounds or bare(d.rounds) == bare(whole.rounds)[: len(d.rounds)]
    again = decoding(models, seed=3)  # the model is free, and as before
    assert new_tokens(again) == new_tokens(decoding(models, seed=3))


def test_close_from_another_thread_acts_within_a_round(models) -> None:
    """Six levels of 0.3 s a round: it ended after 1.8 s of them when only rounds were looked at."""
    d = decoding(models, depth=7)
    slow(d, 0.3)
    timer = threading.Timer(0.4, d.close)
    timer.start()
    start = time.monotonic()
    assert list(d) == [] and d.first is not None
    assert time.monotonic() - start < 1.2


def test_a_deadline_acts_within_a_round(models) -> None:
    d = decoding(models, depth=7, watch=Watch(over=lambda: time.monotonic() > end))
    slow(d, 0.3)
    start = time.monotonic()
    end = start + 0.4
    assert list(d) == []
    assert time.monotonic() - start < 1.2


@pytest.mark.parametrize("name", DRAFTING)
@pytest.mark.parametrize("T", [0.0, 1.0])
def test_plain_steps_beside_a_run_change_nothing_of_it(models, name, T) -> None:
    alone = decoding(models, strategy=name, seed=7, T=T)
    watched = decoding(models, strategy=name, seed=7, T=T, watch=Watch(times_plain=True))
    assert new_tokens(alone) == new_tokens(watched)
    assert bare(alone.rounds) == bare(watched.rounds) and alone.text == watched.text
    turns = [i for i in range(len(watched.rounds)) if is_turn(i)]
    assert len(watched.watch.plain_ms) == len(turns) > 1


def test_a_plain_step_that_is_committed_would_be_noticed(models, monkeypatch) -> None:
    """The negative control: the step leaves its row in the cache."""
    alone, watched = (decoding(models, seed=7, watch=w) for w in (None, Watch(times_plain=True)))
    verify = watched.target.verify

    def committing(tokens, positions, mask=None):
        made = verify(tokens, positions, mask)
        if len(tokens) == 1:
            watched.target.commit(tokens.new_zeros(1))
        return made

    watched.target.verify = committing
    assert new_tokens(alone) != new_tokens(watched)


def test_figures_come_from_the_samples_beside_the_run(models) -> None:
    watch = Watch(times_plain=True)
    d = decoding(models, seed=7, watch=watch)
    watch.now = clock = FakeClock(d.target)
    new_tokens(d)
    # the n-th pass takes n ms: one a round, before round 1 two more (one warms up), then one more
    expected, passes = [], 0
    for i in range(len(d.rounds)):
        if is_turn(i):
            passes += 1 if expected else 2
            expected.append(float(passes))
        passes += 1
    assert passes == clock.passes
    assert watch.plain_ms == pytest.approx(expected)
    assert watch.seconds == pytest.approx((sum(expected) + expected[0] - 1) / 1e3)


def test_plain_decoding_is_its_own_reference(models) -> None:
    watch = Watch(times_plain=True)
    new_tokens(decoding(models, strategy="autoregressive", watch=watch))
    assert watch.plain_ms == [] and "autoregressive" in TABLE
