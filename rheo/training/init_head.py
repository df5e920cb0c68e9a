"""Make a new EAGLE-3 head for a target, and write heads in the SafeAILab layout."""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.models.draft.checkpoints import STORED, Checkpoint
from rheo.models.draft.config import HeadSettings, head_config
from rheo.models.draft.eagle3 import Eagle3
from rheo.whole_file import whole_file

_LAYER = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj"}
_MLP = {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}


def draft_vocabulary(
    answers: Iterable[Tensor], vocab: int, size: int, always: Iterable[int] = ()
) -> tuple[Tensor, float]:
    """Return the `size` most frequent ids of some texts, ascending, and the share they cover.

    Ids in `always` (the ends of sequence) are in whatever their count; ties go to the lower id.

    >>> draft_vocabulary([torch.tensor([5, 5, 5, 2, 7])], 9, 2, always=[2])
    (tensor([2, 5]), 0.8)
    """
    counts = _counts(answers, vocab)
    wanted = counts.clone()
    wanted[list(always)] = counts.sum() + 1
    ids = wanted.sort(descending=True, stable=True).indices[:size].sort().values
    return ids, _share(counts, ids)


def coverage(answers: Iterable[Tensor], vocab: int, ids: Tensor | None) -> float:
    """Return the share of the tokens of some texts that are among `ids`; None is all of them."""
    return 1.0 if ids is None else _share(_counts(answers, vocab), ids.cpu())


def _counts(answers: Iterable[Tensor], vocab: int) -> Tensor:
    """Count how often each id occurs (vocab,)."""
    counts = torch.zeros(vocab, dtype=torch.int64)
    for answer in answers:
        counts += torch.bincount(answer, minlength=vocab)
    return counts


def _share(counts: Tensor, ids: Tensor) -> float:
    """Return the share of `ids` in all that was counted."""
    return counts[ids].sum().item() / max(1, counts.sum().item())


def head_settings(
    model: PreTrainedModel, draft_vocab: int, head_dim: int, bias: bool
) -> JsonObject:
    """Return the config.json of a SafeAILab head whose layer has the shape of the target's."""
    config = model.config.get_text_config()
    rope = dict(getattr(config, "rope_parameters", None) or {})
    theta = rope.pop("rope_theta", 10000.0)
    scaled = rope.get("rope_type", "default") != "default"
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "head_dim": head_dim,
        "num_hidden_layers": 1,
        "hidden_act": "silu",
        "attention_bias": bias,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": theta,
        **({"rope_scaling": rope} if scaled else {}),
        "vocab_size": model.get_output_embeddings().weight.shape[0],
        "draft_vocab_size": draft_vocab,
        "max_position_embeddings": config.max_position_embeddings,
        "torch_dtype": "float16",
        "tie_word_embeddings": False,
    }


def initial_head(model: PreTrainedModel, target_ids: Tensor) -> tuple[JsonObject, Checkpoint]:
    """Make a head before training, as near to the target's own last layer as its shape allows.

    Attention and MLP are the target's last layer: the halves of q, k, v that read the hidden state
    are its own, those that read the embedding start at zero, fc copies the highest feature.

    Returns:
        The config.json, and the checkpoint in float32.

    Raises:
        RheoError: the target has no layer of that kind.
    """
    decoder = model.get_decoder()
    layer, d = decoder.layers[-1], model.config.get_text_config().hidden_size
    try:
        attention, mlp = layer.self_attn, layer.mlp
        tensors = {ours: getattr(attention, name).weight for ours, name in _LAYER.items()}
        tensors |= {ours: getattr(mlp, name).weight for ours, name in _MLP.items()}
        norms = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
    except AttributeError as error:
        raise RheoError(
            f"No head can start from the layers of {type(model).__name__} ({error}); Llama, Qwen2, "
            "Qwen3 and Mistral targets work."
        ) from error
    tensors |= {"embed_norm": torch.ones(d), "hidden_norm": norms[0], "mlp_norm": norms[1]}
    tensors |= {"norm": decoder.norm.weight, "lm_head": model.get_output_embeddings().weight}
    tensors["lm_head"] = tensors["lm_head"][target_ids]
    tensors["fc"] = torch.cat([torch.zeros(d, 2 * d), torch.eye(d)], dim=-1)
    for x in "qkv":
        tensors[x] = torch.cat([torch.zeros_like(tensors[x]), tensors[x]], dim=-1)
        bias = getattr(attention, _LAYER[x]).bias
        tensors |= {} if bias is None else {f"{x}_bias": bias}
    if hasattr(attention, "q_norm"):
        tensors |= {f"{x}_norm": getattr(attention, f"{x}_norm").weight for x in "qk"}
    tensors = {name: x.detach().float().cpu().clone() for name, x in tensors.items()}
    config = head_settings(model, len(target_ids), attention.head_dim, "q_bias" in tensors)
    settings = HeadSettings.read(config)
    return config, Checkpoint(head_config(settings, tensors), tensors, target_ids)


def tensors_of(head: Eagle3) -> dict[str, Tensor]:
    """Return the weights of a head by our names, rows first, as a checkpoint holds them."""
    config = head.config
    found = {k: x.detach().T if x.ndim == 2 else x.detach() for k, x in head.weights.items()}
    rows = [config.heads * config.head_dim] + [config.kv_heads * config.head_dim] * 2
    found |= dict(zip("qkv", found.pop("qkv").split(rows), strict=True))
    if "qkv_bias" in found:
        names = ("q_bias", "k_bias", "v_bias")
        found |= dict(zip(names, found.pop("qkv_bias").split(rows), strict=True))
    found |= dict(zip(("gate", "up"), found.pop("gate_up").chunk(2), strict=True))
    return found


def save(head: Eagle3, config: JsonObject, folder: Path, embeddings: Tensor | None = None) -> None:
    """Write config.json and model.safetensors (float16) in the SafeAILab layout.

    `embeddings` are the head's own, None where it uses the target's.

    Raises:
        RheoError: a weight does not fit float16.
    """
    found = tensors_of(head) | ({} if embeddings is None else {"embeddings": embeddings})
    tensors = {STORED[name]: x.half().contiguous().cpu() for name, x in found.items()}
    bad = [name for name, x in tensors.items() if not torch.isfinite(x).all()]
    if bad:
        raise RheoError(f"The head's {bad[0]} has values beyond float16; lower the learning rate.")
    if head.target_ids is not None:
        ids = head.target_ids.cpu()
        tensors["d2t"] = ids - torch.arange(len(ids))
        known = torch.zeros(len(head.embeddings), dtype=torch.bool)
        tensors["t2d"] = known.index_fill_(0, ids, True)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / "model.safetensors") as part:
        save_file(tensors, part)
    text = json.dumps(config, indent=1) + "\n"
    with whole_file(folder / "config.json") as part:
        part.write_text(text, encoding="utf-8")
