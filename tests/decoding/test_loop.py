"""The loop: the same tokens as plain decoding, stops exactly, keeps its cache, repeats itself."""

import dataclasses

import pytest
import torch

from rheo.algorithm.strategies import TABLE
from rheo.decoding.recorder import record_round
from rheo.errors import RheoError
from tests.decoding.tiny_runs import DRAFTING, PROMPT, decoding, new_tokens
from tests.tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")


def greedy(model, prompt: list[int], count: int) -> list[int]:
    """transformers' own greedy decoding."""
    out = model.generate(
        torch.tensor([prompt]), max_new_tokens=count, do_sample=False, pad_token_id=0
    )
    return out[0, len(prompt) :].tolist()


@pytest.mark.parametrize("name", TABLE)
def test_greedy_equals_transformers(models, name: str) -> None:
    d = decoding(models, strategy=name, T=0.0, max_new_tokens=60)
    assert new_tokens(d) == greedy(models[0], PROMPT, 60)
    assert d.stopped == "length"
    if TABLE[name].fields.draws_tree:
        assert sum(r.accepted for r in d.rounds) > 10  # the draft was of use


@pytest.mark.parametrize("name", TABLE)
def test_a_seed_repeats_itself_and_another_does_not(models, name: str) -> None:
    one, two = (decoding(models, strategy=name, seed=3) for _ in range(2))
    assert new_tokens(one) == new_tokens(two)
    for a, b in zip(one.rounds, two.rounds, strict=True):
        a, b = record_round(a), record_round(b)
        assert dataclasses.replace(a, ms=b.ms) == b
    assert new_tokens(decoding(models, strategy=name, seed=4)) != new_tokens(
        decoding(models, strategy=name, seed=3)
    )


def test_strategies_of_one_seed_see_the_same_uniforms(models) -> None:
    runs = [decoding(models, strategy=name, seed=5) for name in TABLE]
    firsts = {new_tokens(d)[0] for d in runs}
    assert len(firsts) == 1
    blocks = [d.rounds[0].block for d in runs]
    assert all(torch.equal(b.u2, blocks[0].u2) for b in blocks)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_exactly_max_new_tokens(models, count: int) -> None:
    d = decoding(models, max_new_tokens=count)
    assert len(new_tokens(d)) == count and d.stopped == "length"


def test_stops_inside_an_accepted_path_at_any_eos(models) -> None:
    want = greedy(models[0], PROMPT, 60)
    inside = 0
    for token in sorted(set(want)):
        d = decoding(models, T=0.0, max_new_tokens=60, eos=[token, 96])
        got = new_tokens(d)
        assert got == want[: want.index(token) + 1] and d.stopped == "eos"
        if d.rounds and d.rounds[-1].emitted[-1].origin not in ("residual", "bonus"):
            inside += 1
            last = d.rounds[-1]
            assert last.counted == last.accepted == len(last.emitted)
    assert inside > 3


def test_stops_at_a_stop_string_and_cuts_it(models) -> None:
    full = decoding(models, T=0.0)
    new_tokens(full)
    needle = full.text[9:12]
    d = decoding(models, T=0.0, stop=[needle, "never there"])
    new_tokens(d)
    assert d.stopped == "stop string"
    assert d.text == full.text[: full.text.find(needle)]


def test_never_leaves_the_context(models) -> None:
    for context in (8, 9, 12, 30):
        d = decoding(models, T=0.0, context=context, max_new_tokens=100)
        rows = []
        verify = d.target.verify

        def spy(tokens, positions, mask, verify=verify, rows=rows):
            rows.append(int(positions.max()))
            return verify(tokens, positions, mask)

        d.target.verify = spy
        got = new_tokens(d)
        assert d.stopped == "context" and max(rows) == context - 1
        assert got == greedy(models[0], PROMPT, 100)[: len(got)]
        assert len(PROMPT) + len(got) >= context


def test_cache_holds_committed_tokens_and_equals_a_recompute_over_200_rounds(models) -> None:
    d = decoding(models, T=1.0, max_new_tokens=2000, seed=8)
    tokens = None
    for r in d:
        emitted = [e.token for done in d.rounds for e in done.emitted]
        tokens = [*PROMPT, d.first.token, *emitted]
        assert d.target.length == len(tokens) - 1
        assert d.draft.model.length == len(tokens) - len(r.emitted)
        if r.index == 200:
            break
    logits, _ = d.target.verify(torch.tensor(tokens[-1:]), torch.tensor([len(tokens) - 1]))
    with torch.inference_mode():
        whole = models[0](torch.tensor([tokens])).logits[0, -1]
    # float32 over 8 layers; relative, for the size of the logits is the model's
    assert float((logits[0] - whole).abs().max()) < 4e-5 * float(whole.abs().max())


def test_closing_stops_at_once_and_keeps_what_there_is(models) -> None:
    d = decoding(models)
    next(iter(d))
    d.close()
    assert d.stopped == "closed" and len(d.rounds) == 1 and d.text
    assert list(d) == []


def test_one_run_at_a_time(models) -> None:
    import threading

    lock = threading.Lock()
    one, two = decoding(models), decoding(models)
    one._lock = two._lock = lock
    next(iter(one))
    with pytest.raises(RheoError, match="busy with another run"):
        next(iter(two))
    one.close()
    assert len(new_tokens(decoding(models))) == 40 and not lock.locked()


def test_inference_mode_does_not_leak_into_the_caller(models) -> None:
    d = decoding(models)
    next(iter(d))
    assert not torch.is_inference_mode_enabled()
    d.close()


def test_over_long_prompt_and_broken_target_are_one_sentence(models) -> None:
    with pytest.raises(RheoError, match="context ends at 8"):
        decoding(models, prompt=list(range(8)), context=8)
    broken = tiny_model(seed=1)
    with torch.no_grad():
        broken.lm_head.weight[3] = float("nan")
    with pytest.raises(RheoError, match="not finite"):
        new_tokens(decoding((broken, models[1])))


@pytest.mark.parametrize("name", DRAFTING)
def test_expected_accepted_is_what_is_accepted_on_average(models, name: str) -> None:
    """Two sides of one coin, over many rounds; within four standard errors of their difference."""
    gaps = []
    for seed in range(4):
        d = decoding(models, strategy=name, seed=seed, max_new_tokens=120)
        new_tokens(d)
        gaps += [r.accepted - r.expected_accepted for r in d.rounds[:-1]]
    gaps = torch.tensor(gaps, dtype=torch.float64)
    assert abs(float(gaps.mean())) < 4 * float(gaps.std()) / len(gaps) ** 0.5
