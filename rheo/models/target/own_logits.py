"""The model's own way from its last hidden states to logits, for all tokens or for some.

Families differ in what they do around the output matrix: granite divides by a scale, cohere
multiplies by one, gemma bounds logits softly. A plain product with the matrix gives another
distribution, so the model's own `forward` does it, with everything before and inside replaced.
"""

import copy
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import MoeModelOutputWithPast

from rheo.errors import RheoError


class OwnLogits:
    """A function from last hidden states (..., d), after the final norm, to logits.

    Args:
        model: its weights are shared, not copied, unless `ids` or `dtype` ask for others.
        ids: (Vd,) tokens whose logits are wanted, None for all.
        dtype: of the product; the hidden states are cast to it. None is the output matrix's.

    Raises:
        RheoError: the model has no decoder and output matrix as parts of its own.
    """

    def __init__(
        self, model: PreTrainedModel, ids: Tensor | None = None, dtype: torch.dtype | None = None
    ) -> None:
        self._given = _Given()
        self._forward = copy.copy(model)  # shallow: what is replaced below is its own alone
        self._forward.__dict__.pop("forward", None)  # accelerate's, bound to the model itself
        self._forward._modules = dict(model._modules)
        self._replace(model.get_decoder(), self._given)
        if ids is not None or dtype is not None:
            whole = model.get_output_embeddings()
            self._replace(whole, _Rows(whole, ids, dtype or whole.weight.dtype))

    def _replace(self, old: nn.Module, new: nn.Module) -> None:
        """Put a part in the place of another. Raises RheoError where the model has no such part."""
        parts = self._forward._modules
        for name in [name for name, part in parts.items() if part is old]:
            parts[name] = new
            return
        raise RheoError(
            f"The logits of {type(self._forward).__name__} do not come from its last hidden states "
            "in a way known here; Llama, Qwen2, Qwen3 and Mistral models work."
        )

    def __call__(self, hidden: Tensor) -> Tensor:
        """Return logits (..., V or Vd) in the dtype of the product."""
        self._given.hidden = hidden.reshape(1, -1, hidden.shape[-1])
        try:
            logits: Tensor = self._forward(input_ids=None, use_cache=False).logits
        finally:
            self._given.hidden = None
        return logits.view(*hidden.shape[:-1], -1)


class _Given(nn.Module):
    """Stands where the decoder was, and returns the hidden states it was given."""

    hidden: Tensor | None = None

    def forward(self, **_: object) -> MoeModelOutputWithPast:
        return MoeModelOutputWithPast(last_hidden_state=self.hidden)  # type: ignore[arg-type]


class _Rows(nn.Module):
    """The output matrix at some tokens."""

    def __init__(self, whole: nn.Module, ids: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        weight = cast(Tensor, whole.weight).detach().to(dtype)  # (V, d)
        bias: Tensor | None = getattr(whole, "bias", None)
        # input first where it is a copy anyway: a product of few rows is then faster
        self.columns = weight.T if ids is None else weight[ids].T.contiguous()  # (d, V or Vd)
        self.weight = self.columns.T  # as families that ask for its dtype know it
        if bias is not None:
            bias = bias.detach().to(dtype) if ids is None else bias.detach()[ids].to(dtype)
        self.bias = bias

    def forward(self, hidden: Tensor) -> Tensor:
        logits = hidden.to(self.columns.dtype) @ self.columns
        return logits if self.bias is None else logits + self.bias
