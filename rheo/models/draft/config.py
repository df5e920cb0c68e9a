"""What a head's config.json says, read the way its layout means it (see `checkpoints`).

Configs are hints: shapes come from the tensors. A setting that would change what the head computes
and that we do not implement is refused by name, because ignoring it only shows as a low acceptance.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PositiveInt,
    ValidationError,
    model_validator,
)
from torch import Tensor

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.models.draft.layer_ids import AskedLayers, Counted, LayerChoice, Layers, layer_choices

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

_if_filled = BeforeValidator(lambda value: value or None)  # null, 0, false and {} say nothing


def _all_full(kinds: object) -> bool:
    return isinstance(kinds, list) and all(kind == "full_attention" for kind in kinds)


class _Part(BaseModel):
    """A part of a config.json. A name that is not a field is kept, and refused where it matters.

    Raises:
        RheoError: a setting that would change what the head computes is not supported.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, part: Any) -> Any:
        for name, value in part.items() if isinstance(part, dict) else ():
            refused = name in _ONLY and value is not None and value != _ONLY[name]
            refused |= value is True and name not in SWITCHES | _HARMLESS
            refused |= name == "layer_types" and bool(value) and not _all_full(value)
            refused |= name == "sliding_window" and bool(value) and "use_sliding_window" not in part
            if refused:
                raise RheoError(
                    f"The head's config sets {name} to {value}, which is not supported."
                )
        return part

    @property
    def on(self) -> set[str]:
        """Return the supported switches that are on here."""
        return {name for name in SWITCHES if (self.model_extra or {}).get(name)}


class _Rope(_Part):
    """Rotary settings; the rest is transformers' own to read."""

    rope_type: Annotated[str | None, _if_filled] = None
    type: Annotated[str | None, _if_filled] = None  # as older configs call it
    rope_theta: Annotated[float | None, _if_filled] = None


class _Layer(_Part):
    """The settings of the decoder layer, named as Llama's."""

    vocab_size: int | None = None
    num_attention_heads: PositiveInt = 32  # speculators leave a default out: it is Llama's
    num_key_value_heads: Annotated[PositiveInt | None, _if_filled] = None
    head_dim: Annotated[PositiveInt | None, _if_filled] = None
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 2048
    rope_parameters: Annotated[_Rope | None, _if_filled] = None
    rope_scaling: Annotated[_Rope | None, _if_filled] = None
    rope_theta: Annotated[float | None, _if_filled] = None


class _Eagle(_Part):
    """SpecForge's `eagle_config`."""

    eagle_aux_hidden_state_layer_ids: list[int] | None = None


class HeadSettings(_Part):
    """A head's config.json. `layer` is its nested layer config, else what stands at the top."""

    architectures: Annotated[list[str] | None, _if_filled] = None
    speculators_model_type: Annotated[str | None, _if_filled] = None
    eagle_aux_hidden_state_layer_ids: list[int] | None = None
    eagle_config: Annotated[_Eagle | None, _if_filled] = None
    layer: _Layer

    @classmethod
    def read(cls, config: JsonObject) -> "HeadSettings":
        """Return a parsed config.json's settings.

        Raises:
            RheoError: a setting is of a wrong type, or not supported.
        """
        layer = config.get("transformer_layer_config") or config
        try:
            return cls.model_validate({**config, "layer": layer})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"] if part != "layer")
            raise RheoError(
                f"The head's config.json has a setting of a wrong type ({name}: {first['msg']})."
            ) from error

    @property
    def switches(self) -> frozenset[str]:
        """Return the supported switches that are on, wherever in the config they stand."""
        eagle = self.eagle_config.on if self.eagle_config else set()
        return frozenset(self.on | eagle | self.layer.on)

    @property
    def layout(self) -> str:
        """Return who wrote it: "speculators", "specforge" or "safeailab".

        Raises:
            RheoError: it is another kind of speculator.
        """
        names, kind = self.architectures or [], self.speculators_model_type
        if kind or {"Eagle3Speculator", "Eagle3DraftModel"}.intersection(names):
            if kind not in (None, "eagle3"):
                raise RheoError(f"The head is of the type {kind}; only eagle3 heads run here.")
            return "speculators"
        named = any(name.endswith("Eagle3") for name in names)
        return "specforge" if named or self.eagle_config else "safeailab"


