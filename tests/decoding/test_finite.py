"""A model whose logits are not finite ends the run in a sentence; the rounds so far stay."""

import json
import math

import pytest

from rheo.errors import RheoError
from rheo.trace.io import to_json
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of, tiny_pair

pytestmark = pytest.mark.usefixtures("one_thread")
BAD = [math.nan, math.inf]


def break_after(model, calls: int, value: float, rows=slice(None)) -> None:
    """Let one logit of a model be `value` from its call number `calls` on."""
    seen = []

    def spoil(module, args, output):
        seen.append(1)
        if len(seen) > calls:
            output[:, rows, 7] = value
        return output

    model.lm_head.register_forward_hook(spoil)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("T", [0.0, 1.0])
@pytest.mark.parametrize("strategy", DRAFTING)
def test_a_broken_draft_is_named_with_its_round(strategy, T, value):
    models = tiny_pair()
    whole = decoding(models, strategy=strategy, T=T)
    new_tokens(whole)
    break_after(models[1], 8, value, slice(-1, None))  # the third round: four calls a round, or so
    d = decoding(models, strategy=strategy, T=T)
    with pytest.raises(RheoError, match=r"draft \(draft LM\) are not finite in round [1-9]"):
        new_tokens(d)
    assert d.rounds and d.text == whole.text[: len(d.text)]
    json.dumps(to_json(run_of(d)), allow_nan=False)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("T", [0.0, 1.0])
@pytest.mark.parametrize("strategy", [*DRAFTING, "autoregressive"])
def test_a_broken_target_is_named_with_its_round(strategy, T, value):
    models = tiny_pair()
    break_after(models[0], 3, value, slice(-1, None))
    d = decoding(models, strategy=strategy, T=T)
    with pytest.raises(RheoError, match="target's logits are not finite in round 3"):
        new_tokens(d)
    assert len(d.rounds) == 2
    json.dumps(to_json(run_of(d)), allow_nan=False)


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("T", [0.0, 1.0])
def test_a_broken_prompt_is_named(T, value):
    models = tiny_pair()
    break_after(models[0], 0, value)
    with pytest.raises(RheoError, match="target's logits are not finite after the prompt"):
        new_tokens(decoding(models, T=T))
