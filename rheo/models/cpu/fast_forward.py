"""Choose how a model runs on this CPU, by a trial at load, and check it against transformers."""

import time

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from rheo.errors import RheoError
from rheo.models.cpu.forwards import FORWARDS
from rheo.models.cpu.fused_linear import FusedLinear, OutputRows
from rheo.models.cpu.llama_forward import LlamaForward
from rheo.models.cpu.llama_shape import shape_misfit
from rheo.models.cpu.packed_linear import PackedLinear, can_pack

_TRIAL_ROWS = (1, 8, 32)  # of a plain step, of a small tree and of a larger one
_TRIALS = 5
_WORTH_A_TRIAL = 1 << 17  # numbers of a matrix
# Largest difference of a logit, as a share of the largest logit. Rounding gives 1e-5 in float32
# and 0.03 in bfloat16; a layer that is something else gives 1.
_AGREES = {torch.float32: 1e-3, torch.bfloat16: 0.15}


@torch.inference_mode()
def fast_forward(model: PreTrainedModel, asked: str = "auto") -> LlamaForward | None:
    """Return the faster pass of a model on this CPU; None where transformers' own is the one.

    Its linear layers are replaced then. "auto" tries both kinds of product on one of the model's
    own matrices for a few milliseconds and takes the faster.

    Args:
        model: in eval mode.
        asked: "auto", "packed" (oneDNN), "plain" (torch), or "transformers".

    Raises:
        RheoError: `asked` is none of these, or this model or machine cannot do it.
    """
    if asked not in FORWARDS:
        raise RheoError(f"There is no forward {asked!r}: choose one of {', '.join(FORWARDS)}.")
    if asked == "transformers":
        return None
    weight: Tensor = model.get_input_embeddings().weight  # type: ignore[assignment]
    why = None if weight.device.type == "cpu" else f"it is on {weight.device.type}"
    why = why or (None if model.dtype in _AGREES else f"its dtype is {model.dtype}")
    why = why or shape_misfit(model)
    if why is None and asked == "packed" and not can_pack(weight):
        why = "this build of torch has no packed products"
    if why is None:
        kind = _KINDS.get(asked) or fastest(model.get_decoder().layers[0].mlp.gate_proj.weight)
        forward = _checked(model, kind)
        if forward is not None:
            return forward
        why = "its logits would differ from those of transformers"
    if asked == "auto":
        return None
    raise RheoError(f"The {asked} forward cannot run this model ({why}): leave it at auto.")


_KINDS: dict[str, type[FusedLinear]] = {"packed": PackedLinear, "plain": FusedLinear}


def fastest(weight: Tensor) -> type[FusedLinear]:
    """Return the kind of product that is faster with a weight (out, in) at a tree's few rows.

    Of a small matrix a trial would be a toss, and the last bits would change from load to load.
    """
    if not can_pack(weight) or weight.numel() < _WORTH_A_TRIAL:
        return FusedLinear
    spent = {kind: _spent(kind(weight)) for kind in _KINDS.values()}
    return min(spent, key=spent.__getitem__)


def _spent(layer: FusedLinear) -> float:
    """Return the seconds that the trial's products take, the least of a few of each."""
    total = 0.0
    for rows in _TRIAL_ROWS:
        x = torch.ones(rows, layer.in_features, dtype=layer.weight.dtype)
        layer(x)
        times = []
        for _ in range(_TRIALS):
            start = time.perf_counter()
            layer(x)
            times.append(time.perf_counter() - start)
        total += min(times)
    return total


def _checked(model: PreTrainedModel, kind: type[FusedLinear]) -> LlamaForward | None:
    """Return the pass on such layers, or None with the layers put back if its logits differ."""
    vocab: int = model.config.vocab_size
    tokens = torch.arange(1, 9)[None] * 7919 % vocab  # (1, 8) any
    want = model(input_ids=tokens, use_cache=False).logits.float()
    forward = LlamaForward(model, kind)
    positions = torch.arange(tokens.shape[1])[None]
    got = forward(tokens, positions, None, DynamicCache(config=model.config))[0].float()
    if (got - want).abs().max() <= _AGREES[model.dtype] * want.abs().max():
        return forward
    _restore(model)
    return None


def _restore(model: PreTrainedModel) -> None:
    """Put plain linear layers back in place of the fused ones."""
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, FusedLinear | OutputRows):
                plain = nn.Linear(1, 1, bias=layer.bias is not None)
                plain.out_features, plain.in_features = layer.out_features, layer.in_features
                plain.weight = nn.Parameter(layer.weight.clone(), False)
                if layer.bias is not None:
                    plain.bias = nn.Parameter(layer.bias.clone(), False)
                setattr(parent, name, plain)
    model.tie_weights()
