"""How far the head's next-token law is from the target's, with gradients, a few rows at a time."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

_CHUNK = 64  # slots whose logits are held at once: larger chunks leave the cache of a CPU


def soft_loss(
    outputs: Tensor,
    lm_head: Tensor,
    last: Tensor,
    teacher: Tensor,
    weights: Tensor,
    tv: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Cross-entropy of the head's law q against the target's law p, blended with their distance.

    p is the target's softmax at temperature 1 over the draft vocabulary, renormalised. The blend
    is (1 - tv) * cross-entropy + tv * total variation; a drafted token is accepted with
    probability sum(min(p, q)), which is one minus the total variation.

    Args:
        outputs: (K, R, d) of the head after its norm, K depths of R slots.
        lm_head: (d, Vd).
        last: (R, dt) the target's last hidden state after its norm, of the token before the one
            that each slot predicts.
        teacher: (dt, Vd) the target's output matrix at the draft ids.
        weights: (K, R) of each term, 0 where a depth has no such slot.
        tv: share of the total variation, 0 to 1.
        dtype: of the matrix products; softmax, loss and sums are float32 throughout.

    Returns:
        The weighted sum over all slots and depths, a scalar with gradients in the first two.
    """
    return _SoftLoss.apply(outputs, lm_head, last, teacher, weights, tv, dtype)


class _SoftLoss(Function):
    """The gradient is worked out with the loss: the logits of all slots would not fit."""

    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, lm_head: Tensor, last: Tensor, teacher: Tensor,
        weights: Tensor, tv: float, dtype: torch.dtype,
    ) -> Tensor:  # fmt: skip
        depths, slots, d = outputs.shape
        head, teacher = lm_head.to(dtype), teacher.to(dtype)
        x = outputs.transpose(0, 1).contiguous().to(dtype)  # (R, K, d)
        # what each logit pulls, unweighted, kept in `dtype` for the two products at the end
        pulls = torch.empty(slots, depths, lm_head.shape[1], dtype=dtype, device=x.device)
        terms = torch.empty(slots, depths, device=x.device)
        for start in range(0, slots, _CHUNK):
            rows = slice(start, start + _CHUNK)
            p = (last[rows].to(dtype) @ teacher).float().softmax(-1)  # (r, Vd)
            terms[rows], pulls[rows] = _compare((x[rows] @ head).float(), p, tv)
        weights, flat = weights.T[..., None], pulls.flatten(0, 1)  # (R, K, 1), (R*K, Vd)
        d_outputs = (flat @ head.T).view(slots, depths, d).float() * weights
        d_head = ((x * weights.to(dtype)).flatten(0, 1).T @ flat).float()
        ctx.save_for_backward(d_outputs.transpose(0, 1), d_head)
        return (weights[..., 0] * terms).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor) -> tuple[Tensor | None, ...]:
        d_outputs, d_head = ctx.saved_tensors
        return d_outputs * d_loss, d_head * d_loss, None, None, None, None, None


def _compare(logits: Tensor, p: Tensor, tv: float) -> tuple[Tensor, Tensor]:
    """The loss (r, K) of logits (r, K, Vd) against p (r, Vd), and its gradient (r, K, Vd)."""
    log_q = logits.log_softmax(-1)
    entropy = -(log_q * p[:, None]).sum(-1)  # cross-entropy
    q, p = log_q.exp_(), p[:, None]
    if not tv:
        return entropy, q.sub_(p)
    distance = 1 - torch.minimum(p, q).sum(-1)
    rising = q * (q < p)  # where more q is more overlap
    away = q * rising.sum(-1, keepdim=True) - rising  # d distance / d logits
    return (1 - tv) * entropy + tv * distance, torch.lerp(q - p, away, tv)