@dataclass(frozen=True)
class HeadConfig:
    """One head's settings, the same for every layout.

    `rope` holds transformers' `rope_parameters` (rope_type, rope_theta, ...); `layer_ids` are as
    the file has them, None where it has none; `counted` is what they are taken for, and `fixed`
    says that a person asked for that.
    """

    layout: str
    hidden: int  # d
    target_hidden: int  # dt
    heads: int  # H
    kv_heads: int  # Hkv
    head_dim: int  # hd
    vocab: int | None  # the target's V, where the config tells
    eps: float
    rope: JsonObject
    max_positions: int
    layer_ids: Layers | None
    counted: Counted
    switches: frozenset[str]
    fixed: bool = False

    def layer_choices(self, target_layers: int) -> list[LayerChoice]:
        """Return which hidden states it may read of a target, what its file says first.

        Raises:
            RheoError: its layers do not fit that target.
        """
        return layer_choices(self.layer_ids, self.counted, target_layers, self.fixed)

    def feature_layers(self, target_layers: int) -> Layers:
        """Return the three hidden states that it reads by what its file says. Raises as above."""
        return self.layer_choices(target_layers)[0].layers

    def reading(self, asked: AskedLayers) -> "HeadConfig":
        """Return the same head reading what a person asked for.

        Raises:
            RheoError: a convention was asked for and the file has no ids that it could be of.
        """
        if not isinstance(asked, str):
            return replace(self, layer_ids=asked, counted="inputs", fixed=True)
        if self.layer_ids is None:
            raise RheoError(
                f"The head's config names no layers that could be {asked}: ask for three hidden "
                "states by their indices, such as 2,16,29."
            )
        return replace(self, counted=asked, fixed=True)


def head_config(settings: HeadSettings, tensors: dict[str, Tensor]) -> HeadConfig:
    """Return what the settings mean beside the head's tensors (house names, see `checkpoints`).

    Raises:
        RheoError: a setting is not supported, or contradicts the tensors.
    """
    layer = settings.layer
    heads, kv_heads, head_dim = _heads(tensors, layer)
    layer_ids, counted = _layer_ids(settings)
    return HeadConfig(
        layout=settings.layout,
        hidden=tensors["fc"].shape[0],
        target_hidden=tensors["fc"].shape[-1] // 3,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocab=layer.vocab_size,
        eps=layer.rms_norm_eps,
        rope=_rope(layer),
        max_positions=layer.max_position_embeddings,
        layer_ids=layer_ids,
        counted=counted,
        switches=settings.switches,
    )


def _layer_ids(settings: HeadSettings) -> tuple[Layers | None, Counted]:
    """Return the ids of a config and what their place says that they are; see `layer_ids`.

    >>> ids = {"eagle_aux_hidden_state_layer_ids": [1, 13, 24]}
    >>> _layer_ids(HeadSettings.read({"eagle_config": ids}))
    ((1, 13, 24), 'outputs')
    >>> _layer_ids(HeadSettings.read({"speculators_model_type": "eagle3", **ids}))
    ((1, 13, 24), 'inputs')
    """
    top, eagle = settings.eagle_aux_hidden_state_layer_ids, settings.eagle_config
    nested = eagle.eagle_aux_hidden_state_layer_ids if eagle else None
    inside = nested is not None and (top is None or settings.layout != "speculators")
    counted: Counted = "outputs" if inside else "inputs"
    ids = nested if inside else top
    if ids is None:
        return None, counted
    if len(ids) != 3:
        raise RheoError(f"The head's config names {len(ids)} layers in {_AUX} instead of three.")
    return (ids[0], ids[1], ids[2]), counted


def _rope(layer: _Layer) -> JsonObject:
    """Return rotary settings; an absent base is 10000 even where the target's is not."""
    given = layer.rope_parameters or layer.rope_scaling or _Rope()
    kind = given.rope_type or given.type or "default"
    if kind not in _ROPE_TYPES:
        raise RheoError(f"The head's rope type {kind} is not supported.")
    theta = given.rope_theta or layer.rope_theta or 10000.0
    return {**(given.model_extra or {}), "rope_type": kind, "rope_theta": theta}


def _heads(tensors: dict[str, Tensor], layer: _Layer) -> tuple[int, int, int]:
    """Return (H, Hkv, hd): the split of q's and k's rows, which the weights alone do not give."""
    q, k = tensors["q"].shape[0], tensors["k"].shape[0]
    by_count = q // layer.num_attention_heads
    # a published head_dim has been wrong while the number of heads was right, hence the order
    first = tensors["q_norm"].numel() if "q_norm" in tensors else by_count
    for head_dim in (first, layer.head_dim):
        if head_dim and head_dim % 2 == 0 and q % head_dim == 0 and k % head_dim == 0:
            kv_heads = layer.num_key_value_heads or k // head_dim
            if kv_heads * head_dim == k and q % k == 0:
                return q // head_dim, kv_heads, head_dim
    raise RheoError(
        f"The head's q_proj has {q} rows and its k_proj {k}, which num_attention_heads, "
        "num_key_value_heads and head_dim of its config do not explain."
    )
