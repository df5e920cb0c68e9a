"""Three layouts of one head are the same head; whatever else a folder holds is refused by name."""

import json
import os
import pickle

import pytest
import torch
from torch import Tensor

from rheo.errors import RheoError
from rheo.models.draft.checkpoints import read
from rheo.models.draft.eagle3 import Eagle3
from tests.models.draft.heads import (
    LAYERS,
    VD,
    V,
    as_specforge,
    as_speculators,
    random_head,
    random_text,
    write,
)

Head = tuple[dict, dict[str, Tensor]]


def logits(folder, rope_theta: float | None = None) -> Tensor:
    text = random_text(9)
    head = Eagle3.load(folder, text.embeddings, LAYERS, rope_theta=rope_theta)
    return head.teacher_forced(text.tokens, text.features)


@pytest.mark.parametrize("on", [(), ("norm_before_residual", "norm_before_fc", "q_norm")])
def test_three_layouts_of_one_head_are_the_same(tmp_path, on):
    plain = random_head(on=on)
    heads = {"safeailab": plain, "specforge": as_specforge(*plain)}
    heads["speculators"] = as_speculators(*plain)
    folders = {name: write(tmp_path / name, *head) for name, head in heads.items()}
    expected = logits(folders["safeailab"])
    for name, folder in folders.items():
        assert read(folder).config.layout == name
        assert read(folder).config.feature_layers(LAYERS) == (2, 15, 27)
        assert torch.equal(logits(folder), expected)
    other = write(tmp_path / "other", *random_head(seed=1, on=on))  # the control
    assert not torch.allclose(logits(other), expected, atol=1e-2)


def test_layer_ids_mean_what_the_format_says(tmp_path):
    # the same numbers in both formats name different hidden states
    config, tensors = as_specforge(*random_head())
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [2, 15, 27]
    outputs, inputs = (
        read(write(tmp_path / name, *head)).config.feature_layers(LAYERS)
        for name, head in (("a", (config, tensors)), ("b", as_speculators(*random_head())))
    )
    assert outputs == (3, 16, 28) and inputs == (2, 15, 27)


def test_pickled_nemo_and_unneeded_tensors(tmp_path):
    config, tensors = random_head()
    expected = logits(write(tmp_path / "a", config, tensors))
    pickled = write(tmp_path / "b", config, {})
    (pickled / "model.safetensors").unlink()
    torch.save(tensors, pickled / "pytorch_model.bin")
    assert torch.equal(logits(pickled), expected)
    nemo = {f"model.{name}": x for name, x in tensors.items() if name != "t2d"}
    nemo["verifier_norm.weight"] = torch.ones(3)
    assert torch.equal(logits(write(tmp_path / "c", config, nemo)), expected)
    # safetensors win where both are there
    torch.save({}, tmp_path / "a" / "pytorch_model.bin")
    assert torch.equal(logits(tmp_path / "a"), expected)


def test_configs_are_hints(tmp_path):
    config, tensors = random_head()
    expected = logits(write(tmp_path / "a", config, tensors))
    # the target's depth and width copied into the config, a wrong head_dim, a tied lm_head
    wrong = config | {"num_hidden_layers": 40, "hidden_size": 99, "head_dim": 4, "bias": True}
    assert torch.equal(logits(write(tmp_path / "b", wrong, tensors)), expected)


def test_rope_settings(tmp_path):
    config, tensors = random_head()
    absent = logits(write(tmp_path / "a", config, tensors))
    million = write(tmp_path / "b", config | {"rope_theta": 1e6}, tensors)
    assert torch.equal(logits(million, rope_theta=10000.0), absent)
    assert not torch.allclose(logits(million), absent, atol=1e-3)
    nested = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    assert torch.equal(logits(write(tmp_path / "c", config | nested, tensors)), logits(million))
    linear = {"rope_scaling": {"type": "linear", "factor": 4.0}}
    yarn = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}
    yarn["rope_scaling"]["original_max_position_embeddings"] = 16
    for i, scaling in enumerate((linear, yarn)):
        scaled = write(tmp_path / f"d{i}", config | scaling, tensors)
        assert not torch.allclose(logits(scaled), absent, atol=1e-3)


def renamed(old: str, new: str | None, change=lambda x: x):
    def apply(config: dict, tensors: dict[str, Tensor]) -> Head:
        tensors = dict(tensors)
        tensor = tensors.pop(old)
        return config, tensors if new is None else tensors | {new: change(tensor)}

    return apply


def added(name: str, *shape: int):
    return lambda config, tensors: (config, tensors | {name: torch.zeros(shape)})


def changed(name: str, change):
    return renamed(name, name, change)


def setting(**values):
    return lambda config, tensors: (config | values, tensors)


def layered(**values):
    """A setting in the layer part of a speculators config."""

    def apply(config: dict, tensors: dict[str, Tensor]) -> Head:
        return as_speculators(config, tensors)[0] | {
            "transformer_layer_config": config | values
        }, tensors

    return apply


def poisoned(value: float):
    return lambda x: x.index_fill(0, torch.tensor([1]), value)


