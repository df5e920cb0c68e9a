"""Which models have Llama's shape: the layers that `LlamaForward` runs, and nothing beside them."""

from collections.abc import Iterator

from torch import nn
from transformers import (
    LlamaForCausalLM,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2ForCausalLM,
    Qwen3ForCausalLM,
)

FAMILIES = (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM)


def shape_misfit(model: PreTrainedModel) -> str | None:
    """Return why a model keeps transformers' own forward; None where it has Llama's shape.

    Subclasses are refused: what a fine-tune's own class adds is not known here.
    """
    config = model.config
    if type(model) not in FAMILIES:
        return f"{type(model).__name__} is not of Llama's shape"
    if config.hidden_act not in ("silu", "swish"):
        return f"its activation is {config.hidden_act}"
    if config._attn_implementation != "sdpa":
        return f"its attention is {config._attn_implementation}"
    if getattr(model.get_output_embeddings(), "bias", None) is not None:
        return "its output layer has a bias"
    for name, part in _replaced_parts(model):
        if type(part) not in (nn.Linear, nn.Embedding):
            return f"{name} is of the class {type(part).__name__}"
        if type(part.weight) is not nn.Parameter or part.weight.dtype != model.dtype:
            return f"{name} has weights of another kind"
        if part._forward_hooks or part._forward_pre_hooks or "forward" in part.__dict__:
            return f"{name} does more than its class"
    for layer in model.get_decoder().layers:
        attention = layer.self_attn
        if len({getattr(attention, f"{x}_proj").bias is None for x in "qkv"}) > 1:
            return "only some of q_proj, k_proj and v_proj have a bias"
    return None


def _replaced_parts(model: PreTrainedModel) -> Iterator[tuple[str, nn.Module]]:
    """Yield by name what is replaced, or read without being called: an adapter or a quantised
    layer in such a place would be lost."""
    yield "its embedding", model.get_input_embeddings()
    yield "its output layer", model.get_output_embeddings()
    for i, layer in enumerate(model.get_decoder().layers):
        for part in (layer.self_attn, layer.mlp):
            for name, module in part.named_children():
                if name.endswith("_proj"):
                    yield f"{name} of layer {i}", module
