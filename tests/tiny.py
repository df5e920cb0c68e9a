"""Tiny random causal LMs of each family, in memory or as a folder with a tiny tokenizer."""

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.convert_slow_tokenizer import bytes_to_unicode

VOCAB = 97
LAYERS = 8
EOS, END_OF_TURN = 2, 1
FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {"use_sliding_window": False}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 16}),  # 4 * 16 != 32, as in the 4B
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": None}),
}
TEMPLATE = (
    "{% for message in messages %}<|user|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|bot|>{% endif %}"
)


def tiny_model(
    family: str = "llama", seed: int = 0, attn: str = "sdpa", vocab: int = VOCAB, **changes
) -> PreTrainedModel:
    """A random float32 model in eval mode: 8 layers, hidden 32, 4 heads on 2 key/value heads.

    The weights are wide (0.3), so that logits have a spread of about one and a mistake shows. The
    global generator is left as it was.
    """
    config_class, model_class, special = FAMILIES[family]
    settings = {
        "vocab_size": vocab,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "initializer_range": 0.3,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": EOS,
        "pad_token_id": None,
    }
    config = config_class(**(settings | special | changes))
    config._attn_implementation = attn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = model_class(config).float().eval()
    model.generation_config.eos_token_id = [EOS, END_OF_TURN]
    return model


def byte_level_tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """Byte-level BPE as in Llama 3 and Qwen: 5 special tokens, 256 bytes, some merges."""
    special = ["<s>", "<|end|>", "</s>", "<|user|>", "<|bot|>"]
    pieces = special + list(bytes_to_unicode().values())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("â", "Ĥ")]  # the last: E2 82, half of a €
    pieces += ["".join(pair) for pair in merges]
    vocab = {piece: index for index, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocab, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(special)
    backend.add_tokens([AddedToken("<think>", special=False)])
    return _wrap(backend, template)


def byte_fallback_tokenizer(template: str | None = None) -> PreTrainedTokenizerFast:
    """BPE with byte fallback as in Llama 2: ▁ for a space, <0xE2> for a byte."""
    special = ["<s>", "<unk>", "</s>"]
    pieces = special + [f"<0x{byte:02X}>" for byte in range(256)] + list("▁abcdefgh") + ["▁a"]
    vocab = {piece: index for index, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocab, [("▁", "a")], byte_fallback=True, unk_token="<unk>"))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    backend.add_special_tokens(special)
    return _wrap(backend, template)


def _wrap(backend: Tokenizer, template: str | None) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token=None
    )
    tokenizer.chat_template = template
    return tokenizer


def tiny_folder(
    folder: Path, family: str = "llama", seed: int = 0, template: str | None = TEMPLATE, **changes
) -> Path:
    """A checkpoint folder with the byte-level tokenizer; the logits have rows beyond its ids."""
    tokenizer = byte_level_tokenizer(template)
    vocab = -(-(len(tokenizer) + 1) // 32) * 32  # padded, as published checkpoints are
    tiny_model(family, seed, vocab=vocab, **changes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
