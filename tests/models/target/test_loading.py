"""What a folder's files can do to loading: every fault is one sentence, none is passed over."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from rheo.errors import RheoError
from rheo.models.target import pretrained
from rheo.models.target.target import Target
from tests.tiny import END_OF_TURN, EOS, tiny_folder


def rewrite(folder: Path, change) -> None:
    """Put `change` of a folder's weights in their place."""
    path = folder / "model.safetensors"
    tensors = {name: x.clone() for name, x in change(load_file(path)).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def edit(folder: Path, file: str = "config.json", **changes) -> None:
    path = folder / file
    config = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(config))


def refusal(folder: Path) -> str:
    with pytest.raises(RheoError) as refused:
        Target.load(str(folder))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 800
    return str(refused.value)


UP = "model.layers.3.mlp.up_proj.weight"


def scaled(tensors: dict) -> dict:
    """As an FP8 checkpoint has it: numbers of eight bits, and their scale beside them."""
    out = dict(tensors)
    for name in [n for n in tensors if "proj" in n]:
        scale = tensors[name].abs().max() / 448
        out[name] = (tensors[name] / scale).to(torch.float8_e4m3fn)
        out[f"{name}_scale"] = scale.float()
    return out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda w: {n: x for n, x in w.items() if n != UP}, f"lacks {UP}"),
        (lambda w: {n: x for n, x in w.items() if n != "lm_head.weight"}, "lacks lm_head.weight"),
        (lambda w: w | {"model.layers.8.mlp.up_proj.weight": w[UP]}, "without a use here"),
        (lambda w: w | {UP: w[UP][:32]}, f"another shape than its config says {UP}"),
        (lambda w: {f"language_model.{n}": x for n, x in w.items()}, "lacks .* and [0-9]+ more"),
        (scaled, "without a use here.*_scale"),
    ],
    ids=["missing", "untied head", "left over", "shape", "prefix", "scales"],
)
def test_weights_that_are_not_the_models_are_refused_by_name(change, why, tmp_path):
    rewrite(tiny_folder(tmp_path), change)
    with pytest.raises(RheoError, match=why):
        Target.load(str(tmp_path))


def test_an_unknown_quantisation_is_refused_by_name(tmp_path):
    rewrite(tiny_folder(tmp_path), scaled)
    edit(tmp_path, quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})
    assert "quantised by 'modelopt'" in refusal(tmp_path)
    rewrite(tmp_path, lambda w: {n: x for n, x in w.items() if not n.endswith("_scale")})
    assert "quantised by 'modelopt'" in refusal(tmp_path)


QUANTISED = {
    "awq": {"bits": 4, "group_size": 128, "version": "gemm", "zero_point": True},
    "gptq": {"bits": 4, "group_size": 128},
    "bitsandbytes": {"load_in_4bit": True},
    "compressed-tensors": {"format": "float-quantized", "config_groups": {}},
}


@pytest.mark.parametrize("method", QUANTISED)
def test_a_quantisation_without_its_package_is_one_sentence(method, tmp_path):
    quantised = QUANTISED[method] | {"quant_method": method}
    edit(tiny_folder(tmp_path), quantization_config=quantised)
    assert "could not be loaded (" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("family", "changes", "why"),
    [
        ("llama", {"initializer_range": 1}, "initializer_range.*float"),
        ("qwen3", {"layer_types": ["full_attention"] * 28}, "28"),
        ("llama", {"hidden_size": "wide"}, "hidden_size"),
        ("llama", {"num_key_value_heads": 0}, "could not be loaded"),
        ("llama", {"model_type": "of_tomorrow"}, "of_tomorrow"),
    ],
)
def test_a_config_that_the_library_refuses_is_one_sentence(family, changes, why, tmp_path):
    edit(tiny_folder(tmp_path, family), **changes)
    with pytest.raises(RheoError, match=why) as refused:
        Target.load(str(tmp_path))
    assert refused.value.__cause__ is not None and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "part", [{"pre_tokenizer": {"type": "OfTomorrow"}}, {"model": None}, {"added_tokens": 3}]
)
def test_a_tokenizer_of_tomorrow_is_one_sentence(part, tmp_path):
    edit(tiny_folder(tmp_path), "tokenizer.json", **part)
    assert "could not be loaded (" in refusal(tmp_path)


def test_too_little_memory_is_no_fault_of_the_files(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(pretrained.AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(MemoryError):
        Target.load(str(tiny_folder(tmp_path)))


def test_tied_weights_and_old_buffers_are_no_fault(tmp_path):
    folder = tiny_folder(tmp_path, tie_word_embeddings=True)
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    old = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(4) for i in range(8)}
    rewrite(folder, lambda w: w | old)
    Target.load(str(folder))


@pytest.mark.parametrize("named", [EOS, None])
def test_an_end_token_that_only_the_tokenizer_names_ends_a_text(named, tmp_path):
    edit(tiny_folder(tmp_path), eos_token_id=named)
    edit(tmp_path, "generation_config.json", eos_token_id=named)
    edit(tmp_path, "tokenizer_config.json", eos_token="<|end|>")
    assert Target.load(str(tmp_path)).eos_ids == {END_OF_TURN} | ({named} - {None})


def test_a_tokenizer_without_an_end_token_adds_none(tmp_path):
    edit(tiny_folder(tmp_path), "tokenizer_config.json", eos_token=None)
    assert Target.load(str(tmp_path)).eos_ids == {EOS, END_OF_TURN}
