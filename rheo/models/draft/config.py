"""What a head's config.json says, read the way its layout means it (see `layouts`).

Configs are hints: shapes come from the tensors. A setting that would change what the head computes
and that we do not implement is refused by name, because ignoring it only shows as a low acceptance.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rheo.errors import RheoError

SWITCHES = {"norm_before_residual", "norm_before_fc", "fc_norm", "norm_output", "attention_bias"}
_HARMLESS = {  # on without a bearing on what the head computes
    "use_cache", "return_dict", "is_decoder", "bias", "embed_requires_grad", "tie_word_embeddings",
    "use_aux_hidden_state", "use_last_layernorm", "use_input_layernorm_in_first_layer",
    "next_layer_regular", "has_lm_head", "_attn_implementation_autoset",
}  # fmt: skip
_ONLY = {  # settings of which we implement one value
    "hidden_act": "silu",
    "use_aux_hidden_state": True,
    "use_last_layernorm": True,
    "use_input_layernorm_in_first_layer": True,
    "parallel_draft_step": 1,
    "partial_rotary_factor": 1.0,
    "quantization_config": None,
}
_ROPE_TYPES = ("default", "linear", "yarn", "llama3")  # those whose frequencies ignore the length
_AUX = "eagle_aux_hidden_state_layer_ids"


@dataclass(frozen=True)
class HeadConfig:
    """One head's settings, the same for every layout.

    `rope` holds transformers' `rope_parameters` (rope_type, rope_theta, ...); `aux_layers` are
    indices into transformers' `hidden_states`, None where the layout leaves them to convention.
    """

    layout: str
    hidden: int  # d
    target_hidden: int  # dt
    heads: int  # H
    kv_heads: int  # Hkv
    head_dim: int  # hd
    vocab: int | None  # the target's V, where the config tells
    eps: float
    rope: dict[str, Any]
    max_positions: int
    aux_layers: tuple[int, int, int] | None
    switches: frozenset[str]

    def feature_layers(self, target_layers: int) -> tuple[int, int, int]:
        """The three hidden states that a target of `target_layers` layers must hand over.

        Raises:
            RheoError: the ids are not ascending or lie outside the target.
        """
        n = target_layers
        low, mid, high = ids = self.aux_layers or (2, n // 2, n - 3)
        if not 0 <= low < mid < high <= n:
            raise RheoError(
                f"The head reads the hidden states {list(ids)}, which do not ascend in a target "
                f"of {n} layers; use the target that the head was trained for."
            )
        return low, mid, high


def head_config(config: dict[str, Any], tensors: dict[str, Tensor]) -> HeadConfig:
    """Interpret a parsed config.json beside the head's tensors (house names, see `layouts`).

    Raises:
        RheoError: a setting is not supported, or contradicts the tensors.
    """
    layer = config.get("transformer_layer_config") or config
    eagle = config.get("eagle_config") or {}
    for part in (config, eagle, layer):
        _check_settings(part)
    layout = _layout(config)
    heads, kv_heads, head_dim = _heads(tensors, layer)
    return HeadConfig(
        layout=layout,
        hidden=tensors["fc"].shape[0],
        target_hidden=tensors["fc"].shape[-1] // 3,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=layer.get("vocab_size"),
        eps=layer.get("rms_norm_eps", 1e-6),
        rope=_rope(layer),
        max_positions=layer.get("max_position_embeddings", 2048),
        aux_layers=_aux_layers(config, eagle, layout),
        switches=switches(config),
    )


def switches(config: dict[str, Any]) -> frozenset[str]:
    """The supported switches that are on, wherever in the config they stand."""
    parts = (config, config.get("eagle_config") or {}, config.get("transformer_layer_config") or {})
    return frozenset(name for name in SWITCHES if any(part.get(name) for part in parts))


def _check_settings(part: dict[str, Any]) -> None:
    for name, value in part.items():
        refused = name in _ONLY and value is not None and value != _ONLY[name]
        refused |= value is True and name not in SWITCHES | _HARMLESS
        refused |= name == "layer_types" and bool(value) and set(value) != {"full_attention"}
        refused |= name == "sliding_window" and bool(value) and "use_sliding_window" not in part
        if refused:
            raise RheoError(f"The head's config sets {name} to {value}, which is not supported.")


def _layout(config: dict[str, Any]) -> str:
    architectures = config.get("architectures") or []
    kind = config.get("speculators_model_type")
    if kind or {"Eagle3Speculator", "Eagle3DraftModel"}.intersection(architectures):
        if kind not in (None, "eagle3"):
            raise RheoError(f"The head is of the type {kind}; only eagle3 heads run here.")
        return "speculators"
    named = any(name.endswith("Eagle3") for name in architectures)
    return "specforge" if named or config.get("eagle_config") else "safeailab"


def _aux_layers(
    config: dict[str, Any], eagle: dict[str, Any], layout: str
) -> tuple[int, int, int] | None:
    """Layer ids as indices into `hidden_states`, by the layout's convention and never by value.

    >>> nested = {"eagle_aux_hidden_state_layer_ids": [1, 13, 24]}
    >>> _aux_layers({}, nested, "specforge"), _aux_layers(nested, {}, "speculators")
    ((2, 14, 25), (1, 13, 24))
    """
    top, nested = config.get(_AUX), eagle.get(_AUX)
    if layout != "speculators" and top is not None:
        raise RheoError(
            f"The head's config has {_AUX} at its top level but is not a speculators config, so "
            "whether the ids mean inputs or outputs of layers is unknown; move them into "
            "eagle_config if they mean outputs."
        )
    ids = top if layout == "speculators" else nested
    if ids is None:
        return None
    if len(ids) != 3:
        raise RheoError(f"The head's config names {len(ids)} layers in {_AUX} instead of three.")
    shift = 0 if layout == "speculators" else 1  # the output of layer i is hidden_states[i + 1]
    low, mid, high = (int(i) + shift for i in ids)
    return low, mid, high


def _rope(layer: dict[str, Any]) -> dict[str, Any]:
    """Rotary settings; an absent base is 10000 even where the target's is not."""
    rope = dict(layer.get("rope_parameters") or layer.get("rope_scaling") or {})
    old = rope.pop("type", None)
    rope["rope_type"] = rope.get("rope_type") or old or "default"
    if rope["rope_type"] not in _ROPE_TYPES:
        raise RheoError(f"The head's rope type {rope['rope_type']} is not supported.")
    _check_settings(rope)
    rope["rope_theta"] = float(rope.get("rope_theta") or layer.get("rope_theta") or 10000.0)
    return rope


def _heads(tensors: dict[str, Tensor], layer: dict[str, Any]) -> tuple[int, int, int]:
    """(H, Hkv, hd): the split of q's and k's rows, the one shape that weights alone do not give."""
    q, k = tensors["q"].shape[0], tensors["k"].shape[0]
    # speculators leave a config's default out, and Llama's default is 32 heads
    by_count = q // layer.get("num_attention_heads", 32)
    # a published head_dim has been wrong while the number of heads was right, hence the order
    first = tensors["q_norm"].numel() if "q_norm" in tensors else by_count
    for head_dim in (first, layer.get("head_dim")):
        if head_dim and head_dim % 2 == 0 and q % head_dim == 0 and k % head_dim == 0:
            kv_heads = layer.get("num_key_value_heads") or k // head_dim
            if kv_heads * head_dim == k and q % k == 0:
                return q // head_dim, kv_heads, head_dim
    raise RheoError(
        f"The head's q_proj has {q} rows and its k_proj {k}, which num_attention_heads, "
        "num_key_value_heads and head_dim of its config do not explain."
    )
