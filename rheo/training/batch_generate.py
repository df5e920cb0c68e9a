"""Sample the target's answers to many prompts at once, each at its own temperature."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rheo.algorithm.distribution import draw
from rheo.models.target.kv_cache import KVCache
from rheo.models.target.own_logits import OwnLogits
from rheo.models.target.target import Target
from rheo.training.corpus_files import Text

_CLEAR = 0.25  # share of ended answers at which their rows are taken out of the batch


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
        temperatures: one a prompt; 0 is greedy.
        max_new: tokens after which an answer is cut.
        generator: on the CPU, so that the texts do not depend on a device's own generator.

    Returns:
        Texts in the order of the prompts; an end of sequence is the last token of its text.
    """
    batch = _Batch(target, prompts, temperatures, max_new)
    logits = batch.prefill()
    for _ in range(max_new):
        uniforms = torch.rand(len(prompts), generator=generator)  # all, so that rows stay in step
        chosen = sample_tokens(logits, batch.temperatures, uniforms.to(target.device)[batch.alive])
        if not batch.append(chosen):
            break
        logits = batch.step()
    return batch.texts()


def sample_tokens(logits: Tensor, temperatures: Tensor, uniforms: Tensor) -> Tensor:
    """Draw one token a row of logits (b, V), row i at temperatures[i] on uniforms[i]; both (b,).

    Temperature 0 takes the best token, the lowest id among equals.

    >>> logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 99.0]])
    >>> sample_tokens(logits, torch.tensor([0.0, 1.0]), torch.tensor([0.99, 0.5])).tolist()
    [1, 2]
    """
    divisors = torch.where(temperatures > 0, temperatures, 1.0)[:, None]
    logits = logits.float()
    below = logits - logits.max(-1, keepdim=True).values  # ties stay ties at a tiny temperature
    drawn = draw((below / divisors).softmax(-1), uniforms)
    return torch.where(temperatures > 0, drawn, logits.argmax(-1))


class _Batch:
    """The texts being written; rows whose answer has ended are taken out from time to time."""

    def __init__(
        self,
        target: Target,
        prompts: Sequence[Sequence[int]],
        temperatures: Sequence[float],
        max_new: int,
    ) -> None:
        device, places = target.device, target.cache
        self.own_logits = OwnLogits(target.model)
        self.target, self.given = target, list(zip(prompts, temperatures, strict=True))
        self.answers: list[list[int]] = [[] for _ in prompts]
        self.alive = torch.arange(len(prompts), device=device)  # (b,) rows still in the batch
        self.ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)  # (b,)
        self.temperatures = torch.tensor(temperatures, device=device)  # (b,)
        self.lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)  # (b,)
        self.stops = torch.tensor(sorted(target.eos_ids), device=device)
        columns = int(self.lengths.max())
        self.seen = torch.arange(columns, device=device) < self.lengths[:, None]  # (b, columns)
        self.cache = KVCache(places.devices, places.heads, places.width, target.dtype)
        self.cache.reserve(columns + max_new, len(prompts))

    def prefill(self) -> Tensor:
        """Return the logits (B, V) of the answers' first tokens."""
        ids = torch.zeros(self.seen.shape, dtype=torch.int64, device=self.seen.device)
        ids[self.seen] = torch.cat([torch.tensor(p) for p, _ in self.given]).to(ids.device)
        positions = torch.arange(ids.shape[1], device=ids.device)[None].expand(ids.shape)
        hidden = self._run(ids, positions, None)
        return self._logits(hidden[torch.arange(len(ids), device=ids.device), self.lengths - 1])

    def append(self, chosen: Tensor) -> bool:
        """Append the new tokens (b,); return False once every answer has ended."""
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
        """Return the logits (b, V) of what follows the tokens appended last."""
        positions = self.lengths[:, None]  # (b, 1)
        self.lengths = self.lengths + 1
        self.seen = torch.cat([self.seen, torch.ones_like(self.seen[:, :1])], dim=-1)
        dtype = self.target.dtype
        bias = torch.zeros(self.seen.shape, dtype=dtype, device=self.seen.device)
        bias.masked_fill_(~self.seen, torch.finfo(dtype).min)
        hidden = self._run(self.chosen[:, None], positions, bias[:, None, None])
        return self._logits(hidden[:, -1])

    def texts(self) -> list[Text]:
        """Return every prompt with its answer so far."""
        return [
            Text(torch.tensor([*prompt, *answer]), len(prompt), temperature)
            for (prompt, temperature), answer in zip(self.given, self.answers, strict=True)
        ]

    def _run(self, ids: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        """Return the hidden states (b, columns, d) after the final norm."""
        self.cache.begin(ids.shape[1])
        output = self.target.model.get_decoder()(
            input_ids=ids,
            position_ids=positions,
            attention_mask=mask,  # (b, 1, 1, columns)
            use_cache=True,
            **{self.target.cache_argument: self.cache},
        )
        self.cache.keep(ids.shape[1])
        hidden: Tensor = output.last_hidden_state
        return hidden

    def _logits(self, hidden: Tensor) -> Tensor:
        """Return the logits (b, V) of hidden states (b, d); a prefill needs them of few rows."""
        return self.own_logits(hidden)

    def _clear(self) -> None:
        """Take the ended rows out."""
        rows = (~self.ended).nonzero()[:, 0]
        for name in ("alive", "ended", "temperatures", "lengths", "seen", "chosen"):
            setattr(self, name, getattr(self, name)[rows])
        self.cache.select(rows)
