"""Hidden states that a forward pass leaves behind for the draft head."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from rheo.errors import RheoError


class FeatureTaps:
    """Pre-hooks on the layers of a decoder that keep what goes into them.

    Hidden state i is the input of layer i, and the number of layers stands for the last layer's
    output before the final norm.

    Args:
        decoder: with `layers` and `norm`.
    """

    def __init__(self, decoder: nn.Module) -> None:
        self._places: list[nn.Module] = [*decoder.layers, decoder.norm]  # type: ignore[list-item, misc]
        self.layers: tuple[int, ...] = ()
        self._hooks: list[torch.utils.hooks.RemovableHandle] = []
        self._kept: dict[int, Tensor] = {}

    def move(self, layers: Sequence[int]) -> None:
        """Keep these hidden states from now on, in this order, instead of the former ones.

        Raises:
            RheoError: there is no such hidden state.
        """
        self.close()
        for index in layers:
            if not 0 <= index < len(self._places):
                raise RheoError(
                    f"Feature layer {index} does not exist: this target has 0 to "
                    f"{len(self._places) - 1}."
                )
        self.layers = tuple(layers)
        self._hooks = [self._hook(index) for index in self.layers]

    def _hook(self, index: int) -> torch.utils.hooks.RemovableHandle:
        def keep(module: nn.Module, args: tuple, kwargs: dict) -> None:
            self._kept[index] = args[0] if args else kwargs["hidden_states"]  # (1, n, d)

        return self._places[index].register_forward_pre_hook(keep, with_kwargs=True)

    def close(self) -> None:
        """Take the hooks off the model."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def put(self, states: Mapping[int, Tensor]) -> None:
        """Keep hidden states (1, n, d) of a pass that calls no hooks."""
        self._kept.update(states)

    def take(self, device: torch.device) -> Tensor | None:
        """Return the last pass's states (n, taps * d) side by side and forget them."""
        if not self.layers:
            return None
        parts = [self._kept[index][0].to(device) for index in self.layers]
        self._kept.clear()
        return torch.cat(parts, dim=-1)
