"""Answers of the target to many prompts at once, each at its own temperature."""

import inspect
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import Cache

from rheo.models.target.target import Target
from rheo.training.corpus_files import Text

_CLEAR = 0.25  # share of ended answers at which their rows are taken out of the batch


class RowsCache(Cache):
    """Keys and values of B texts in buffers allocated once, one column a step for all of them.

    Args:
        devices: of each layer.
        shape: (B, key/value heads, columns, width of one head).
    """

    def __init__(
        self, devices: Sequence[torch.device], shape: tuple[int, int, int, int], dtype: torch.dtype
    ) -> None:
        super().__init__(layers=[])  # transformers' own layers stay unused
        # zeros, not empty: a masked column meets the values as 0 * value; 0 * nan is nan
        self._rows = [
            [torch.zeros(shape, dtype=dtype, device=device) for _ in range(2)] for device in devices
        ]
        self._start = self._stop = 0

    def begin(self, columns: int) -> None:
        """Announces a pass that fills the next `columns` columns."""
        self._start, self._stop = self._stop, self._stop + columns

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        """Called by each layer: writes (B, heads, columns, width), returns all filled columns."""
        for buffer, new in zip(self._rows[layer_idx], (key_states, value_states), strict=True):
            buffer[:, :, self._start : self._stop] = new
        keys, values = self._rows[layer_idx]
        return keys[:, :, : self._stop], values[:, :, : self._stop]

    def keep(self, rows: Tensor) -> None:
        """Texts `rows` (b,) stay, the others are forgotten."""
        for layer in self._rows:
            layer[:] = [buffer[rows.to(buffer.device)] for buffer in layer]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._start

    def get_query_offset(self, layer_idx: int = 0) -> int:
        return self._start

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self._stop, 0

    def __len__(self) -> int:
        return len(self._rows)


@torch.inference_mode()
def answer(
    target: Target,
    prompts: Sequence[Sequence[int]],
    temperatures: Sequence[float],
    max_new: int,
    generator: torch.Generator,
) -> list[Text]:
    """Let the target answer all prompts side by side.

    Prompts are padded at their end, so the first pass is plain causal attention; the columns of
    the padding are hidden from the passes after it, and positions count a text's own tokens.

    Args:
        temperatures: of each prompt; 0 is greedy.
        max_new: tokens after which an answer is cut.
        generator: on the CPU: the texts do not depend on the device's own generator.

    Returns:
        Texts in the order of the prompts; an end of sequence is the last token of its text.
    """
    batch = _Batch(target, prompts, temperatures, max_new)
    logits = batch.prefill()
    for _ in range(max_new):
        uniforms = torch.rand(len(prompts), generator=generator)  # all, so that rows stay in step
        chosen = draw(logits, batch.temperatures, uniforms.to(target.device)[batch.alive])
        if not batch.append(chosen):
            break
        logits = batch.step()
    return batch.texts()


def draw(logits: Tensor, temperatures: Tensor, uniforms: Tensor) -> Tensor:
    """One token a row from logits (b, V), by inverse CDF on uniforms (b,); T = 0 takes the best.

    >>> logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 99.0]])
    >>> draw(logits, torch.tensor([0.0, 1.0]), torch.tensor([0.99, 0.5])).tolist()
    [1, 2]
    """
    best = logits.argmax(-1)
    shares = (logits.float() / temperatures.clamp(min=1e-3)[:, None]).softmax(-1)
    sums = shares.cumsum(-1)
    # scaled by the last sum: in float32 it may fall short of one
    found = torch.searchsorted(sums, (uniforms * sums[:, -1])[:, None], right=True)[:, 0]
    return torch.where(temperatures > 0, found.clamp(max=logits.shape[-1] - 1), best)


class _Batch:
    """The texts being written; rows whose answer has ended are dropped from time to time."""

    def __init__(
        self,
        target: Target,
        prompts: Sequence[Sequence[int]],
        temperatures: Sequence[float],
        max_new: int,
    ) -> None:
        device = target.device
        self.target, self.given = target, list(zip(prompts, temperatures, strict=True))
        self.answers: list[list[int]] = [[] for _ in prompts]
        self.alive = torch.arange(len(prompts), device=device)  # (b,) rows still in the batch
        self.ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)  # of those rows
        self.temperatures = torch.tensor(temperatures, device=device)
        self.lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        self.stops = torch.tensor(sorted(target.eos_ids), device=device)
        columns = int(self.lengths.max())
        self.seen = torch.arange(columns, device=device) < self.lengths[:, None]  # (b, columns)
        config = target.cache
        shape = (len(prompts), config.heads, columns + max_new, config.width)
        self.cache = RowsCache(config.devices, shape, target.dtype)
        names = inspect.signature(target.model.forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"

    def prefill(self) -> Tensor:
        """Logits (B, V) of the first tokens of the answers."""
        ids = torch.zeros(self.seen.shape, dtype=torch.int64, device=self.seen.device)
        ids[self.seen] = torch.cat([torch.tensor(p) for p, _ in self.given]).to(ids.device)
        positions = torch.arange(ids.shape[1], device=ids.device)[None].expand(ids.shape)
        hidden = self._run(ids, positions, None)
        last = hidden[torch.arange(len(ids), device=ids.device), self.lengths - 1]
        return self.target.model.get_output_embeddings()(last)

    def append(self, chosen: Tensor) -> bool:
        """Takes the new tokens (b,); False once every answer has ended."""
        self.chosen = chosen
        rows = zip(self.alive.tolist(), chosen.tolist(), self.ended.tolist(), strict=True)
        for row, token, ended in rows:
            if not ended:
                self.answers[row].append(token)
        self.ended |= torch.isin(chosen, self.stops)
        if self.ended.float().mean() >= _CLEAR:
            self._clear()
        return len(self.alive) > 0

    def step(self) -> Tensor:
        """Logits (b, V) of what follows the tokens taken last."""
        positions = self.lengths[:, None]  # (b, 1)
        self.lengths = self.lengths + 1
        self.seen = torch.cat([self.seen, torch.ones_like(self.seen[:, :1])], dim=-1)
        dtype = self.target.dtype
        bias = torch.zeros(self.seen.shape, dtype=dtype, device=self.seen.device)
        bias.masked_fill_(~self.seen, torch.finfo(dtype).min)
        hidden = self._run(self.chosen[:, None], positions, bias[:, None, None])
        return self.target.model.get_output_embeddings()(hidden[:, -1])

    def texts(self) -> list[Text]:
        return [
            Text(torch.tensor([*prompt, *answer]), len(prompt), temperature)
            for (prompt, temperature), answer in zip(self.given, self.answers, strict=True)
        ]

    def _run(self, ids: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        """Hidden states (b, columns, d) after the final norm."""
        self.cache.begin(ids.shape[1])
        output = self.target.model.get_decoder()(
            input_ids=ids,
            position_ids=positions,
            attention_mask=mask,  # (b, 1, 1, columns)
            use_cache=True,
            **{self.cache_name: self.cache},
        )
        return output.last_hidden_state

    def _clear(self) -> None:
        """Takes the ended rows out."""
        rows = (~self.ended).nonzero()[:, 0]
        names = ("alive", "ended", "temperatures", "lengths", "seen", "chosen")
        for name in names:
            setattr(self, name, getattr(self, name)[rows])
        self.cache.keep(rows)
