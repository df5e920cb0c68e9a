"""Distributions at one node: the support, the tail, the target, and draws by inverse CDF.

Every function takes any leading axes `...` and any float dtype, waits for no host, and draws
nothing itself: a uniform comes in, an outcome goes out (algorithm section 2, steps 1-3 and 7).
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Support(NamedTuple):
    """The S largest draft logits of a row in the order (logit descending, id ascending)."""

    ids: Tensor  # (..., S) int64, the draft's ids
    log_q: Tensor  # (..., S) log q: softmax over the support, untempered
    logits: Tensor  # (..., S) as the draft gave them
    coverage: Tensor  # (...) q's mass, before truncation, on the support


def order(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest values and their ids, by (value descending, id ascending).

    `topk` may return equal values in any order, so a float's bits and its id are packed into one
    integer key, which has no ties. Wider floats do not fit the key: they are sorted stably.

    >>> order(torch.tensor([1.0, 3.0, 1.0, 3.0]), 3)[1].tolist()
    [1, 3, 0]
    """
    width = logits.shape[-1]
    if logits.dtype == torch.float64 or count >= width:
        values, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
        return values[..., :count], ids[..., :count]
    bits = (logits.float() + 0.0).view(torch.int32)  # + 0.0 turns -0.0 into 0.0
    ascending = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # integers in the order of the floats
    ids = torch.arange(width, device=logits.device)
    keys = (ascending.long() << 32) | (0xFFFFFFFF - ids)
    ids = 0xFFFFFFFF - (keys.topk(count, dim=-1).values & 0xFFFFFFFF)
    return logits.gather(-1, ids), ids


def support(logits: Tensor, S: int | None) -> Support:
    """Truncate draft logits (..., Vd) to their S largest; None keeps all."""
    width = logits.shape[-1]
    values, ids = order(logits, width if S is None else min(S, width))
    log_mass = values.logsumexp(-1)  # (...)
    coverage = (log_mass - logits.logsumexp(-1)).exp().clamp(max=1.0)
    return Support(ids, values - log_mass[..., None], values, coverage)


def log_tail_mass(s: Support, m: int) -> Tensor:
    """Return log z (...): the support's mass outside its top m.

    A logsumexp of the tail itself, never log(1 - sum of the top m): that cancels in float32.
    """
    return s.log_q[..., m:].logsumexp(-1)


def tempered(logits: Tensor, T: float) -> Tensor:
    """Return logits (..., n) / T, T > 0, with the largest of a row moved to 0.

    What a softmax or logsumexp makes of them is the same; but a float's distance to the best logit
    survives the division, so that ties at a tiny T stay ties.

    >>> tempered(torch.tensor([20.0, 20.0, 1.0]), 1e-6).softmax(-1)
    tensor([0.5000, 0.5000, 0.0000])
    """
    below = logits - logits.max(-1, keepdim=True).values
    return below / max(T, torch.finfo(logits.dtype).tiny)  # a smaller T is 0 to the division


def tail(s: Support, m: int, T: float) -> Tensor:
    """Return q-tilde (..., S): the support outside the top m (0 there) at T, renormalised.

    T = 0 is one-hot at the best tail token. A tail without mass (only an explicit zero in q makes
    one) gives zeros: there is no probe.

    >>> s = support(torch.tensor([0.5, 0.3, 0.2]).log(), None)
    >>> tail(s, 1, 1.0)
    tensor([0.0000, 0.6000, 0.4000])
    """
    logits = s.logits[..., m:]  # (..., S - m)
    if T == 0:
        mass = (torch.arange(logits.shape[-1], device=logits.device) == 0).to(logits.dtype)
        mass = mass.expand(logits.shape)
    else:
        mass = tempered(logits, T).softmax(-1)
    alive = logits[..., :1] > -torch.inf
    return torch.nn.functional.pad(torch.where(alive, mass, 0.0), (m, 0))


def target_distribution(logits: Tensor, T: float, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """Return p (..., V), float32 or better: temperature, then top-k, then top-p, as in sampling.

    T = 0 is one-hot at the best token, the lowest id among equals.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if T == 0:
        best = logits.argmax(-1, keepdim=True)  # (..., 1), the first of equals
        return torch.zeros_like(logits).scatter(-1, best, 1.0)
    logits = tempered(logits, T)
    if 0 < top_k < logits.shape[-1]:
        worst = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < worst, -torch.inf)
    if top_p < 1:
        ascending, ids = logits.sort(-1)
        outside = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
        outside[..., -1] = False  # the best token always stays
        logits = logits.masked_fill(outside.scatter(-1, ids, outside), -torch.inf)
    return logits.softmax(-1)


def locate(masses: Tensor, x: Tensor) -> Tensor:
    """Return the index (...) whose interval of the running sum of `masses` (..., n) holds x.

    This inverts the CDF: index i is returned exactly when sum(masses[:i]) <= x < sum(masses[:i+1]),
    so an index without mass never is; sums are float64. An x at or past the total (rounding) gives
    the last index that has mass, and one below 0 the first.

    >>> locate(torch.tensor([0.2, 0.0, 0.8]), torch.tensor(0.2)).item()
    2
    """
    return locate_in(masses.cumsum(-1, dtype=torch.float64), x)


def locate_in(cumulative: Tensor, x: Tensor) -> Tensor:
    """Do as `locate`, given the running sum itself (..., n) float64."""
    x = x.double().clamp(min=0.0)[..., None]
    index = torch.searchsorted(cumulative, x, right=True)
    last = torch.searchsorted(cumulative, cumulative[..., -1:].contiguous())
    return torch.minimum(index, last)[..., 0]


def draw(masses: Tensor, uniform: Tensor) -> Tensor:
    """Draw an index (...) from masses (..., n), which need no norm: `locate` at the share `uniform`
    (...) of their total."""
    return locate(masses, uniform.double() * masses.sum(-1, dtype=torch.float64))
