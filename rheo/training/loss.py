"""Measure how far a head's distribution is from the target's, with gradients, chunk by chunk."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable

_CHUNK = 64  # slots whose logits are held at once: larger chunks leave the cache of a CPU


def soft_loss(
    outputs: Tensor,
    lm_head: Tensor,
    last: Tensor,
    teacher: Callable[[Tensor], Tensor],
    weights: Tensor,
    tv: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the cross-entropy of the head's q against the target's p, blended with their distance.

    p is the target's softmax at temperature 1 over the draft vocabulary, renormalised. The blend
    is (1 - tv) * cross-entropy + tv * total variation; a drafted token is accepted with
    probability sum(min(p, q)), which is one minus the total variation.

    Args:
        outputs: (K, R, d) of the head after its norm, K depths of R slots.
        lm_head: (d, Vd).
        last: (R, dt) the target's last hidden state after its norm, of the token before the one
            that each slot predicts.
        teacher: from rows of `last` to the target's logits (r, Vd) at the draft ids.
        weights: (K, R) of each term, 0 where a depth has no such slot.
        tv: share of the total variation, 0 to 1.
        dtype: of the matrix products; softmax, loss and sums are float32 throughout.

    Returns:
        The weighted sum over all slots and depths, a scalar with gradients in the first two.
    """
    loss: Tensor = _SoftLoss.apply(outputs, lm_head, last, teacher, weights, tv, dtype)
    return loss


class _SoftLoss(Function):
    """The loss with its gradient, worked out together: the logits of all slots would not fit."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, outputs: Tensor, lm_head: Tensor, last: Tensor,
        teacher: Callable[[Tensor], Tensor], weights: Tensor, tv: float, dtype: torch.dtype,
    ) -> Tensor:  # fmt: skip
        depths, slots, d = outputs.shape
        lm_head = lm_head.to(dtype)
        x = outputs.transpose(0, 1).contiguous().to(dtype)  # (R, K, d)
        # d term / d logit, unweighted, kept in `dtype` for the two products at the end
        d_logits = torch.empty(slots, depths, lm_head.shape[1], dtype=dtype, device=x.device)
        terms = torch.empty(slots, depths, device=x.device)
        for start in range(0, slots, _CHUNK):
            rows = slice(start, start + _CHUNK)
            p = teacher(last[rows]).float().softmax(-1)  # (r, Vd)
            terms[rows], d_logits[rows] = _compare((x[rows] @ lm_head).float(), p, tv)
        weights, flat = weights.T[..., None], d_logits.flatten(0, 1)  # (R, K, 1), (R*K, Vd)
        d_outputs = (flat @ lm_head.T).view(slots, depths, d).float() * weights
        d_lm_head = ((x * weights.to(dtype)).flatten(0, 1).T @ flat).float()
        ctx.save_for_backward(d_outputs.transpose(0, 1), d_lm_head)
        return (weights[..., 0] * terms).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, d_loss: Tensor) -> tuple[Tensor | None, ...]:
        saved: tuple[Tensor, ...] = ctx.saved_tensors
        d_outputs, d_lm_head = saved
        return d_outputs * d_loss, d_lm_head * d_loss, None, None, None, None, None


def _compare(logits: Tensor, p: Tensor, tv: float) -> tuple[Tensor, Tensor]:
    """Return the loss (r, K) of logits (r, K, Vd) against p (r, Vd), and its gradient in them."""
    log_q = logits.log_softmax(-1)
    cross_entropy = -(log_q * p[:, None]).sum(-1)
    q, p = log_q.exp_(), p[:, None]
    if not tv:
        return cross_entropy, q.sub_(p)
    distance = 1 - torch.minimum(p, q).sum(-1)
    rising = q * (q < p)  # where more q is more overlap
    away = q * rising.sum(-1, keepdim=True) - rising  # d distance / d logits
    return (1 - tv) * cross_entropy + tv * distance, torch.lerp(q - p, away, tv)
