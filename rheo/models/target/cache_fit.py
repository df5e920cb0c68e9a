"""Whether a model's keys and values are what the cache holds: one width for all layers."""

from transformers import PreTrainedModel


def cache_misfit(model: PreTrainedModel) -> str | None:
    """Return why `KVCache` does not fit a model with decoder layers, None where it does."""
    config, layers = model.config.get_text_config(), list(model.get_decoder().layers)
    if len(layers) != config.num_hidden_layers:
        return f"it has {len(layers)} layers where its config says {config.num_hidden_layers}"
    if getattr(config, "kv_lora_rank", None):
        return "its latent attention (kv_lora_rank) has keys and values of different widths"
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = getattr(config, "num_key_value_heads", None)
    if heads is None:
        return "its config does not say how many key/value heads it has"
    wanted = heads * head_dim
    for i, layer in enumerate(layers):
        for name in ("k_proj", "v_proj"):
            projection = getattr(getattr(layer, "self_attn", None), name, None)
            width = getattr(projection, "out_features", None)
            if width is not None and width != wanted:
                return f"{name} of layer {i} is {width} wide where its config says {wanted}"
    return None
