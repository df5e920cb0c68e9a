"""Pretrained causal LMs: loading them, and refusing what a tree mask would get wrong."""

import os
import pickle
from pathlib import Path

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from rheo.errors import RheoError, reason
from rheo.models.hub.loading_report import check_loaded
from rheo.models.target.cache_fit import cache_misfit

HEADROOM = 0.85  # of a device's free memory may be weights; the rest is cache and activations


def load_pretrained(
    folder_or_id: str,
    device: str | torch.device,
    dtype: torch.dtype | None,
    attn: str,
    token: str | None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model and its tokenizer as `Target.load` says: tensors only, no model's code."""
    device = torch.device(device)
    if dtype is None:
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    access = {"token": token, "trust_remote_code": False}
    # A ZeroGPU Space has its GPU later; until then `spaces` stands in for it, in this thread alone,
    # and transformers places weights from threads of its own: they are moved there afterwards.
    later = bool(os.getenv("SPACES_ZERO_GPU"))
    pickled = _pickled(Path(folder_or_id))
    model: PreTrainedModel
    report: dict[str, set]
    try:
        config = AutoConfig.from_pretrained(folder_or_id, **access)
        tokenizer = AutoTokenizer.from_pretrained(folder_or_id, **access)
        model, report = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
            folder_or_id,
            config=config,
            dtype=dtype,
            attn_implementation=attn,
            use_safetensors=not pickled,
            weights_only=True,  # a pickle may otherwise run any code
            device_map=_places(config, dtype, torch.device("cpu") if later else device),
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused by name, below
            **access,
        )
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except pickle.UnpicklingError as error:
        raise RheoError(
            f"The .bin weights of {folder_or_id} are damaged or hold more than plain tensors, and "
            "what a pickle asks for is not run; use .safetensors weights."
        ) from error
    except Exception as error:  # transformers and what it uses raise whatever they like
        raise RheoError(
            f"The target {folder_or_id} could not be loaded ({_why(error)}); recorded runs still "
            "play, and a folder with config.json, a tokenizer and .safetensors or .bin "
            "weights works offline."
        ) from error
    check_loaded(folder_or_id, model, report)
    return model.to(device) if later else model, tokenizer  # type: ignore[arg-type]


def _why(error: Exception) -> str:
    """Return the reason, a misleading one of transformers replaced.

    >>> _why(ValueError("`tiktoken` is required to read a `tiktoken` file."))
    'its tokenizer.model is damaged, or the packages sentencepiece and protobuf are not installed'
    """
    if "tiktoken" in str(error):  # what transformers tries last with a tokenizer.model
        return (
            "its tokenizer.model is damaged, or the packages sentencepiece and protobuf are not "
            "installed"
        )
    return reason(error)


def _pickled(folder: Path) -> bool:
    """Return whether a folder's only weights are .bin files."""
    return any(folder.glob("pytorch_model*.bin")) and not any(folder.glob("*.safetensors"))


def _places(
    config: PreTrainedConfig, dtype: torch.dtype, device: torch.device
) -> str | dict[str, torch.device]:
    """Return one device for all weights, or transformers' own spread over all GPUs."""
    return "auto" if too_large(config, dtype, device) else {"": device}


def check_supported(model: PreTrainedModel) -> None:
    """Refuse by name what a tree mask over one full cache would get wrong.

    Raises:
        RheoError: another layout than decoder.layers and decoder.norm, an attention kernel that
            takes no mask, sliding windows or other layer kinds, RoPE that changes with the length,
        keys and values that one cache of all layers does not hold.
    """
    config = model.config.get_text_config()
    decoder = model.get_decoder()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    window = getattr(config, "sliding_window", None)
    # A window as long as the context never hides a row, nor does one that no layer uses.
    if window is None or window >= config.max_position_embeddings or not _slides(model):
        window = None
        kinds -= {"sliding_attention"}
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    if not (hasattr(decoder, "layers") and hasattr(decoder, "norm")):
        why = "its layers are not laid out as in Llama"
    elif config._attn_implementation not in ("sdpa", "eager"):
        why = f"its attention is {config._attn_implementation!r}, which takes no tree mask"
    elif window or kinds:
        why = f"it has {', '.join(sorted(kinds)) or 'sliding_attention'} layers"
    elif rope in ("dynamic", "longrope"):
        why = f"its rotary embedding ({rope}) changes with the length"
    elif misfit := cache_misfit(model):
        why = misfit
    else:
        return
    raise RheoError(
        f"{type(model).__name__} cannot be a target because {why}; Llama, Qwen2, Qwen3 and "
        "Mistral models with full attention (sdpa or eager) work."
    )


def _slides(model: PreTrainedModel) -> bool:
    """Return whether any layer may use the window; each layer of a family that mixes says so."""
    layers = getattr(model.get_decoder(), "layers", ())
    attentions = [getattr(layer, "self_attn", None) for layer in layers]
    return any(getattr(x, "sliding_window", 0) is not None for x in attentions)


def eos_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> frozenset[int]:
    """Return the end-of-sequence ids of the generation config, of the config and the tokenizer.

    A fine-tune may end its turns with a token that only its tokenizer names.
    """
    found: set[int] = set()
    for config in (model.generation_config, model.config.get_text_config(), tokenizer):
        ids = getattr(config, "eos_token_id", None)
        found |= {ids} if isinstance(ids, int) else set(ids or ())
    return frozenset(found)


def execution_device(module: nn.Module) -> torch.device:
    """Return where a module computes: its weights' device, or where accelerate sends them."""
    hook = getattr(module, "_hf_hook", None)
    device = getattr(hook, "execution_device", None)
    return torch.device(device) if device is not None else next(module.parameters()).device


def too_large(config: PreTrainedConfig, dtype: torch.dtype, device: torch.device) -> bool:
    """Return whether the weights fill more of this GPU than the cache can spare; not on a CPU."""
    if device.type != "cuda":
        return False
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    size = sum(weight.numel() for weight in model.parameters()) * dtype.itemsize
    return size > HEADROOM * torch.cuda.mem_get_info(device)[0]
