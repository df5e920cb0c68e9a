"""A tiny pair for every test of the bench."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from rheo.decoding.engine import Engine
from rheo.models.hub.catalogue import custom
from rheo.models.loader import load_pair
from tests.tiny import tiny_folder


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    """A tiny target, drafted by itself with a little noise on its weights."""
    folder = tmp_path_factory.mktemp("pair")
    target, draft = (tiny_folder(folder / name, seed=0) for name in ("target", "draft"))
    weights = load_file(draft / "model.safetensors")
    noise = torch.Generator().manual_seed(1)
    for name, x in weights.items():
        weights[name] = x + 0.02 * torch.randn(x.shape, generator=noise)
    save_file(weights, draft / "model.safetensors", metadata={"format": "pt"})
    return Engine(load_pair(custom(str(target), str(draft))))
