"""A draft LM whose window is shorter than the target's context: it drafts on, losslessly."""

import itertools
from dataclasses import replace

import pytest
import torch

from rheo.algorithm.expansion import Policy
from rheo.algorithm.strategies import TABLE
from rheo.exact.worlds import Tables
from rheo.models.draft.lm import LMDraft
from rheo.models.hub.catalogue import DEFAULT, PAIRS
from rheo.models.loader import LoadedPair
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from tests.decoding.test_sampled_distribution import CONTROL, LEVEL, LOSSLESS, sample
from tests.decoding.tiny_runs import PROMPT, decoding, new_tokens
from tests.tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")
WINDOW = 32


@pytest.fixture(scope="module")
def pair():
    """A target, and the same weights with a window of 32 positions as its draft."""
    target, draft = (tiny_model(seed=1, num_hidden_layers=3) for _ in range(2))
    draft.config.max_position_embeddings = WINDOW
    target.generation_config.eos_token_id = target.config.eos_token_id = None
    return target, draft


def watched(d) -> list[int]:
    """Return the list that every position which the draft's model is asked for comes into."""
    seen: list[int] = []
    forward = d.draft.model._forward

    def asked(tokens, positions, *rest, **named):
        seen.extend(positions.tolist())
        return forward(tokens, positions, *rest, **named)

    d.draft.model._forward = asked
    return seen


@pytest.mark.parametrize("name", LOSSLESS)
@pytest.mark.parametrize("length", [6, 90])
def test_greedy_beyond_the_window_equals_transformers(pair, name, length) -> None:
    prompt = (PROMPT * 20)[:length]
    d = decoding(pair, prompt=prompt, strategy=name, T=0.0, max_new_tokens=70, depth=5)
    positions = watched(d)
    tokens = new_tokens(d)
    out = pair[0].generate(
        torch.tensor([prompt]), max_new_tokens=70, do_sample=False, pad_token_id=0
    )
    assert tokens == out[0, length:].tolist() and d.target.length > 2 * WINDOW
    assert max(positions) < WINDOW  # it reached 75 and 161: beyond what the model has
    assert sum(r.accepted for r in d.rounds if r.position > WINDOW) > 0  # still of use


@pytest.mark.parametrize("window", [1, 2, 5])
def test_the_smallest_windows_work(pair, window) -> None:
    d = decoding(pair, T=0.0, max_new_tokens=20)
    d.draft = LMDraft(d.draft.model, d.target.vocab_size)
    d.draft.model.context = window
    d.draft = LMDraft(d.draft.model, d.target.vocab_size)
    positions = watched(d)
    assert new_tokens(d) == new_tokens(decoding(pair, T=0.0, max_new_tokens=20))
    assert max(positions) < window


def test_within_the_window_nothing_changes(pair) -> None:
    draft = LMDraft(Target(pair[1], None), 97)
    draft.reset(200, 12)
    root = draft.extend(torch.tensor(PROMPT), None)
    with torch.no_grad():
        whole = pair[1](torch.tensor([PROMPT])).logits[0, -1]
    assert (root - whole).abs().max() < 2e-5


def tables_beyond(vocab: int = 6) -> Tables:
    """What the draft and the target say of a root and two levels, far behind the window."""
    target, draft = (tiny_model(seed=s, vocab=vocab, num_hidden_layers=2) for s in (201, 101))
    draft.config.max_position_embeddings = WINDOW
    text = torch.arange(80) * 7 % vocab
    rows = {}
    for name, model, limit in (("draft", draft, WINDOW), ("target", target, 4096)):
        model.config.max_position_embeddings = limit
        lm = LMDraft(Target(model, None), vocab)
        lm.reset(200, vocab + vocab * vocab)
        for part in text.split(3):
            root = lm.extend(part, None)
        first = lm.level(torch.arange(vocab), torch.zeros(vocab, dtype=torch.int64))
        below = torch.tensor(list(itertools.product(range(vocab), range(vocab))))
        second = lm.level(below[:, 1], below[:, 0])
        rows[name] = torch.cat([root[None], first, second])
    with torch.no_grad():
        whole = draft(text[None]).logits[0, -1]
    assert (rows["draft"][0] - whole).abs().max() > 0.01  # it no longer sees the whole text
    return Tables(rows["draft"], rows["target"])


def test_sampling_beyond_the_window_keeps_the_targets_distribution() -> None:
    tables = tables_beyond()
    for name in LOSSLESS:
        params = DecodeParams(strategy=name, m=1, K=3, R=7, depth=2, S=5, probes=2)
        strategy = TABLE[name]
        assert sample(tables, strategy, strategy.policy(params), 1.0, seed=3) > LEVEL, name


def test_a_verifier_that_reads_another_window_is_caught() -> None:
    """The negative control: drawn from the window's q, tested against another."""
    rheo = TABLE["rheo"]

    def other(p, q_tilde, children):
        return rheo.rule(p, q_tilde.roll(1, -1), children)

    assert sample(tables_beyond(), replace(rheo, rule=other), Policy(m=1, J=1), 1.0, 3) < CONTROL


def test_it_is_said(pair) -> None:
    target = Target(pair[0], None)
    loaded = LoadedPair(PAIRS[DEFAULT], target, LMDraft(Target(pair[1], None), 97), "draft")
    assert "ends at 32 tokens, the target's at 4,096" in (loaded.warning or "")
    same = LoadedPair(PAIRS[DEFAULT], target, LMDraft(target, 97), "draft")
    assert same.warning is None
