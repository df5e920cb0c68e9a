"""The weights of a draft head by name, and the operations that read them."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rheo.models.cpu.fused_linear import FusedLinear


class HeadWeights(nn.ParameterDict):
    """Matrices (in, out), vectors and biases of a head; matrices may be packed.

    Args:
        tensors: by name; the bias of matrix `name` is `name_bias`.
        device, dtype: of the weights.
        eps: of the norms.
        linear: what the products run on, such as `PackedLinear`, which then holds the matrices;
            None leaves them parameters, which can be trained.

    >>> weights = HeadWeights({"fc": torch.eye(2), "fc_bias": torch.ones(2)})
    >>> weights.product(torch.tensor([[1.0, 2.0]]), "fc").tolist()
    [[2.0, 3.0]]
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        eps: float = 1e-6,
        linear: type[FusedLinear] | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self._packed: dict[str, FusedLinear] = {}
        for name, tensor in tensors.items():
            placed = tensor.to(device, dtype)
            if linear is not None and placed.ndim == 2:
                self._packed[name] = linear(placed.T)
            else:
                self[name] = nn.Parameter(placed, False)

    def product(self, x: Tensor, name: str) -> Tensor:
        """Return x (..., in) times matrix `name`, plus its bias where it has one: (..., out)."""
        y = self._packed[name](x) if name in self._packed else x @ self[name]
        bias = f"{name}_bias"
        return y + self[bias] if bias in self else y

    def rms_norm(self, x: Tensor, name: str) -> Tensor:
        """Return x (..., d) after the RMS norm `name`."""
        return F.rms_norm(x, self[name].shape, self[name], self.eps)
