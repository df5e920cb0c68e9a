"""Loading a folder, and refusing by name what would be silently wrong."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

from rheo.errors import RheoError
from rheo.models.target.target import Target
from tests.tiny import END_OF_TURN, EOS, tiny_folder, tiny_model


def test_a_folder_loads_as_it_was(tmp_path):
    folder = tiny_folder(tmp_path, "qwen3")
    target = Target.load(str(folder), feature_layers=[2, 4, 5])
    assert (target.device.type, target.dtype) == ("cpu", torch.float32)
    assert target.eos_ids == frozenset({EOS, END_OF_TURN})
    assert target.vocab_size == 288 > len(target.tokenizer)
    assert target.token_text(287) == "⟨287⟩"
    ids = torch.tensor(target.encode("the cat"))
    target.reset(64)
    logits, features = target.prefill(ids)
    same = tiny_model("qwen3", vocab=288)
    with torch.no_grad():
        assert torch.allclose(logits, same(input_ids=ids[None]).logits[0, -1], atol=1e-5)
    assert features.shape == (len(ids), 3 * 32)


def test_prompts(tmp_path):
    target = Target.load(str(tiny_folder(tmp_path)))
    tokenizer = target.tokenizer
    chat = target.encode("the")
    assert [target.token_text(token) for token in chat] == ["⟨|user|⟩", "the", "⟨|end|⟩", "⟨|bot|⟩"]
    assert target.encode("the", raw=True) == tokenizer.encode("the") == chat[1:2]
    assert target.decode([*chat, 2]) == "the"
    for blank in (" ", "\n\t", "\u2003"):
        for raw in (False, True):
            with pytest.raises(RheoError, match="empty"):
                target.encode(blank, raw)
    with pytest.raises(RheoError, match="empty"):
        target.encode("", raw=True)
    tokenizer.chat_template = None
    assert target.encode("the") == chat[1:2]


def test_thinking_is_switched_off_only_where_there_is_a_switch(tmp_path):
    template = (
        "{% if enable_thinking is not defined %}on{% elif not enable_thinking %}off{% endif %}"
        "{{ messages[0]['content'] }}"
    )
    target = Target.load(str(tiny_folder(tmp_path, template=template)))
    assert target.decode(target.encode("x")) == "offx"


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [
        ("mistral", {"sliding_window": 64}, "sliding_attention"),
        (
            "qwen3",
            {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 4},
            "sliding_attention",
        ),
        ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "dynamic"),
        ("llama", {"attn": "flex_attention"}, "flex_attention"),
    ],
)
def test_refused_by_name(family, changes, why):
    if "rope_parameters" in changes:
        changes["rope_parameters"]["rope_theta"] = 10000.0
    model = tiny_model(family, **changes)
    with pytest.raises(RheoError, match=why) as refusal:
        Target(model, None)
    assert str(refusal.value).count(". ") == 0


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("mistral", {"sliding_window": 4096}),
        (
            "qwen2",
            {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 4},
        ),
    ],
)
def test_a_window_as_long_as_the_context_is_full_attention(family, changes):
    model = tiny_model(family, **changes)
    target = Target(model, None)
    ids, mask = torch.arange(40), torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1]]).bool()
    target.reset(64)
    target.prefill(ids[:37], chunk=10)
    logits, _ = target.verify(ids[37:], torch.tensor([37, 38, 38]), mask)
    with torch.no_grad():
        expected = model(input_ids=torch.cat([ids[:38], ids[39:]])[None]).logits[0, -1]
    assert (logits[2] - expected).abs().max() <= 2e-4


def test_a_window_that_no_layer_uses_is_accepted():
    window = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 28}
    model = tiny_model("qwen2", **window)
    assert set(model.config.layer_types) == {"full_attention"}
    target = Target(model, None)
    target.reset(64)
    logits, _ = target.prefill(torch.arange(40))
    with torch.no_grad():
        expected = model(input_ids=torch.arange(40)[None]).logits[0, -1]
    assert (logits - expected).abs().max() <= 2e-4
    with pytest.raises(RheoError, match="sliding_attention"):
        Target(tiny_model("mistral", sliding_window=8, layer_types=["full_attention"] * 8), None)


LATENT = {"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
EXPERTS |= {"n_group": 1, "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 1}
LONGCAT = {"num_layers": 4, "head_dim": 8, "n_routed_experts": 2, "zero_expert_num": 1}
LONGCAT |= {"moe_topk": 1, "expert_ffn_hidden_size": 16, "ffn_hidden_size": 32}


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        ("deepseek_v2", LATENT | EXPERTS | {"q_lora_rank": None}, "latent attention"),
        ("deepseek_v3", LATENT | EXPERTS | {"q_lora_rank": None}, "latent attention"),
        ("longcat_flash", LATENT | LONGCAT | {"q_lora_rank": 16}, "4 layers where its config"),
    ],
)
def test_what_does_not_fit_the_cache_is_refused_by_name(kind, settings, why):
    sizes = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 8}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 512}
    config = AutoConfig.for_model(kind, **(sizes | settings))
    with torch.random.fork_rng(devices=[]):
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    with pytest.raises(RheoError, match=why):
        Target(model, None)


def test_a_layer_of_another_width_is_refused_by_name():
    model = tiny_model()
    model.model.layers[5].self_attn.v_proj = torch.nn.Linear(32, 8)
    with pytest.raises(RheoError, match="v_proj of layer 5 is 8 wide"):
        Target(model, None)


def test_nothing_there_is_one_sentence(tmp_path):
    with pytest.raises(RheoError, match="could not be loaded"):
        Target.load(str(tmp_path / "nowhere"))


class Code:
    """What a pickle may hold: a call, made when it is read."""

    def __reduce__(self):
        return open, (str(Code.path), "w")


def test_pickled_tensors_load_and_a_pickle_with_code_is_refused(tmp_path):
    folder, ids = tiny_folder(tmp_path / "model"), torch.arange(5)
    before = Target.load(str(folder))
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    after = Target.load(str(folder))
    for target in (before, after):
        target.reset(8)
    # another file lies otherwise in memory, and a sum may run in another order
    assert torch.allclose(before.prefill(ids)[0], after.prefill(ids)[0], atol=1e-4)
    Code.path = tmp_path / "ran"
    torch.save({**weights, "code": Code()}, folder / "pytorch_model.bin")
    with pytest.raises(RheoError, match=r"could not be loaded|pickle"):
        Target.load(str(folder))
    assert not Code.path.exists()


@pytest.mark.embedded
def test_the_embedded_target_is_greedy_as_generate(embedded_folder):
    target = Target.load(str(embedded_folder))
    ids = torch.tensor(target.encode("What is the capital of France?"))
    model = AutoModelForCausalLM.from_pretrained(embedded_folder).float().eval()
    expected = model.generate(ids[None], do_sample=False, max_new_tokens=12)[0, len(ids) :]
    target.reset(len(ids) + 16)
    logits, _ = target.prefill(ids)
    text = [int(logits.argmax())]
    while len(text) < 12 and text[-1] not in target.eos_ids:
        logits, _ = target.verify(torch.tensor(text[-1:]), torch.tensor([target.length]))
        target.commit(torch.tensor([0]))
        text.append(int(logits[0].argmax()))
    assert text == expected.tolist()
    assert "Paris" in target.decode(text)
