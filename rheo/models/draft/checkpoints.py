"""EAGLE-3 checkpoints: three public layouts in, one record out.

| layout | recognised by | layer prefix | aux layer ids |
|---|---|---|---|
| SafeAILab | neither of the below | `midlayer.` | none: 2, n // 2, n - 3 |
| SpecForge / SGLang | `eagle_config` or `...Eagle3` | `midlayer.` | outputs of layers |
| vLLM speculators | `speculators_model_type` | `layers.0.` | inputs of layers |

No tensor is ever left at its random start: one that is missing or left over is refused by name.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.models.draft.config import HeadConfig, HeadSettings, head_config

_LAYER = {
    "input_layernorm.weight": "embed_norm",
    "hidden_norm.weight": "hidden_norm",
    "post_attention_layernorm.weight": "mlp_norm",
    **{f"self_attn.{x}_proj.weight": x for x in "qkvo"},
    **{f"self_attn.{x}_proj.bias": f"{x}_bias" for x in "qkvo"},
    **{f"self_attn.{x}_norm.weight": f"{x}_norm" for x in "qk"},
    **{f"mlp.{x}_proj.weight": x for x in ("gate", "up", "down")},
}
_NAMES = {
    **{f"{prefix}.{x}": _LAYER[x] for prefix in ("layers.0", "midlayer") for x in _LAYER},
    **{f"{x}.weight": x for x in ("fc", "norm", "lm_head", "input_norm")},
    **{f"fc_norm.{i}.weight": f"fc_norm_{i}" for i in range(3)},
    "embed_tokens.weight": "embeddings",
    "d2t": "d2t",
    "t2d": "t2d",
}
STORED = {house: name for name, house in _NAMES.items()}  # for messages: the `midlayer` name
_ALWAYS = {"embed_norm", "hidden_norm", "mlp_norm", *"qkvo", "gate", "up", "down"}
_ALWAYS |= {"fc", "norm", "lm_head"}
_OPTIONAL = {"embeddings", "d2t", "t2d", "o_bias"}
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Checkpoint:
    """One EAGLE-3 head, whatever its layout.

    `tensors` by house name: fc (d, 3dt); embed_norm, hidden_norm, mlp_norm, norm (d,);
    q (H*hd, 2d); k and v (Hkv*hd, 2d); o (d, H*hd); gate and up (f, d); down (d, f);
    lm_head (Vd, d); and where the head has them q_bias, k_bias, v_bias, o_bias; q_norm and
    k_norm (hd,); input_norm (3dt,); fc_norm_0 to fc_norm_2 (dt,); its own embeddings (V, d).
    `target_ids` is (Vd,) int64, ascending, or None where draft and target ids are the same.
    """

    config: HeadConfig
    tensors: dict[str, Tensor]
    target_ids: Tensor | None


def read(folder: Path | str) -> Checkpoint:
    """Read a checkpoint folder (config.json and model*.safetensors, or
    pytorch_model*.bin).

    Raises:
        RheoError: the folder is not an EAGLE-3 head that we can run; the sentence names the file,
            tensor or setting.
    """
    folder = Path(folder)
    settings = HeadSettings.read(_read_config(folder / "config.json"))
    tensors = _rename(_read_tensors(folder))
    _check_complete(tensors, settings.switches)
    config = head_config(settings, tensors)
    target_ids = _target_ids(tensors, config.vocab)
    _check_values(tensors, config)
    return Checkpoint(config, tensors, target_ids)


def _read_config(path: Path) -> JsonObject:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RheoError(f"{path} cannot be read, so its folder is no checkpoint.") from error
    except ValueError as error:
        raise RheoError(f"{path} is not valid JSON ({error}).") from error
    if not isinstance(config, dict):
        raise RheoError(f"{path} does not hold a JSON object.")
    return config


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    paths = sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not paths:
        raise RheoError(f"{folder} holds neither model.safetensors nor pytorch_model.bin.")
    tensors: dict[str, Tensor] = {}
    for path in paths:
        try:
            # weights_only: a pickle may otherwise run any code
            safe = path.suffix == ".safetensors"
            part = load_file(path) if safe else torch.load(path, "cpu", weights_only=True)
        except MemoryError:
            raise
        except Exception as error:  # unpickling damaged bytes raises whatever they happen to say
            raise RheoError(f"{path} is damaged or holds more than plain tensors.") from error
        if not isinstance(part, dict) or not all(
            isinstance(value, Tensor) for value in part.values()
        ):
            raise RheoError(f"{path} holds more than plain tensors.")
        tensors |= part
    return tensors


def _rename(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename stored names to house names; NeMo writes a `model.` before them."""
    house: dict[str, Tensor] = {}
    for stored, tensor in tensors.items():
        name = stored.removeprefix("model.")
        if name.startswith("verifier_"):  # the target's own weights, kept by some training runs
            continue
        if name.startswith("layers.") and not name.startswith("layers.0."):
            raise RheoError(f"The head has several layers ({stored}); only one-layer heads run.")
        if name not in _NAMES:
            raise RheoError(f"The head's file holds the tensor {stored}, which has no use here.")
        if _NAMES[name] in house:
            raise RheoError(f"The head's file holds the tensor {stored} twice, under two names.")
        house[_NAMES[name]] = tensor
    return house


