"""Unroll an EAGLE-3 head over whole texts, as decoding unrolls it below the root of a tree.

Step 0 reads the target's features at every slot. Step k reads, at slot t, the output of step k - 1
at slot t - 1: it is a chain of k drafted tokens below the root of slot t - k, so it attends to the
true rows up to that slot, then to its own ancestors, one from each step, and itself.
Training on this is EAGLE-3's training-time test (arXiv 2503.01840).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from rheo.models.draft.eagle3 import Eagle3


class UnrolledHead(Eagle3):
    """An `Eagle3` over batches of texts, with gradients; its layer is decoding's own."""

    def trainable(self) -> "UnrolledHead":
        """Let every weight but the embeddings, which are the target's, take gradients."""
        self.weights.requires_grad_(True)
        return self

    def unroll(self, tokens: Tensor, features: Tensor, steps: int) -> Tensor:
        """Return the outputs of all slots of a batch, at every depth.

        Args:
            tokens: (B, S + 1) int64; shorter texts are padded at their end with any token.
            features: (B, S, 3dt) of all tokens but the last.
            steps: K, how deep: step k is k levels below the root.

        Returns:
            (K, B, S, d) after the final norm, to be multiplied by lm_head. Slot t of any step
            predicts token t + 2. Slots t < k of step k, whose root would lie before the text,
            are meaningless.
        """
        texts, slots = features.shape[:2]
        flat = tokens[:, 1:].flatten()  # (B*S,)
        cos, sin = self._angles(slots, texts)
        hidden = self._fuse_features(features.flatten(0, 1)).float()  # (B*S, d)
        keys, values, outputs = [], [], []
        for _ in range(steps):
            a, residual = self._join(flat, hidden)
            q, k, v = self._project(a, cos, sin)  # (heads, B*S, hd)
            keys.append(self._by_text(k, texts))
            values.append(self._by_text(v, texts))
            attention = attend(self._by_text(q, texts), keys, values)  # (Hkv, B, G, S, hd)
            attention = attention.transpose(1, 2).reshape(q.shape)
            out = self._finish(residual, attention).float()
            normed = self.weights.rms_norm(out, "norm")
            outputs.append(normed.view(texts, slots, -1))
            below = normed if self.norm_output else out
            hidden = later(below.view(texts, slots, -1), 1).flatten(0, 1)
        return torch.stack(outputs)

    def _angles(self, slots: int, texts: int) -> tuple[Tensor, Tensor]:
        """Return cos and sin (B*S, hd) of every slot of every text."""
        weight = self.weights["norm"]
        positions = torch.arange(slots, device=weight.device)[None]
        cos, sin = self.rotary(weight.detach(), positions)  # (1, S, hd)
        return cos[0].repeat(texts, 1), sin[0].repeat(texts, 1)

    def _by_text(self, x: Tensor, texts: int) -> Tensor:
        """Reshape (heads, B*S, hd) to (Hkv, B, heads / Hkv, S, hd), float32."""
        grouped = x.float().view(self.config.kv_heads, -1, texts, x.shape[1] // texts, x.shape[2])
        return grouped.transpose(1, 2)


def later(x: Tensor, by: int) -> Tensor:
    """Move the rows (..., S, width) by `by` slots towards the end, zeros before them.

    >>> later(torch.tensor([[1.0], [2.0], [3.0]]), 1).flatten().tolist()
    [0.0, 1.0, 2.0]
    """
    return F.pad(x[..., : x.shape[-2] - by, :], (0, 0, by, 0))


@torch.autocast("cpu", enabled=False)
@torch.autocast("cuda", enabled=False)
def attend(q: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
    """Compute the attention of the newest step's slots to the true rows and their own chain.

    Args:
        q: (Hkv, B, G, S, hd) of step k.
        keys, values: k + 1 tensors (Hkv, B, 1, S, hd), of steps 0 to k.

    Returns:
        (Hkv, B, G, S, hd).
    """
    step, (groups, slots, width) = len(keys) - 1, q.shape[-3:]
    q = q * width**-0.5
    # the ancestor of step j stands k - j slots before; the last is the slot itself
    chain = [later(key, step - j) for j, key in enumerate(keys) if j]
    unseen = torch.ones(slots, slots, dtype=torch.bool, device=q.device).triu(1 - step)
    # query heads that share a key head are rows of one product: no copy of the keys
    true = (q.flatten(2, 3) @ keys[0].squeeze(2).transpose(-1, -2)).unflatten(2, (groups, slots))
    own = [(q * key).sum(-1, keepdim=True) for key in chain]  # (..., S, 1) each
    shares = torch.cat([true.masked_fill(unseen, -torch.inf), *own], dim=-1).softmax(-1)
    mixed = (shares[..., :slots].flatten(2, 3) @ values[0].squeeze(2)).view_as(q)
    for j, value in enumerate(values[1:], start=1):
        mixed = mixed + shares[..., slots + j - 1, None] * later(value, step - j)
    return mixed
