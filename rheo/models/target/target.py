"""The target: a Hugging Face causal LM with its own cache, a tree mask and feature taps."""

import inspect
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rheo.errors import RheoError
from rheo.models.cpu.fast_forward import fast_forward
from rheo.models.cpu.llama_forward import LlamaForward
from rheo.models.target.cuda_graphs import Graphs
from rheo.models.target.detokenizer import TextStream, TokenText
from rheo.models.target.feature_taps import FeatureTaps
from rheo.models.target.kv_cache import BUCKET, KVCache
from rheo.models.target.pretrained import (
    check_supported,
    eos_ids,
    execution_device,
    load_pretrained,
)
from rheo.models.target.prompt import prompt_ids

_CHUNK = 512  # prompt rows a forward pass takes, so that memory does not grow with the prompt


class Target:
    """A decoder-only causal LM (Llama, Qwen2, Qwen3, Mistral families) that verifies trees.

    `verify` runs the rows of a tree behind the committed text; `commit` keeps the accepted ones.
    Everything runs in inference mode: clone a result before training on it. One thread at a time.

    Args:
        model: any such model, in eval mode, with `sdpa` or `eager` attention.
        tokenizer: its tokenizer; None if only ids are used.
        feature_layers: hidden states to return, as Hugging Face counts them: i is the input of
            layer i, and the number of layers is the last layer's output before the final norm.
        mask_kind: "additive" (0 or the dtype's minimum) or "bool". `eager` adds its mask, where a
            bool one would be silently wrong, and always gets the additive one.
        bucket: columns that masked calls are rounded up to; default 256 on CUDA, 1 on a CPU.
        forward: the pass that runs instead of the model's own; see `models.cpu.fast_forward`.

    Raises:
        RheoError: the architecture cannot be verified with a tree mask; the sentence names why.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        feature_layers: Sequence[int] | None = None,
        mask_kind: str = "additive",
        bucket: int | None = None,
        forward: LlamaForward | None = None,
    ) -> None:
        self.model, self.tokenizer, self.mask_kind = model.eval(), tokenizer, mask_kind
        self.forward = forward
        config = model.config.get_text_config()
        check_supported(model)
        self._decoder = model.get_decoder()
        self.embeddings = cast(Tensor, model.get_input_embeddings().weight)  # (V, d)
        self.vocab_size: int = model.get_output_embeddings().out_features
        self.hidden_size: int = config.hidden_size
        self.layers: int = config.num_hidden_layers
        self.context: int = config.max_position_embeddings
        self.eos_ids = eos_ids(model, tokenizer)
        self.dtype: torch.dtype = model.dtype
        places = [execution_device(layer) for layer in self._decoder.layers]
        self.device = execution_device(model.get_input_embeddings())
        # transformers renamed the argument in 5.24; the old name only warns until 5.40
        names = inspect.signature(model.forward).parameters
        self.cache_argument = "cache" if "cache" in names else "past_key_values"
        width = getattr(config, "head_dim", None) or self.hidden_size // config.num_attention_heads
        if bucket is None:
            bucket = BUCKET if self.device.type == "cuda" else 1
        self.cache = KVCache(places, config.num_key_value_heads, width, self.dtype, bucket)
        self.graphs = Graphs(self._tree_step, self.device) if len(set(places)) == 1 else None
        self._taps = FeatureTaps(self._decoder)
        self.tap(feature_layers or ())
        self._display: TokenText | None = None

    @classmethod
    def load(
        cls,
        folder_or_id: str,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        feature_layers: Sequence[int] | None = None,
        attn: str = "sdpa",
        token: str | None = None,
        forward: str = "auto",
    ) -> "Target":
        """Load a model folder or Hub id; tensors only (safetensors, else .bin), no code of it.

        Args:
            device: where it runs; weights that do not fit one GPU are spread over all of them.
            dtype: default bfloat16 on CUDA, float32 on a CPU.
            attn: "sdpa" or "eager".
            token: of the Hub, for gated models.
            forward: "auto", or by name what runs on a CPU; see `models.cpu.fast_forward`.

        Raises:
            RheoError: nothing loadable there, no weights, or an unsupported architecture.
        """
        model, tokenizer = load_pretrained(folder_or_id, device, dtype, attn, token)
        fast = fast_forward(model.eval(), forward)
        return cls(model, tokenizer, feature_layers, forward=fast)

    def tap(self, feature_layers: Sequence[int]) -> None:
        """Return these hidden states from now on, in this order, instead of the former ones."""
        self._forget_graphs()  # they return the former ones
        self._taps.move(feature_layers)

    def close(self) -> None:
        """Take the taps off the model."""
        self._taps.close()

    @property
    def feature_layers(self) -> tuple[int, ...]:
        """Return the hidden states that a pass returns."""
        return self._taps.layers

    @property
    def forward_name(self) -> str:
        """Return what runs, a name of `models.cpu.forwards` other than auto."""
        return "transformers" if self.forward is None else self.forward.linear.name

    @property
    def length(self) -> int:
        """Return the number of committed rows."""
        return self.cache.length

    @torch.inference_mode()
    def reset(self, capacity: int) -> None:
        """Forget everything; make room for `capacity` rows, scratch included."""
        before = self.cache.capacity
        self.cache.reserve(capacity)
        if self.cache.capacity != before:
            self._forget_graphs()  # they write into the former buffers

    def _forget_graphs(self) -> None:
        if self.graphs is not None:
            self.graphs.clear()

    def drop(self) -> None:
        """Forget the scratch rows."""
        self.cache.drop()

    @torch.inference_mode()
    def commit(self, rows: Tensor) -> None:
        """Keep scratch rows `rows` (a,), in order, behind the committed ones; drop others."""
        self.cache.commit(rows)

    @torch.inference_mode()
    def prefill(self, ids: Tensor, chunk: int = _CHUNK) -> tuple[Tensor, Tensor | None]:
        """Commit `ids` (P,), P >= 1, behind what is committed.

        Returns:
            The last row's logits (V,), and all rows' features (P, taps * d) or None.
        """
        self.cache.drop()
        features: list[Tensor] = []
        for part in ids.split(chunk):
            start, rows = self.cache.length, part.numel()
            positions = torch.arange(start, start + rows, device=self.device)
            logits, taken = self._forward(part, positions, None, logits_to_keep=1)
            self.cache.keep(rows)
            if taken is not None:
                features.append(taken)
        return logits[-1], torch.cat(features) if features else None

    @torch.inference_mode()
    def verify(
        self, tokens: Tensor, positions: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Run a tree in one pass behind the committed rows; the former scratch is dropped.

        Args:
            tokens: (n,) int64.
            positions: (n,) int64; a node's is `length` + its depth, the root's depth being 0.
            mask: (n, n) bool, row attends column: a node's ancestors and itself. None is a chain.
                One row needs none. Every row also sees every committed row.

        Returns:
            Logits (n, V) in the model's dtype, and features (n, taps * d) or None.

        Raises:
            ValueError: `reset` reserved too few rows.
        """
        self.cache.drop()
        logits, features = self._forward(tokens, positions, mask)
        self.cache.end(tokens.numel())
        return logits, features

    @torch.inference_mode()
    def grow(self, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Run rows as `verify` does, but behind the s scratch rows there: a tree level by level.

        Args:
            tokens, positions: (n,) int64.
            mask: (n, s + n) bool over the scratch rows and the new ones.

        Returns:
            Logits (n, V) of the new rows.
        """
        logits, _ = self._forward(tokens, positions, mask)
        self.cache.end(tokens.numel())
        return logits

    def _forward(
        self, tokens: Tensor, positions: Tensor, mask: Tensor | None, logits_to_keep: int = 0
    ) -> tuple[Tensor, Tensor | None]:
        """Return logits (n or kept, V) and features; write the rows behind the filled ones."""
        rows = tokens.numel()
        if mask is None and rows > 1 and self.cache.filled:
            mask = torch.ones(rows, rows, dtype=torch.bool, device=self.device).tril()
        # A lone row sees all there is: without a mask it keeps the fast kernels. So does a first
        # chunk, which transformers runs as plain causal attention.
        if rows == 1 and not self.cache.scratch:
            mask = None
        columns = self.cache.begin(rows, masked=mask is not None)
        spread = None if mask is None else self._spread(mask, columns)
        graphs = self.graphs if not logits_to_keep else None
        if graphs is not None and graphs.capture and spread is not None:
            logits, *features = graphs(tokens, positions, spread, self.cache.places())
            return logits, features[0] if features else None
        logits = self._call(tokens, positions, spread, logits_to_keep)
        return logits, self._taps.take(self.device)

    def _tree_step(
        self, tokens: Tensor, positions: Tensor, spread: Tensor, slots: Tensor
    ) -> tuple[Tensor, ...]:
        """Run a masked pass for `Graphs`: all that changes from call to call is in a tensor."""
        self.cache.write_at(slots)
        logits, features = self._call(tokens, positions, spread), self._taps.take(self.device)
        return (logits,) if features is None else (logits, features)

    def _call(
        self, tokens: Tensor, positions: Tensor, spread: Tensor | None, logits_to_keep: int = 0
    ) -> Tensor:
        """Run the model itself; return logits (n or kept, V)."""
        if self.forward is not None:
            logits, states = self.forward(
                tokens[None], positions[None], spread, self.cache, self.feature_layers,
                logits_to_keep,
            )  # fmt: skip
            self._taps.put(states)
            return logits[0]
        output = self.model(
            input_ids=tokens[None],  # (1, n)
            attention_mask=spread,
            position_ids=positions[None],  # (1, n)
            use_cache=True,
            logits_to_keep=logits_to_keep,
            **{self.cache_argument: self.cache},
        )
        return output.logits[0]

    def _spread(self, mask: Tensor, columns: int) -> Tensor:
        """Spread a mask (n, s + n) over all columns, committed ones seen: (1, 1, n, columns)."""
        n, width = mask.shape
        start = self.cache.length
        seen = torch.zeros(n, columns, dtype=torch.bool, device=self.device)
        seen[:, :start] = True
        seen[:, start : start + width] = mask
        if self.mask_kind == "bool" and self.model.config._attn_implementation == "sdpa":
            return seen[None, None]
        bias = torch.zeros(n, columns, dtype=self.dtype, device=self.device)
        return bias.masked_fill_(~seen, torch.finfo(self.dtype).min)[None, None]

    def _texts(self) -> PreTrainedTokenizerBase:
        if self.tokenizer is None:
            raise RheoError("This target has no tokenizer: it takes and gives token ids only.")
        return self.tokenizer

    def encode(self, prompt: str, raw: bool = False) -> list[int]:
        """Return the ids of a prompt; see `rheo.models.target.prompt.prompt_ids`."""
        return prompt_ids(self._texts(), prompt, raw)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out."""
        text = self._texts().decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        assert isinstance(text, str)  # a list of texts is what a list of lists gives
        return text

    def text_stream(self) -> TextStream:
        """Return an empty text that grows token by token."""
        return TextStream(self._texts())

    def token_text(self, token: int) -> str:
        """Return the exact display text of one token; see `TokenText`."""
        self._display = self._display or TokenText(self._texts())
        return self._display(token)
