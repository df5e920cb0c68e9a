"""Linear layers on weights that oneDNN has laid out once: faster where few rows meet a matrix."""

import torch
from torch import Tensor

from rheo.models.cpu.fused_linear import FusedLinear

_ROWS = 16  # rows that the layout is made for; it serves one row and hundreds nearly as well


def can_pack(weight: Tensor) -> bool:
    """Return whether this build of torch packs such a weight."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    return (
        weight.device.type == "cpu"
        and weight.dtype in (torch.float32, torch.bfloat16)
        and torch.backends.mkldnn.is_available()
        and all(hasattr(torch.ops.mkldnn, name) for name in operators)
        # an older CPU has no bfloat16 products there, and says so by raising
        and (weight.dtype == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )


class PackedLinear(FusedLinear):
    """A `FusedLinear` whose products oneDNN does, one pass with what follows them.

    The arithmetic is that of the weight's dtype; sums run in another order than torch's own.

    >>> layer = PackedLinear(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    >>> layer(torch.tensor([[1.0, 1.0]])).tolist(), layer.weight.tolist()
    ([[3.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]])
    """

    name = "packed"

    def _laid_out(self, weight: Tensor) -> Tensor:
        return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS)

    @property
    def weight(self) -> Tensor:
        """Return the weight (out, in) as a plain tensor, a new copy."""
        return self._weight.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        """Return the product (..., out) of x (..., in)."""
        return torch.ops.mkldnn._linear_pointwise(x, self._weight, self.bias, "none", [], "")

    def silu(self, x: Tensor) -> Tensor:
        """Return silu of the product (..., out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self._weight, self.bias, "swish", [], "")

    def plus(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product plus y (..., out)."""
        return torch.ops.mkldnn._linear_pointwise.binary(x, y, self._weight, self.bias, "add")

    def times(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product times y (..., out)."""
        return torch.ops.mkldnn._linear_pointwise.binary(x, y, self._weight, self.bias, "mul")
