"""Where a model runs."""

import torch

from rheo.errors import RheoError


def usable(name: str | None) -> str | None:
    """`name` itself, once something has been put there; None leaves the choice to the engine.

    Raises:
        RheoError: there is no such device here.
    """
    try:
        if name is not None:
            torch.empty(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError):
        raise RheoError(
            f"The device {name!r} cannot be used here: leave --device out to get what there is."
        ) from None
    return name
