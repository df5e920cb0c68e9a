"""The EAGLE-3 head: one decoder layer that drafts from the target's hidden states.

Slot t joins the embedding of token t + 1 with the target's features of token t and predicts token
t + 2. Below the root there are no features: a node's slot takes the output of its parent's slot
instead. Source: EAGLE-3, arXiv 2503.01840, and its public checkpoints (see `checkpoints`).

    a = [embed_norm(e); hidden_norm(h)]   e: embedding, h: fc(features) or the parent's output
    x = h + attention(a)                  h: hidden_norm(h) where norm_before_residual is on
    out = x + mlp(mlp_norm(x))
    logits = lm_head(norm(out))
"""

from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rheo.errors import RheoError
from rheo.models.cpu.fused_linear import FusedLinear
from rheo.models.draft.adapt import choose_embeddings, fit_vocabulary, fuse, rotary, rotate
from rheo.models.draft.checkpoints import Checkpoint, read
from rheo.models.draft.head_weights import HeadWeights
from rheo.models.draft.layer_ids import AskedLayers
from rheo.models.draft.protocol import descend
from rheo.models.target.cuda_graphs import Graphs
from rheo.models.target.kv_cache import BUCKET


class Eagle3(nn.Module):
    """An EAGLE-3 head over one growing sequence; implements `rheo.models.draft.Draft`.

    The cache holds `length` true rows, made from the target's features and kept, then the scratch
    rows of one tree. A row's keys and values do not depend on attention (there is one layer), so
    committing a prompt runs attention, MLP and lm_head for its last row only.

    Args:
        checkpoint: what `checkpoints.read` returned.
        embeddings: (V, de) the target's; used in place (de = d) unless the head has its own.
        target_layers: n, the target's number of layers.
        device: where the head runs.
        dtype: of weights and cache.
        rope_theta: overrides the checkpoint's base; some heads accept better at 10000 than at
            the base that their config names.
        name: shown to people.
        linear: what the products run on, such as `PackedLinear`; None is torch's own.

    Raises:
        RheoError: the head does not fit this target.
    """

    length: int  # true rows
    _hidden: Tensor  # (b, d) outputs of the last level's slots, or of the root's
    _mask: Tensor  # (b, s) bool, which of the scratch rows they attend to
    _depth: int  # levels drafted since the root

    def __init__(
        self,
        checkpoint: Checkpoint,
        embeddings: Tensor,
        target_layers: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        rope_theta: float | None = None,
        name: str = "EAGLE-3",
        linear: type[FusedLinear] | None = None,
    ) -> None:
        super().__init__()
        config, tensors = checkpoint.config, dict(checkpoint.tensors)
        self.config, self.name = config, name
        self.feature_layers = config.feature_layers(target_layers)
        self.vocab_size = tensors["lm_head"].shape[0]
        ids = fit_vocabulary(checkpoint.target_ids, self.vocab_size, embeddings.shape[0])
        self.target_ids = None if ids is None else ids.to(device)
        # a plain attribute: the target owns the weight, `to` and `state_dict` must leave it alone
        self.embeddings = choose_embeddings(tensors.pop("embeddings", None), embeddings, config)
        self.embeddings = self.embeddings.to(device)
        self.rotary = rotary(config, rope_theta).to(device)
        self.weights = HeadWeights(fuse(tensors), device, dtype, config.eps, linear)
        self.norm_before_residual = "norm_before_residual" in config.switches
        self.norm_output = "norm_output" in config.switches
        place = self.weights["norm"].device
        self.bucket = BUCKET if place.type == "cuda" else 1
        self.graphs = Graphs(self._level_step, place)
        self._keys = self._values = torch.empty(0)
        self.reset(0, 0)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        target_embeddings: Tensor,
        target_layers: int,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        rope_theta: float | None = None,
        layers: AskedLayers | None = None,
        linear: type[FusedLinear] | None = None,
    ) -> "Eagle3":
        """Read a checkpoint folder of any of the three layouts; arguments and errors as above.

        `layers` are to be read of the target, whatever the file says.
        """
        found, name = read(folder), f"EAGLE-3 {Path(folder).name}"
        if layers is not None:
            found = replace(found, config=found.config.reading(layers))
        given = (target_embeddings, target_layers, device, dtype, rope_theta, name, linear)
        return cls(found, *given)

    @torch.inference_mode()
    def reset(self, capacity: int, scratch: int) -> None:
        """Forget the sequence; make room for `capacity` true rows and `scratch` tree rows."""
        weight, config, rows = self.weights["norm"], self.config, self._columns(capacity + scratch)
        shape = (config.kv_heads, rows, config.head_dim)
        if self._keys.shape != shape:
            self.graphs.clear()  # they write into the former rows
            self._keys, self._values = weight.new_zeros(shape), weight.new_zeros(shape)
            positions = torch.arange(rows, device=weight.device)
            # (rows, hd) each; a level's position is below capacity + levels: the table suffices
            self._cos, self._sin = (x[0] for x in self.rotary(weight, positions[None]))
        self.length = 0
        self._forget_tree(weight.new_zeros(1, config.hidden))

    @torch.inference_mode()
    def extend(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        """See `Draft.extend`.

        Raises:
            RheoError: no features, features of a wrong width or number, or no room left.
        """
        features = self._check_features(tokens, features)
        rows = self._room(self.length, len(features))
        a, residual = self._join(tokens[-len(features) :], self._fuse_features(features))
        q, k, v = self._project(a, self._cos[rows], self._sin[rows])
        self._keys[:, rows], self._values[:, rows] = k, v
        self.length = rows.stop
        out = self._finish(residual[-1:], self._attend(q[:, -1:], rows.stop, None))  # (1, d)
        normed = self.weights.rms_norm(out, "norm")
        self._forget_tree(normed if self.norm_output else out)
        return self._logits(normed)[0]

    @torch.inference_mode()
    def level(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """See `Draft.level`. Nothing here waits for the device.

        Raises:
            RheoError: no scratch rows left.
        """
        rows = self._room(self.length + self._mask.shape[1], len(tokens))
        self._mask = descend(self._mask, parents)  # (b, scratch rows with these)
        self._depth += 1
        # the nodes of a level share one position, counted from the last slot's
        position = slice(self.length - 1 + self._depth, self.length + self._depth)
        unseen = self._columns(rows.stop) - rows.stop
        seen = F.pad(self._mask, (self.length, 0), value=True)  # every true row is an ancestor
        logits, self._hidden = self.graphs(
            tokens,
            self._hidden[parents],
            self._cos[position],
            self._sin[position],
            F.pad(seen, (0, unseen)),  # (b, columns)
            torch.arange(rows.start, rows.stop, device=tokens.device),
        )
        return logits

    def _level_step(
        self, tokens: Tensor, hidden: Tensor, cos: Tensor, sin: Tensor, seen: Tensor, slots: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run `level` for `Graphs`: logits (b, Vd), and what the next level is fed (b, d).

        Args:
            hidden: (b, d) of the parents. cos, sin: (1, hd). seen: (b, columns). slots: (b,) rows.
        """
        a, residual = self._join(tokens, hidden)
        q, k, v = self._project(a, cos, sin)
        self._keys.index_copy_(1, slots, k)
        self._values.index_copy_(1, slots, v)
        out = self._finish(residual, self._attend(q, seen.shape[1], seen))  # (b, d)
        normed = self.weights.rms_norm(out, "norm")
        return self._logits(normed), normed if self.norm_output else out

    @torch.inference_mode()
    def slots(self, tokens: Tensor, features: Tensor) -> Tensor:
        """Return every slot's output of a whole text; the cache is neither read nor written.

        Args:
            tokens: (n,) int64.
            features: (n - 1, 3dt) of all tokens but the last.

        Returns:
            (n - 1, d) outputs before the final norm.
        """
        positions = torch.arange(len(features), device=tokens.device)[None]
        a, residual = self._join(tokens[1:], self._fuse_features(features))
        cos, sin = self.rotary(a, positions)  # (1, n - 1, hd)
        q, k, v = self._project(a, cos[0], sin[0])
        attention = F.scaled_dot_product_attention(
            q[None], k[None], v[None], is_causal=True, enable_gqa=True
        )
        return self._finish(residual, attention[0])

    @torch.inference_mode()
    def teacher_forced(self, tokens: Tensor, features: Tensor) -> Tensor:
        """Return logits (n - 1, Vd) float32: row t is what follows token t + 1; see `slots`."""
        return self._logits(self.weights.rms_norm(self.slots(tokens, features), "norm"))

    def _check_features(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        """Return the features (f, 3dt) of the f slots that `extend` adds."""
        width = 3 * self.config.target_hidden
        if features is None or features.ndim != 2 or features.shape[1] != width:
            found = "none" if features is None else tuple(features.shape)
            raise RheoError(f"{self.name} needs target features of width {width}, found {found}.")
        expected = len(tokens) - (self.length == 0)
        if len(features) != expected or expected < 1:
            raise RheoError(
                f"{self.name} needs the features of {expected} tokens, at least one, but found "
                f"{len(features)}."
            )
        return features

    def _forget_tree(self, hidden: Tensor) -> None:
        """Drop the scratch rows; `hidden` (1, d) is the output of the root's slot."""
        self._hidden, self._depth = hidden, 0
        self._mask = torch.ones(1, 0, dtype=torch.bool, device=hidden.device)

    def _fuse_features(self, features: Tensor) -> Tensor:
        """Fuse (f, 3dt) to (f, d). Only the target's features pass through fc, never an output."""
        x = features.to(self.weights["norm"].dtype)
        if "fc_norm_0" in self.weights:
            parts = (
                self.weights.rms_norm(part, f"fc_norm_{i}") for i, part in enumerate(x.chunk(3, -1))
            )
            x = torch.cat(list(parts), dim=-1)
        if "input_norm" in self.weights:
            x = self.weights.rms_norm(x, "input_norm")
        return self.weights.product(x, "fc")

    def _join(self, tokens: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the layer's input (b, 2d), embedding first, and its residual (b, d)."""
        embedded = F.embedding(tokens, self.embeddings).to(hidden.dtype)
        normed = self.weights.rms_norm(hidden, "hidden_norm")
        joined = torch.cat([self.weights.rms_norm(embedded, "embed_norm"), normed], dim=-1)
        return joined, normed if self.norm_before_residual else hidden

    def _project(self, a: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return q (H, b, hd), k, v (Hkv, b, hd); q and k rotated by cos, sin (b or 1, hd)."""
        c = self.config
        x = self.weights.product(a, "qkv").view(len(a), -1, c.head_dim)
        x = x.transpose(0, 1)  # (H + 2Hkv, b, hd)
        q, k, v = x.split([c.heads, c.kv_heads, c.kv_heads])
        if "q_norm" in self.weights:
            q, k = self.weights.rms_norm(q, "q_norm"), self.weights.rms_norm(k, "k_norm")
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def _columns(self, rows: int) -> int:
        return -(-rows // self.bucket) * self.bucket

    def _room(self, start: int, count: int) -> slice:
        """Return the cache rows of the next `count` slots."""
        if start + count > self._keys.shape[1]:
            raise RheoError(
                f"{self.name} has room for {self._keys.shape[1]} rows but needs {start + count}; "
                "start again with a larger context or a smaller tree."
            )
        return slice(start, start + count)

    def _attend(self, q: Tensor, rows: int, mask: Tensor | None) -> Tensor:
        """Return (H, b, hd) over the first `rows` cache rows; mask (b, rows) or None to see all.

        The heads that share a key head are laid out as rows of one head: no copy of the keys, and
        the kernels that know no grouped heads still apply.
        """
        groups = self.config.heads // self.config.kv_heads
        folded = q.reshape(self.config.kv_heads, -1, self.config.head_dim)  # (Hkv, groups*b, hd)
        seen = None if mask is None else mask.repeat(groups, 1)
        keys, values = self._keys[None, :, :rows], self._values[None, :, :rows]
        return F.scaled_dot_product_attention(folded[None], keys, values, seen)[0].view(q.shape)

    def _finish(self, residual: Tensor, attention: Tensor) -> Tensor:
        """Run the rest of the layer: (b, d) and (H, b, hd) -> (b, d)."""
        flat = attention.transpose(0, 1).flatten(1)  # (b, H*hd)
        x = residual + self.weights.product(flat, "o")
        normed = self.weights.rms_norm(x, "mlp_norm")
        gate, up = self.weights.product(normed, "gate_up").chunk(2, dim=-1)
        return x + self.weights.product(F.silu(gate) * up, "down")

    def _logits(self, normed: Tensor) -> Tensor:
        return self.weights.product(normed, "lm_head").float()
