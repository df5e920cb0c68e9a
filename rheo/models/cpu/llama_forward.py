"""One forward pass of a Llama-shaped model on a CPU: few operations, fused products."""

from collections.abc import Collection

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Cache, PreTrainedModel

from rheo.models.cpu.fused_linear import FusedLinear, OutputRows, merged


class LlamaForward:
    """The decoder of a Llama, Mistral, Qwen2 or Qwen3 model, over its own weights.

    It reads and writes the keys and values that transformers' forward does, so both may take turns
    with one cache. The model's linear layers are replaced by fused ones, and q, k and v merged:
    the weights are held once (a matrix tied to the embeddings twice, where it is packed), and
    transformers' forward still works, on the new layers.

    Args:
        model: see `llama_shape`; its linear layers are replaced.
        linear: what they become.
    """

    def __init__(self, model: PreTrainedModel, linear: type[FusedLinear]) -> None:
        config, decoder = model.config, model.get_decoder()
        embeddings: nn.Embedding = model.get_input_embeddings()  # type: ignore[assignment]
        self.linear = linear
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.width: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self._embeddings = embeddings.weight.detach()
        self._rotary = decoder.rotary_emb
        self._layers = [_Layer(layer, linear) for layer in decoder.layers]
        self._norm = _Norm(decoder.norm)
        model.set_output_embeddings(linear(model.get_output_embeddings().weight))
        self._head: FusedLinear = model.get_output_embeddings()

    def __call__(
        self,
        tokens: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        cache: Cache,
        taps: Collection[int] = (),
        keep: int = 0,
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """Run rows behind those of the cache.

        Args:
            tokens, positions: (b, n) int64.
            mask: (b or 1, 1, n or 1, columns) bool, or additive in the model's dtype; None is
                causal from the first column, or one row that sees every column.
            taps: hidden states to return: i is the input of layer i, their number the last output.
            keep: rows whose logits are wanted, counted from the last; 0 is all.

        Returns:
            Logits (b, n or keep, V), and the tapped states (b, n, d).
        """
        shape = tokens.shape
        x = F.embedding(tokens, self._embeddings).flatten(0, 1)  # (b * n, d)
        attention = _Attention(self, x, positions, mask, cache)
        states: dict[int, Tensor] = {}
        for index, layer in enumerate(self._layers):
            if index in taps:
                states[index] = x.view(*shape, -1)
            x = layer.o.plus(attention(layer, index, layer.norm(x)), x)
            z = layer.mlp_norm(x)
            x = layer.down.plus(layer.up.times(z, layer.gate.silu(z)), x)
        if len(self._layers) in taps:
            states[len(self._layers)] = x.view(*shape, -1)
        kept = x.view(*shape, -1)[:, -keep:]  # -0 is 0: all
        logits: Tensor = self._head(self._norm(kept.flatten(0, 1)))
        return logits.view(shape[0], -1, self._head.out_features), states


class _Norm:
    """An RMS norm, as a plain call."""

    def __init__(self, module: nn.Module) -> None:
        self.weight: Tensor = module.weight.detach()  # type: ignore[operator, union-attr]
        self.eps: float = module.variance_epsilon  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if x.dtype == torch.float32:
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        # as transformers does: normed in float32, rounded, and only then scaled
        return F.rms_norm(x.float(), self.weight.shape, None, self.eps).to(x.dtype) * self.weight


class _Layer:
    """The weights of one layer; those that `layer` had are let go of."""

    def __init__(self, layer: nn.Module, linear: type[FusedLinear]) -> None:
        attention: nn.Module = layer.self_attn  # type: ignore[assignment]
        mlp: nn.Module = layer.mlp  # type: ignore[assignment]
        self.norm = _Norm(layer.input_layernorm)  # type: ignore[arg-type]
        self.mlp_norm = _Norm(layer.post_attention_layernorm)  # type: ignore[arg-type]
        self.q_norm, self.k_norm = (
            _Norm(norm) if isinstance(norm := getattr(attention, name, None), nn.Module) else None
            for name in ("q_norm", "k_norm")
        )
        self.qkv = merged([getattr(attention, f"{name}_proj") for name in "qkv"], linear)
        start = 0
        for name in ("q_proj", "k_proj", "v_proj"):
            stop = start + getattr(attention, name).out_features
            setattr(attention, name, OutputRows(self.qkv, start, stop))
            start = stop
        self.o = _replaced(attention, "o_proj", linear)
        self.gate, self.up, self.down = (
            _replaced(mlp, name, linear) for name in ("gate_proj", "up_proj", "down_proj")
        )


def _replaced(parent: nn.Module, name: str, linear: type[FusedLinear]) -> FusedLinear:
    """Replace a linear layer by a fused one and return that."""
    layer = getattr(parent, name)
    fused = linear(layer.weight, layer.bias)
    setattr(parent, name, fused)
    return fused


class _Attention:
    """What the layers of one pass share: the angles of its rows, its mask and its cache."""

    def __init__(
        self, model: LlamaForward, x: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> None:
        (self.texts, self.rows), self.cache = positions.shape, cache
        self.heads, self.kv_heads, self.width = model.heads, model.kv_heads, model.width
        cos, sin = model._rotary(x, positions)  # (b, n, hd) each
        low, high = sin[:, None].chunk(2, dim=-1)
        # (b, 1, n, hd): the second half turns with the sine, the first against it
        self.cos, self.sin = cos[:, None], torch.cat([-low, high], dim=-1)
        self.causal = mask is None and self.rows > 1
        if mask is not None and mask.shape[2] > 1:
            mask = mask.repeat(1, 1, self.heads // self.kv_heads, 1)
        self.mask = mask

    def __call__(self, layer: _Layer, index: int, x: Tensor) -> Tensor:
        """Return the heads' outputs (b * n, H * hd) of normed rows (b * n, d)."""
        H, G = self.heads, self.kv_heads
        # (b, H + 2G, n, hd)
        y = layer.qkv(x).view(self.texts, self.rows, H + 2 * G, self.width).transpose(1, 2)
        qk = y[:, : H + G]
        if layer.q_norm is not None and layer.k_norm is not None:
            qk = torch.cat([layer.q_norm(qk[:, :H]), layer.k_norm(qk[:, H:])], dim=1)
        qk = self._rotated(qk)
        keys, values = self.cache.update(qk[:, H:], y[:, H + G :], index)
        q = qk[:, :H]
        if self.causal:
            out = F.scaled_dot_product_attention(q, keys, values, is_causal=True, enable_gqa=True)
        else:
            # query heads that share a key head are rows of one head: no copy of the keys
            q = q.reshape(self.texts, G, -1, self.width)
            out = F.scaled_dot_product_attention(q, keys, values, self.mask)
        out = out.view(self.texts, H, self.rows, self.width)
        return out.transpose(1, 2).reshape(self.texts * self.rows, -1)

    def _rotated(self, x: Tensor) -> Tensor:
        """Return x (b, heads, n, hd) turned by the angles of its rows."""
        swapped = x.unflatten(-1, (2, -1)).flip(-2).flatten(-2)
        return torch.addcmul(x * self.cos, swapped, self.sin)