def _check_complete(tensors: dict[str, Tensor], on: frozenset[str]) -> None:
    """Refuse tensors that the config implies and that are missing, and any other."""
    biases = {"q_bias", "k_bias", "v_bias"}
    expected = set(_ALWAYS)
    if "norm_before_fc" in on:
        expected |= {"input_norm"}
    if "fc_norm" in on:
        expected |= {f"fc_norm_{i}" for i in range(3)}
    # qwen layers have no switch for these: one such tensor implies the others
    if tensors.keys() & {"q_norm", "k_norm"}:
        expected |= {"q_norm", "k_norm"}
    if "attention_bias" in on or tensors.keys() & (biases | {"o_bias"}):
        expected |= biases
    for name in sorted(expected - tensors.keys()):
        raise RheoError(f"The head's file lacks the tensor {STORED[name]}.")
    for name in sorted(tensors.keys() - expected - _OPTIONAL):
        raise RheoError(
            f"The head's file holds the tensor {STORED[name]}, which its config does not ask for."
        )
    for name in sorted(expected):
        if tensors[name].dtype not in _FLOATS or tensors[name].ndim == 0:
            raise RheoError(f"The head's tensor {STORED[name]} is not an array of floats.")


def _check_values(tensors: dict[str, Tensor], head: HeadConfig) -> None:
    """Refuse shapes that do not fit together, and numbers that are not finite."""
    d, dt, hd, inter = head.hidden, head.target_hidden, head.head_dim, tensors["gate"].shape[0]
    q, k = head.heads * hd, head.kv_heads * hd
    expected: dict[str, tuple[int, ...]] = {
        **{"fc": (d, 3 * dt), "q": (q, 2 * d), "k": (k, 2 * d), "v": (k, 2 * d), "o": (d, q)},
        **{"gate": (inter, d), "up": (inter, d), "down": (d, inter)},
        **dict.fromkeys(["embed_norm", "hidden_norm", "mlp_norm", "norm", "o_bias"], (d,)),
        **{"q_bias": (q,), "k_bias": (k,), "v_bias": (k,), "q_norm": (hd,), "k_norm": (hd,)},
        **{"input_norm": (3 * dt,), **{f"fc_norm_{i}": (dt,) for i in range(3)}},
        **{x: (len(tensors[x]), d) for x in ("lm_head", "embeddings") if x in tensors},
    }
    for name, tensor in tensors.items():
        if tuple(tensor.shape) != expected[name]:
            raise RheoError(
                f"The head's tensor {STORED[name]} has the shape {tuple(tensor.shape)} where an "
                f"EAGLE-3 head of width {d} has {expected[name]}."
            )
        # one pass without a copy: a float32 sum is finite only if all its terms are
        if not torch.isfinite(tensor.sum(dtype=torch.float32)):
            raise RheoError(f"The head's tensor {STORED[name]} holds NaN or infinite numbers.")


def _target_ids(tensors: dict[str, Tensor], vocab: int | None) -> Tensor | None:
    """Pop d2t and t2d; return the target's id of each draft id, None where they are the same."""
    rows = tensors["lm_head"].shape[0]
    d2t, t2d = tensors.pop("d2t", None), tensors.pop("t2d", None)
    if d2t is None:
        if vocab is not None and rows != vocab:
            raise RheoError(
                f"The head's file lacks the tensor d2t, which a draft vocabulary of {rows} out of "
                f"{vocab} needs."
            )
        return None
    if d2t.is_floating_point() or tuple(d2t.shape) != (rows,):
        raise RheoError(f"The head's tensor d2t is not one integer for each of {rows} draft ids.")
    ids = torch.arange(rows) + d2t.long()
    if ids[0] < 0 or not bool((ids.diff() > 0).all()):
        raise RheoError("The head's tensor d2t is not an offset: the target ids do not ascend.")
    size = vocab if t2d is None else t2d.numel()
    if rows == size and torch.equal(ids, torch.arange(rows)):
        return None  # heads that draft the whole vocabulary leave t2d unfilled
    if t2d is not None and not torch.equal(t2d.flatten().nonzero().flatten(), ids):
        raise RheoError("The head's tensors d2t and t2d name different target ids.")
    return ids
