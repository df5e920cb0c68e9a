"""The mass that a rejection leaves: card, sentence, table and strip tell the same one.

Where the support is larger than what a trace records, q-tilde is known on a part of it alone; what
the last probe left in all is known all the same, and every view must start from that.
"""

import math
import re
from dataclasses import replace

import pytest

from rheo.decoding.loop import Decoding
from rheo.models.draft.lm import LMDraft
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.schema import Round, Run, Visit
from tests.decoding.tiny_runs import PROMPT, new_tokens, run_of
from tests.tiny import byte_level_tokenizer, tiny_model
from tests.visual import by_hand, sample
from visual.round import residual, round_table, steps
from visual.words.sentences import number

pytestmark = pytest.mark.usefixtures("one_thread")
MASS = 0.15  # of what the synthetic visit leaves; its recorded part would say 0.5


def beyond_the_record() -> Run:
    """p = (0.1, 0.4 | 0.5), q-tilde = (0.1, 0.5 | 0.4): the two tokens recorded leave nothing, and
    0.15 of the 0.5 outside is left, for the 0.4 out there took 0.35 of it."""
    nodes = (
        by_hand.root("the"),
        by_hand.child("deterministic", "cat", 0, 0.5, 0.1, 0.1),
        by_hand.child("probe", "sea", 1, 0.5, 0.4, 0.4, true=0.5),
    )
    test = by_hand.probe("sea", "reject", 0.9, 0.4, 0.5, 2)
    sibling = by_hand.sibling("cat", "reject", 0.7, 0.0, 1, 0.0, 0.0)
    emitted = by_hand.emit("dog", 0.7, 0.8, 0.0, 0.8)
    outside = {"dog": 0.4, "mat": 0.05}
    columns = ("cat", "sea"), (0.1, 0.4), (0.5, 0.2), ((0.1, 0.5),), outside, 0.05, MASS
    visit = replace(by_hand.visit(0, *columns, test, sibling, emitted), support_size=6)
    ended = (("dog", "residual", None),)
    return by_hand.of((by_hand.round_of(0, nodes, (visit,), ended, 0.5, 1),), "rheo", "length")


@pytest.fixture(scope="module")
def full_support() -> Run:
    """A real run: the draft's support is its 3,000 tokens, of which a trace records 1,024."""
    target, draft = (tiny_model(seed=seed, vocab=3000, num_hidden_layers=2) for seed in (1, 2))
    served = Target(target, byte_level_tokenizer())
    served.eos_ids = frozenset()
    params = DecodeParams(K=4, R=12, depth=2, T=2.0, S=None, max_new_tokens=40)
    decoding = Decoding(served, LMDraft(Target(draft, None), 3000), params, PROMPT)
    new_tokens(decoding)
    return run_of(decoding)


def told(run: Run, round: Round, visit: Visit) -> list[list[float | str]]:
    """Of each rejected probe of a visit, the mass that is left: by the engine, by the table, by the
    strip, and as words by card and sentence, which agree with `number` of it."""
    start = sum(len(v.steps) for v in round.visits[: round.visits.index(visit)])
    table = {row["step"]: row["left"] for row in round_table.rows(run, round)}
    frames = [frame for frame in steps.of(run, round) if frame["phase"] in ("verdict", "end")]
    found = []
    for at, step in enumerate(visit.steps):
        if step.rule == "probe" and step.verdict == "reject":
            frame = frames[start + at]
            card = re.search(r"</b> (\S+) of \S+ is left", frame["card"])[1]
            sentence = re.search(r"; (\S+) of [\w ]+ is left", frame["sentence"])[1]
            found.append([table[start + at + 1], strip(run, round, visit, at), card, sentence])
    return found


def strip(run: Run, round: Round, visit: Visit, at: int) -> float:
    """The width of what is not hatched in the bar of the probe at step `at`."""
    drawn = residual.strip(run, round, visit.node, at + 1)
    distribution = next(trace for trace in drawn["data"] if trace["name"] == "distribution")
    rows = [dict(zip(residual.SEGMENT, row, strict=True)) for row in distribution["customdata"]]
    stage = sum(step.verdict == "reject" for step in visit.steps[:at])
    bar = [row for row in rows if row["stage"] == stage]
    assert math.fsum(row["width"] for row in bar) == pytest.approx(1)
    return math.fsum(row["width"] for row in bar if not row["taken"])


def test_a_support_larger_than_the_record_by_hand():
    run = beyond_the_record()
    ((table, bar, card, sentence),) = told(run, run.rounds[0], run.rounds[0].visits[0])
    assert [table, bar] == pytest.approx([MASS, MASS])
    assert [card, sentence] == ["0.15", "0.15"]


def test_the_next_bar_by_hand_is_what_is_left():
    """All of it lies outside the record: ␣dog, 0.8 of the outside, is 0.8 of what is left."""
    run = beyond_the_record()
    drawn = residual.strip(run, run.rounds[0], 0, 1)
    distribution = next(trace for trace in drawn["data"] if trace["name"] == "distribution")
    rows = [dict(zip(residual.SEGMENT, row, strict=True)) for row in distribution["customdata"]]
    (dog,) = by_hand.ids("dog")
    assert [r["width"] for r in rows if (r["stage"], r["token"]) == (1, dog)] == pytest.approx(
        [0.8]
    )
    bar = {(r["token"], r["taken"]): r["width"] for r in rows if r["stage"] == 0}
    assert (bar[dog, False], bar[dog, True]) == pytest.approx((0.12, 0.28))


def test_a_real_run_with_the_full_support(full_support):
    seen = 0
    for round in full_support.rounds:
        for visit in round.visits:
            assert len(visit.ids) < visit.support_size or not visit.ids
            for table, bar, card, sentence in told(full_support, round, visit):
                assert [table, bar] == pytest.approx([visit.mass] * 2, abs=1e-6)
                assert card == sentence == number(visit.mass)
                seen += 1
    assert seen > 5


@pytest.mark.parametrize("run", [by_hand.run(), by_hand.rrsw(), sample.run(6)])
def test_a_support_recorded_whole(run):
    seen = 0
    for round in run.rounds:
        for visit in round.visits:
            for table, bar, card, sentence in told(run, round, visit):
                assert bar == pytest.approx(table)
                assert card == sentence == number(table)
                seen += 1
    assert seen
