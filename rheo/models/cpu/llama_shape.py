"""Which models have Llama's shape: the layers that `LlamaForward` runs, and nothing beside them."""

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
    if model.get_output_embeddings().bias is not None:
        return "its output layer has a bias"
    return None
