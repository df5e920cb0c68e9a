"""How a head's checkpoint is fitted to the target and the machine it runs with."""

import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from rheo.errors import RheoError, reason
from rheo.models.draft.config import HeadConfig


def fuse(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the checkpoint's tensors as the head multiplies them.

    q, k, v become one matrix qkv (2d, (H + 2Hkv)*hd), gate and up one (d, 2f), biases likewise.
    Matrices are laid out input first: a product with ten rows then takes half the time on a CPU.
    """
    rest = dict(tensors)
    fused = {"qkv": ["q", "k", "v"], "gate_up": ["gate", "up"]}
    if "q_bias" in rest:
        fused["qkv_bias"] = ["q_bias", "k_bias", "v_bias"]
    joined = {key: torch.cat([rest.pop(x) for x in parts]) for key, parts in fused.items()}
    return {key: x.T.contiguous() if x.ndim == 2 else x for key, x in (joined | rest).items()}


def fit_vocabulary(ids: Tensor | None, rows: int, vocab: int) -> Tensor | None:
    """Return the target's ids of the draft ids, None where the two vocabularies are one."""
    last = rows - 1 if ids is None else int(ids[-1])
    if last >= vocab:
        raise RheoError(
            f"The head drafts the token id {last}, but the target has {vocab} ids; use "
            "the target that the head was trained for."
        )
    # a target may pad its vocabulary beyond the ids that the head knows
    return torch.arange(rows) if ids is None and rows < vocab else ids


def check_width(config: HeadConfig, width: int) -> None:
    """Refuse a target whose hidden states have another width than those the head reads."""
    if config.target_hidden != width:
        raise RheoError(
            f"The head reads hidden states of width {config.target_hidden} and the target's are "
            f"{width} wide; use the target that the head was trained for."
        )


def choose_embeddings(own: Tensor | None, target: Tensor, config: HeadConfig) -> Tensor:
    """Return the target's weight itself (V, d) wherever possible, the head's own if it differs."""
    target = target.detach()
    if own is None or (
        own.shape == target.shape and torch.equal(own.to(target.device, target.dtype), target)
    ):
        if target.shape[1] != config.hidden:
            raise RheoError(
                f"The head has no embed_tokens.weight and the target's embeddings are "
                f"{target.shape[1]} wide where the head needs {config.hidden}."
            )
        return target
    if own.shape[0] < target.shape[0]:
        raise RheoError(
            f"The head's embed_tokens.weight has {own.shape[0]} rows, fewer than the target's "
            f"{target.shape[0]} token ids."
        )
    return own


def rotary(config: HeadConfig, rope_theta: float | None) -> LlamaRotaryEmbedding:
    """Return transformers' own rotary embedding, for the frequencies of every rope type."""
    rope = config.rope if rope_theta is None else {**config.rope, "rope_theta": float(rope_theta)}
    try:
        return LlamaRotaryEmbedding(
            LlamaConfig(
                hidden_size=config.heads * config.head_dim,
                num_attention_heads=config.heads,
                head_dim=config.head_dim,
                max_position_embeddings=config.max_positions,
                rope_parameters=dict(rope),
            )
        )
    except Exception as error:  # a config class may raise whatever it likes
        raise RheoError(
            f"The head's rope settings {rope} do not work ({reason(error)})."
        ) from error


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply the rotary embedding to (heads, b, hd), halves paired as in Llama."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin
