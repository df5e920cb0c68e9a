"""A prompt that is too long keeps its end, and the answer keeps its room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo.decoding.engine import Engine
from rheo.models.target.target import Target
from rheo.params import DecodeParams


class Words:
    """A target whose tokens are words, with a template of seven."""

    def __init__(self, context: int) -> None:
        self.context, self.words = context, []

    def encode(self, prompt: str, raw: bool = False) -> list[int]:
        self.words = self.words or prompt.split()
        ids = [self.words.index(word) for word in prompt.split()]
        return ids if raw else [0, 0, 0, *ids, 0, 0, 0, 0]

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[i] for i in ids)


def engine_of(target) -> Engine:
    engine = Engine.__new__(Engine)
    engine.target = target
    return engine


@given(st.integers(1, 200), st.integers(20, 120), st.integers(1, 150), st.integers(10, 200))
def test_what_is_kept_is_the_longest_end_that_has_room(length, context, new, most):
    target = Words(context)
    prompt = " ".join(f"w{i}" for i in range(length))
    used, kept, had = engine_of(target).fit(prompt, new, most)
    assert had == length + 7 and prompt.endswith(used)
    if had <= most and had < context:
        assert used == prompt and kept == had
        return
    limit = min(most, context - min(new, context // 2))
    assert len(target.encode(used)) <= limit
    assert len(used.split()) == min(length, max(limit - 7, 0))


@pytest.mark.embedded
def test_the_embedded_target_takes_what_is_kept(embedded_folder):
    engine = engine_of(Target.load(str(embedded_folder), device="cpu"))
    prompt = " ".join(f"Line {i} of a long letter, naïve and 漢字." for i in range(900))
    used, kept, had = engine.fit(prompt, 64, 1024)
    assert kept < had and prompt.endswith(used.strip()) and len(used) > 1000
    ids = engine.target.encode(used)
    assert 900 < len(ids) <= 1024
    assert engine.fit(used, DecodeParams().max_new_tokens, 1024)[0] == used
