"""A run without a record writes the same text and keeps no more than that needs."""

import pytest
import torch

from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_round
from rheo.decoding.round_buffer import RoundBuffer
from rheo.errors import RheoError
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, tiny_pair


def without(d: Decoding) -> Decoding:
    """Return the same decoding, not begun, without a record."""
    d._record = False
    return d


@pytest.mark.parametrize("T", [0.0, 1.0])
@pytest.mark.parametrize("strategy", [*DRAFTING, "autoregressive"])
def test_the_text_and_what_counts_are_the_same(strategy, T):
    models = tiny_pair()
    full, lean = (decoding(models, strategy=strategy, T=T) for _ in range(2))
    assert new_tokens(full) == new_tokens(without(lean))
    for a, b in zip(full.rounds, lean.rounds, strict=True):
        assert (a.emitted, a.accepted, a.counted, a.text) == (
            b.emitted, b.accepted, b.counted, b.text,
        )  # fmt: skip
        assert isinstance(a.buffer, RoundBuffer) and not isinstance(b.buffer, RoundBuffer)
        assert a.expected_accepted is not None and b.expected_accepted is None


def test_there_is_no_trace_of_it_and_it_says_so():
    lean = without(decoding(tiny_pair()))
    new_tokens(lean)
    with pytest.raises(RheoError, match="decoded without a record"):
        record_round(lean.rounds[0])


def test_logits_that_are_not_finite_end_it_too(monkeypatch):
    lean = without(decoding(tiny_pair()))
    verify = lean.target.verify

    def broken(tokens, positions, mask=None):
        logits, features = verify(tokens, positions, mask)
        logits = logits.clone()
        logits[-1] = torch.nan
        return logits, features

    monkeypatch.setattr(lean.target, "verify", broken)
    with pytest.raises(RheoError, match="not finite in round 1"):
        new_tokens(lean)
