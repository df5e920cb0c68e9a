"""A loaded pair at work: from a prompt to a Decoding, or to a stream of recorded rounds."""

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from rheo.algorithm.budget import Budget
from rheo.decoding.generation import Generation
from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_run
from rheo.decoding.round_cost import RoundCost, known
from rheo.decoding.watch import Watch
from rheo.errors import RheoError
from rheo.models.loader import LoadedPair
from rheo.params import DecodeParams
from rheo.trace.schema import Run


class Engine:
    """A target and its draft, ready to decode. One decoding at a time.

    Args:
        loaded: of `rheo.models.loader.load_pair`.

    Attributes:
        loaded: the same. pair, target, draft, warning: its fields.
    """

    def __init__(self, loaded: LoadedPair) -> None:
        self.loaded = loaded
        self.pair, self.warning = loaded.pair, loaded.warning
        self.target, self.draft = loaded.target, loaded.draft
        self._lock = threading.Lock()
        self._costs: dict[tuple[int, int], RoundCost] = {}

    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        raw: bool = False,
        stop: Sequence[str] = (),
        **params: Any,
    ) -> Generation:
        """Return the answer to `prompt` as a stream of rounds.

        Args:
            prompt: text, or token ids taken as they are.
            raw: leave out the chat template.
            stop: strings that end the text.
            params: fields of `DecodeParams`: strategy, T, seed, max_new_tokens, ...

        Raises:
            RheoError: as `decode`; a parameter that does not exist or is out of its range.
        """
        decoding = self.decode(prompt, DecodeParams.from_dict(params), raw, stop)
        text = prompt if isinstance(prompt, str) else self.target.decode(prompt)
        return Generation(self.loaded, decoding, text)

    def decode(
        self,
        prompt: str | Sequence[int],
        params: DecodeParams,
        raw: bool = False,
        stop: Sequence[str] = (),
        watch: Watch | None = None,
        record: bool = True,
    ) -> Decoding:
        """Return a Decoding of `prompt` (text, or token ids taken as they are), not begun yet.

        `stop`, `watch` and `record` are as in `Decoding`.

        Raises:
            RheoError: an empty or over-long prompt; from its iterator, a run already going on.
        """
        ids = self.target.encode(prompt, raw) if isinstance(prompt, str) else list(prompt)
        if not ids:
            raise RheoError("The prompt is empty: type at least one character.")
        if not all(0 <= token < self.target.vocab_size for token in ids):
            raise RheoError(f"Token ids go from 0 to {self.target.vocab_size - 1}.")
        budget = None if params.budget == "count" else partial(self._budget, params.R, params.K)
        return Decoding(
            self.target, self.draft, params, ids, stop, self._lock, watch, budget, record
        )

    def _budget(self, R: int, K: int) -> Budget:
        """Return what a round may cost here; measured first where it is not known yet."""
        if (R, K) not in self._costs:  # the file may not be writable: once a process at most
            self._costs[R, K] = known(self.target, self.draft, self.pair.name, R, K)
        return self._costs[R, K].budget(R)

    def record(self, decoding: Decoding, prompt: str) -> Run:
        """Return everything decoded so far as a trace; see `record_run`."""
        return record_run(self.loaded, decoding, prompt)

    def fit(self, prompt: str, new_tokens: int, most: int) -> tuple[str, int, int]:
        """Return the end of `prompt` that can be decoded, its tokens, and the whole prompt's.

        A prompt of up to `most` tokens that the context holds is left as it is. From a longer one
        the beginning is cut off, so that `new_tokens` have room behind it, if need be half the
        context.
        """
        target = self.target
        length = len(target.encode(prompt))
        if length <= most and length < target.context:
            return prompt, length, length
        most = min(most, target.context - min(new_tokens, target.context // 2))
        plain = target.encode(prompt, raw=True)
        end, kept, over = "", min(most, len(plain)), 1
        while over > 0 and kept > 0:  # what the template adds is known once it is filled in
            end = target.decode(plain[-kept:]).lstrip("\ufffd")  # half a character
            over = len(target.encode(end)) - most
            kept -= max(over, 0)
        return end, kept, length

    def release_memory(self) -> None:
        """Give the memory of the last run back; models and weights stay."""
        self.target.cache.free()
        self.draft.reset(1, 1)
        if self.target.device.type == "cuda":
            torch.cuda.empty_cache()