FC, Q = "fc.weight", "midlayer.self_attn.q_proj.weight"
CORRUPTED = {
    "lacks fc": (renamed(FC, None), r"lacks .*fc\.weight"),
    "lacks a norm": (renamed("norm.weight", None), r"lacks .*norm\.weight"),
    "lacks lm_head": (renamed("lm_head.weight", None), r"lacks .*lm_head\.weight"),
    "misnamed": (renamed(Q, Q.replace("q_proj", "query")), r"self_attn\.query\.weight"),
    "extra": (added("fc.bias", 16), r"fc\.bias"),
    "two layers": (added("layers.1.mlp.up_proj.weight", 2, 2), r"several layers.*layers\.1"),
    "twice": (added("layers.0.mlp.up_proj.weight", 24, 16), r"up_proj\.weight twice"),
    "norm without its switch": (added("input_norm.weight", 36), r"input_norm.*not ask"),
    "switch without its norm": (setting(norm_before_fc=True), r"lacks .*input_norm"),
    "fc_norm without tensors": (setting(fc_norm=True), r"lacks .*fc_norm\.0"),
    "nested switch": (setting(eagle_config={"norm_before_fc": True}), r"lacks .*input_norm"),
    "bias without tensors": (setting(attention_bias=True), r"lacks .*k_proj\.bias"),
    "half of the biases": (added("midlayer.self_attn.q_proj.bias", 24), r"lacks .*k_proj\.bias"),
    "half of the norms": (added("midlayer.self_attn.q_norm.weight", 6), r"lacks .*k_norm"),
    "EAGLE-1 width": (changed(Q, lambda x: x[:, :16]), r"q_proj\.weight .*\(24, 16\)"),
    "short down": (changed("midlayer.mlp.down_proj.weight", lambda x: x[:, 1:]), r"down_proj"),
    "fc of two features": (changed(FC, lambda x: x[:, :35]), r"fc\.weight .*\(16, 35\)"),
    "odd heads": (changed(Q, lambda x: x[:23]), r"q_proj has 23 rows"),
    "NaN": (changed(FC, poisoned(float("nan"))), r"fc\.weight holds NaN"),
    "infinite": (changed("norm.weight", poisoned(float("inf"))), r"norm\.weight holds NaN or inf"),
    "integers": (changed(FC, lambda x: x.to(torch.int8)), r"fc\.weight is not an array of floats"),
    "d2t missing": (renamed("d2t", None), r"lacks the tensor d2t"),
    "d2t of ids": (changed("d2t", lambda x: x + torch.arange(VD)), r"d2t"),
    "d2t descending": (changed("d2t", lambda x: x.flip(0) * 3), r"d2t is not an offset"),
    "d2t of floats": (changed("d2t", lambda x: x.float()), r"d2t is not one integer"),
    "t2d of others": (changed("t2d", lambda x: ~x), r"d2t and t2d"),
    "unknown switch": (setting(mlp_bias=True), r"mlp_bias to True"),
    "layer switch": (layered(use_qk_clamp=True), r"use_qk_clamp to True"),
    "activation": (setting(hidden_act="gelu"), r"hidden_act to gelu"),
    "sliding window": (setting(layer_types=["sliding_attention"]), r"layer_types"),
    "no last norm": (setting(eagle_config={"use_last_layernorm": False}), r"use_last_layernorm"),
    "quantised": (setting(quantization_config={"bits": 4}), r"quantization_config"),
    "rope type": (setting(rope_scaling={"rope_type": "longrope"}), r"rope type longrope"),
    "partial rope": (setting(partial_rotary_factor=0.5), r"partial_rotary_factor to 0\.5"),
    "other speculator": (setting(speculators_model_type="mtp"), r"type mtp"),
    "two ids": (
        setting(eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2]}),
        r"2 layers in eagle_aux",
    ),
}


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_corrupted_head_is_refused_by_name(tmp_path, name):
    corrupt, message = CORRUPTED[name]
    with pytest.raises(RheoError, match=message) as caught:
        logits(write(tmp_path / "head", *corrupt(*random_head())))
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_layer_ids_out_of_order_are_refused(tmp_path):
    config, tensors = as_speculators(*random_head())
    config["eagle_aux_hidden_state_layer_ids"] = [27, 2, 15]
    with pytest.raises(RheoError, match=r"\[27, 2, 15\]"):
        logits(write(tmp_path / "head", config, tensors))


def test_incomplete_rope_is_refused(tmp_path):
    config, tensors = random_head()
    config["rope_scaling"] = {"rope_type": "yarn"}
    with pytest.raises(RheoError, match="rope settings"):
        logits(write(tmp_path / "head", config, tensors))


class Bomb:
    """A pickle that would leave a file behind if its code ran."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path):
    folder = write(tmp_path / "head", *random_head())
    (folder / "model.safetensors").unlink()
    torch.save({"fc.weight": Bomb(str(tmp_path / "ran"))}, folder / "pytorch_model.bin")
    with pytest.raises(RheoError, match=r"pytorch_model\.bin"):
        read(folder)
    assert not (tmp_path / "ran").exists()
    pickle.loads(pickle.dumps(Bomb(str(tmp_path / "ran"))))  # the control: the bomb is live
    assert (tmp_path / "ran").exists()


def test_folders_that_are_no_checkpoints(tmp_path):
    with pytest.raises(RheoError, match=r"config\.json"):
        read(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(RheoError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        read(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x08" * 99)
    with pytest.raises(RheoError, match=r"model\.safetensors is damaged"):
        read(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(RheoError, match="not valid JSON"):
        read(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(RheoError, match="JSON object"):
        read(tmp_path)


def test_the_whole_vocabulary_ignores_an_unfilled_mask(tmp_path):
    config, tensors = random_head()
    tensors |= {"lm_head.weight": torch.randn(V, 16), "d2t": torch.zeros(V, dtype=torch.int64)}
    tensors["t2d"] = torch.zeros(V, dtype=torch.bool)
    assert read(write(tmp_path / "head", config, tensors)).target_ids is None
