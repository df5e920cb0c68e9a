"""The fast pass against transformers' own: every family, kind of product and shape of call."""

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from rheo.models.cpu.fused_linear import FusedLinear
from rheo.models.cpu.llama_forward import LlamaForward
from rheo.models.cpu.packed_linear import PackedLinear
from rheo.models.target.target import Target
from tests.models.target.test_target import (
    MISTAKE,
    TOLERANCE,
    coin,
    mask_of,
    off,
    positions_of,
    prepared,
    random_ids,
    random_tree,
    tree_errors,
)
from tests.tiny import LAYERS, VOCAB, tiny_model

KINDS = [PackedLinear, FusedLinear]
SHAPES = [
    ("llama", {}),
    ("llama", {"attention_bias": True, "mlp_bias": True}),
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}}),
    ("llama", {"head_dim": 24}),
    ("llama", {"tie_word_embeddings": True}),
    ("llama", {"num_key_value_heads": 4}),
    ("llama", {"num_key_value_heads": 1}),
    ("mistral", {}),
    ("qwen2", {}),
    ("qwen3", {}),
]


def fast_target(kind: type[FusedLinear], family: str, **changes) -> tuple[Target, Target]:
    """Return a target on the fast pass, and one of the same weights as transformers runs it."""
    model = tiny_model(family, **changes)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):  # new models have zeros there
            torch.nn.init.normal_(weight, std=0.3, generator=coin(len(name)))
    plain = tiny_model(family, **changes)
    plain.load_state_dict(model.state_dict())
    return Target(model, None, forward=LlamaForward(model, kind)), Target(plain, None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("family", "changes"), SHAPES)
def test_tree_logits_are_sequential_at_every_node(family, changes, kind):
    fast, plain = fast_target(kind, family, **changes)
    for seed in range(2):
        prompt, tokens, paths = prepared(fast, seed)
        logits, _ = fast.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
        assert tree_errors(plain, logits, prompt, tokens, paths).max() <= TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_mask_bit_or_position_shows(kind):
    fast, plain = fast_target(kind, "qwen3")
    prompt, tokens, paths = prepared(fast, 0)
    node = max(range(len(paths)), key=lambda each: len(paths[each]))
    wrong = mask_of(paths)
    wrong[node, paths[node][-2]] = False
    logits, _ = fast.verify(tokens, positions_of(paths, len(prompt)), wrong)
    assert tree_errors(plain, logits, prompt, tokens, paths)[node] > MISTAKE
    positions = positions_of(paths, len(prompt))
    positions[node] += 1
    logits, _ = fast.verify(tokens, positions, mask_of(paths))
    assert tree_errors(plain, logits, prompt, tokens, paths)[node] > MISTAKE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_states_rows_and_chunks_are_those_of_transformers(family, kind):
    targets = fast_target(kind, family)
    prompt, taps = random_ids(23, coin(3)), [0, 2, LAYERS]
    found = []
    for target in targets:
        target.tap(taps)
        target.reset(64)
        logits, states = target.prefill(prompt, chunk=9)  # plain causal, then behind rows
        one, more = target.verify(prompt[:1], torch.tensor([target.length]))
        keys, values = target.cache.rows(LAYERS - 1)
        found.append((logits, states, one, more, keys, values))
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape
        assert off(ours, theirs) <= TOLERANCE


def test_both_passes_take_turns_with_one_cache():
    fast, plain = fast_target(PackedLinear, "qwen3")
    forward, text = fast.forward, random_ids(40, coin(4))
    for target in (fast, plain):
        target.reset(64)
    for turn, part in enumerate(text.split(7)):
        fast.forward = forward if turn % 2 else None  # transformers on the replaced layers
        ours, theirs = fast.prefill(part)[0], plain.prefill(part)[0]
        assert off(ours, theirs) <= TOLERANCE


def test_a_batch_of_texts_with_hidden_columns():
    fast, plain = fast_target(PackedLinear, "llama")
    ids = random_ids(24, coin(5)).view(3, 8)
    hidden = torch.tensor([2, 0, 5])  # first columns that a text does not see
    seen = (torch.arange(8) >= hidden[:, None])[:, None, None]  # (3, 1, 1, 8)
    mask = (seen & torch.ones(8, 8, dtype=torch.bool).tril()).float().log()  # (3, 1, 8, 8)
    mask = mask.clamp(min=torch.finfo(torch.float32).min)
    positions = (torch.arange(8) - hidden[:, None]).clamp(min=0)
    with torch.inference_mode():
        cache = DynamicCache(config=fast.model.config)
        logits, _ = fast.forward(ids, positions, mask, cache, keep=1)
        want = plain.model(ids, mask, positions, use_cache=False).logits[:, -1:]
    assert off(logits, want) <= TOLERANCE


def test_bfloat16_stays_within_its_rounding():
    """Measured against float32: as far from it as transformers' own bfloat16 is."""
    exact = tiny_model("llama")
    half, own = (tiny_model("llama").to(torch.bfloat16) for _ in range(2))
    fast = Target(half, None, forward=LlamaForward(half, PackedLinear))
    prompt, tokens, paths = prepared(fast, 0)
    errors = []
    for target in (fast, Target(own, None)):
        target.reset(64)
        target.prefill(prompt)
        logits, _ = target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
        assert logits.dtype == torch.bfloat16
        errors.append(tree_errors(Target(exact, None), logits.float(), prompt, tokens, paths).max())
    assert errors[0] <= 1.5 * errors[1] < 0.2


def test_weights_are_held_once():
    model = tiny_model("llama")
    before = sum(weight.numel() for weight in model.parameters())
    weight: Tensor = model.model.layers[3].self_attn.k_proj.weight.clone()
    forward = LlamaForward(model, PackedLinear)
    left = {name for name, _ in model.named_parameters()}
    assert all(name.endswith(("norm.weight", "embed_tokens.weight")) for name in left)
    layers = [layer for layer in model.modules() if isinstance(layer, FusedLinear)]
    layers += [layer.qkv for layer in forward._layers]
    packed = sum(layer.weight.numel() for layer in layers)
    assert packed + sum(weight.numel() for weight in model.parameters()) == before
    assert torch.equal(model.model.layers[3].self_attn.k_proj.weight, weight)


def test_two_hundred_rounds_end_at_the_rows_of_one_pass():
    generator = coin(6)
    fast, plain = fast_target(PackedLinear, "llama")
    text = random_ids(5, generator)
    fast.reset(5 + 200 * 3 + 10)
    fast.prefill(text)
    for _ in range(200):
        nodes = int(torch.randint(1, 10, (1,), generator=generator))
        tokens, paths = random_ids(nodes, generator), random_tree(nodes, generator)
        logits, _ = fast.verify(tokens, positions_of(paths, len(text)), mask_of(paths))
        path = paths[int(torch.randint(0, nodes, (1,), generator=generator))][:3]
        text = torch.cat([text, tokens[path]])
        fast.commit(torch.tensor(path))
    with torch.inference_mode():
        want = plain.model(input_ids=text[None], use_cache=True)
    assert off(logits[path[-1]], want.logits[0, -1]) <= TOLERANCE
    for layer in range(LAYERS):
        assert off(fast.cache.rows(layer)[0], want.cache.layers[layer].keys) <= TOLERANCE
    assert logits.shape[-1] == VOCAB
