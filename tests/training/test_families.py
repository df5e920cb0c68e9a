"""Corpus, training and evaluation see the target's own distribution, in every family of logits."""

import pytest
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM

from rheo.models.target.own_logits import OwnLogits
from rheo.models.target.target import Target
from rheo.training.batch_generate import answer
from rheo.training.corpus import head_layers, states
from rheo.training.corpus_files import Text
from rheo.training.evaluate import HeldOut
from rheo.training.loss import soft_loss

V, IDS = 97, torch.arange(0, 97, 3)
PROMPTS = [[5, 9, 33, 12], [60, 7, 8], [1, 2, 3, 4, 5, 6, 7]]
FAMILIES = {  # what is between the output matrix and the logits, as published models have it
    "llama": {},
    "qwen2": {"use_sliding_window": False},
    "granite": {"logits_scaling": 8.0},
    "granitemoe": {"logits_scaling": 6.0, "num_local_experts": 2, "num_experts_per_tok": 1},
    "cohere": {"logit_scale": 0.0625},
    "gemma2": {"final_logit_softcapping": 3.0, "head_dim": 8, "query_pre_attn_scalar": 8},
}
PLAIN = {"llama", "qwen2"}


@pytest.fixture(params=FAMILIES, scope="module")
def target(request) -> Target:
    config = AutoConfig.for_model(
        request.param, vocab_size=V, hidden_size=32, intermediate_size=64, num_hidden_layers=8,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        initializer_range=0.3, tie_word_embeddings=False, bos_token_id=0, eos_token_id=2,
        pad_token_id=None, **FAMILIES[request.param],
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        attention = "eager" if request.param == "gemma2" else "sdpa"
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).float()
    model.requires_grad_(False)
    made = Target(model, None)
    made.tap((*head_layers(made), made.layers))
    return made


def text_of(prompt: list[int]) -> Text:
    return Text(torch.tensor([*prompt, *range(10, 20)]), len(prompt), 1.0)


def distance(p: torch.Tensor, q: torch.Tensor) -> float:
    """Total variation at its largest."""
    return float((p - q).abs().sum(-1).max()) / 2


def truth(target: Target, tokens: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return target.model(tokens[None]).logits[0].float().softmax(-1)  # (n, V)


def test_the_distribution_is_the_models_own(target):
    text = text_of(PROMPTS[0])
    p = truth(target, text.tokens)
    last = states(target, text).last.clone()
    assert distance(OwnLogits(target.model)(last).softmax(-1), p) < 1e-5
    some = OwnLogits(target.model, IDS, torch.float32)(last).softmax(-1)
    assert distance(some, p[:, IDS] / p[:, IDS].sum(-1, keepdim=True)) < 1e-5
    # the control: a product with the output matrix is another distribution where there is a scale
    plain = F.linear(last, target.model.get_output_embeddings().weight).softmax(-1)
    assert (distance(plain, p) < 1e-5) == (target.model.config.model_type in PLAIN)
    assert distance(plain, p) < 1e-5 or distance(plain, p) > 0.2
    # the model itself is as it was
    assert torch.equal(truth(target, text.tokens), p)


def test_evaluation_and_loss_use_it(target):
    text = text_of(PROMPTS[0])
    p = truth(target, text.tokens)
    known = states(target, text)
    held = HeldOut([text], [known], target.model, IDS)
    slots = slice(len(text.tokens) - len(held.p[0]) - 1, len(text.tokens) - 1)
    assert distance(held.p[0], p[slots][:, IDS]) < 1e-5
    assert torch.equal(held.best[0], p[slots].argmax(-1))
    # cross-entropy of a uniform head: the sum over p, so it is log Vd only if p is normalised;
    # against a head that is the target itself it is the entropy of the restricted p
    restricted = p[:, IDS] / p[:, IDS].sum(-1, keepdim=True)
    wanted = -(restricted * restricted.log()).sum()
    logits = restricted.log()[None].clone()  # (1, n, Vd), drafted by an identity as lm_head
    teacher = OwnLogits(target.model, IDS, torch.float32)
    weights = torch.ones(1, len(p))
    found = soft_loss(logits, torch.eye(len(IDS)), known.last.clone(), teacher, weights)
    assert float(found) == pytest.approx(float(wanted), rel=1e-4)


def test_a_corpus_is_written_by_it(target):
    generator = torch.Generator().manual_seed(0)
    texts = answer(target, PROMPTS, [0.0, 1.0, 1.0], 12, generator)
    uniforms = torch.rand(12, len(PROMPTS), generator=torch.Generator().manual_seed(0))
    for row, text in enumerate(texts):
        p = truth(target, text.tokens)
        for i, token in enumerate(text.answer.tolist()):
            here = p[text.prompt + i - 1]
            if text.temperature == 0:
                assert token == int(here.argmax())
            else:  # the uniform falls into the token's own part of the interval
                below = float(here.double().cumsum(0)[token])
                u = float(uniforms[i, row])
                assert below - float(here[token]) - 1e-4 <= u <= below + 1e-4
