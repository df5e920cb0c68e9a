"""Contexts to compare at: answers of the target, cut, whatever draft and strategy are."""

from dataclasses import replace

import numpy as np
import pytest

from rheo.bench.contexts import _cuts, contexts
from tests.bench.inputs import PARAMS, PROMPTS

pytestmark = pytest.mark.usefixtures("one_thread")


def test_contexts_are_answers_of_the_target_cut_at_several_points(engine):
    found = list(contexts(engine, PROMPTS, PARAMS, 11))
    flat = [c for batch in found for c in batch]
    assert [c.number for c in flat] == list(range(11))
    for batch in found:
        assert len({c.new for c in batch}) == len(batch)
        longest = batch[-1].ids
        for context in batch:
            prompt = engine.target.encode(context.prompt.text)
            assert context.ids == longest[: len(context.ids)]
            assert context.ids[: len(prompt)] == prompt
            assert len(context.ids) == len(prompt) + context.new
    assert len(found) > 2


def test_no_context_lies_behind_an_end_token(engine, monkeypatch):
    ends = set(range(0, engine.target.vocab_size, 9))
    monkeypatch.setattr(engine.target, "eos_ids", ends)
    flat = [c for batch in contexts(engine, PROMPTS, PARAMS, 8) for c in batch]
    assert flat
    for context in flat:
        assert not set(context.ids[-context.new :]) & ends


def test_contexts_do_not_depend_on_draft_or_strategy(engine):
    def ids(params):
        return [c.ids for batch in contexts(engine, PROMPTS, params, 6) for c in batch]

    same = replace(PARAMS, strategy="topk", m=0, S=None, R=4)
    assert ids(PARAMS) == ids(same) != ids(replace(PARAMS, seed=9))


@pytest.mark.parametrize("length", range(0, 9))
def test_cuts_lie_inside(length):
    cuts = _cuts(length, 4, np.random.default_rng(length))
    assert cuts == sorted(set(cuts))
    assert all(1 <= cut <= length for cut in cuts)
    assert len(cuts) == min(length, 4) or 0 < len(cuts) <= 4
