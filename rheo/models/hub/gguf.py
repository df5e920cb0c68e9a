"""Convert a GGUF file to a Hugging Face folder: `python -m rheo.models.hub.gguf GGUF OUTDIR`.

It runs as a process of its own: dequantising peaks at twice the weights, and that memory goes back
to the machine when the process ends.
"""

import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from rheo.errors import RheoError
from rheo.models.hub.loading_report import check_tensors


def convert(gguf: Path, out: Path) -> None:
    """Write weights (float32 safetensors), configs, tokenizer and chat template into `out`.

    Float32, not half: a Q4_1 weight is `scale * q + minimum`, which neither 16-bit format holds
    exactly, and float32 files are mapped into memory as they are, without a copy.

    Raises:
        RheoError: tensors that are missing or have no use, no chat template in the file, or model
            and tokenizer differ on the end token.
    """
    tokenizer = _tokenizer(gguf)
    model: PreTrainedModel
    report: dict[str, set]
    model, report = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32, output_loading_info=True
    )
    check_tensors(gguf.name, report)
    if not tokenizer.chat_template or tokenizer.eos_token_id != model.config.eos_token_id:
        raise RheoError(f"{gguf.name} has no chat template, or an end token its tokenizer denies.")
    tokenizer.model_max_length = model.config.max_position_embeddings
    tokenizer.save_pretrained(out)
    _plain(model).save_pretrained(out)


def _tokenizer(gguf: Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the file, splitting text as the file asks.

    transformers reads vocabulary and merges but not `tokenizer.ggml.pre`: "smollm" means that each
    digit stands alone *before* the words are cut, which changes where runs of spaces end.
    """
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    pre = GGUFReader(gguf).fields.get("tokenizer.ggml.pre")
    if pre is not None and pre.contents() == "smollm":
        tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        )
    return tokenizer


def _plain(model: PreTrainedModel) -> PreTrainedModel:
    """Return the same weights under a config without GGUF, which `save_pretrained` refuses."""
    config = model.config.to_dict()
    config.pop("quantization_config", None)
    with torch.device("meta"):  # no second copy: the tensors move over by assignment
        plain = type(model)(type(model.config).from_dict(config))
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = model.generation_config
    return plain


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
