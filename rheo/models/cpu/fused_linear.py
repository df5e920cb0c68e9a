"""Linear layers without gradients, together with what follows them: the seam for fast products."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class FusedLinear(nn.Module):
    """A linear layer x @ weight.T + bias that can be fused with the operation behind it.

    This one shares the weight it is given and leaves the product to torch; subclasses know better.
    It stands in for `nn.Linear`: transformers' own forward runs on it as well.

    Args:
        weight: (out, in), any float dtype.
        bias: (out,) or None.

    >>> layer = FusedLinear(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    >>> x = torch.tensor([[1.0, 1.0]])
    >>> layer(x).tolist(), layer.plus(x, 10 * x).tolist(), layer.times(x, 10 * x).tolist()
    ([[3.0, 1.0]], [[13.0, 11.0]], [[30.0, 10.0]])
    """

    name = "plain"  # among `forwards.FORWARDS`
    bias: Tensor | None
    _weight: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        # plain attributes: an opaque layout has no storage that `to` could read
        self._weight = self._laid_out(weight.detach())
        self.bias = None if bias is None else bias.detach()

    def _laid_out(self, weight: Tensor) -> Tensor:
        """Return the weight as the products want it."""
        return weight

    @property
    def weight(self) -> Tensor:
        """Return the weight (out, in) as a plain tensor; where it is packed, a new copy."""
        return self._weight

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: the weight as a plain tensor."""
        return {**self.__dict__, "_weight": self.weight}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._weight = self._laid_out(self._weight)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        _save(self, destination, prefix)

    def forward(self, x: Tensor) -> Tensor:
        """Return the product (..., out) of x (..., in)."""
        return F.linear(x, self._weight, self.bias)

    def silu(self, x: Tensor) -> Tensor:
        """Return silu of the product (..., out)."""
        return F.silu(self(x))

    def plus(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product plus y (..., out)."""
        return y + self(x)

    def times(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product times y (..., out)."""
        return y * self(x)


class OutputRows(nn.Module):
    """Some outputs of a merged layer, for code that asks for the layers it was merged from.

    Args:
        merged: the layer.
        start, stop: the outputs, a range of its `out_features`.
    """

    def __init__(self, merged: FusedLinear, start: int, stop: int) -> None:
        super().__init__()
        self._merged, self._rows = (merged,), slice(start, stop)  # a tuple hides it: one owner
        self.out_features, self.in_features = stop - start, merged.in_features

    @property
    def weight(self) -> Tensor:
        """Return these rows (out, in) of the merged weight."""
        return self._merged[0].weight[self._rows]

    @property
    def bias(self) -> Tensor | None:
        """Return these rows (out,) of the merged bias."""
        bias = self._merged[0].bias
        return None if bias is None else bias[self._rows]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        _save(self, destination, prefix)

    def forward(self, x: Tensor) -> Tensor:
        """Return these outputs (..., out) of the whole product."""
        return self._merged[0](x)[..., self._rows]


def _save(layer: FusedLinear | OutputRows, destination: Any, prefix: str) -> None:
    """Write copies of a layer's weights, so that a model that is saved has them all."""
    for name in ("weight", "bias"):
        if (value := getattr(layer, name)) is not None:
            destination[prefix + name] = value.clone()


def merged(layers: list[nn.Linear], kind: type[FusedLinear]) -> FusedLinear:
    """Return one layer of the outputs of several, side by side."""
    biased = layers[0].bias is not None
    bias = torch.cat(tuple(layer.bias for layer in layers)) if biased else None
    return kind(torch.cat(tuple(layer.weight for layer in layers)), bias)
