"""Two causal LMs as the tables of a small world."""

import torch
from torch import Tensor

from rheo.exact.worlds import Tables, contexts


def tables_of(draft, target, root: int, depth: int) -> Tables:
    """Return the tables of two causal LMs behind a fixed root token."""
    V = target.config.vocab_size

    def logits(model) -> Tensor:
        with torch.inference_mode():
            rows = [model(torch.tensor([[root, *c]])).logits[0, -1] for c in contexts(V, depth)]
        return torch.stack(rows).clone()

    return Tables(logits(draft), logits(target))
