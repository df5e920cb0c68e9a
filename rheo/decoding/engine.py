"""A loaded pair: from a prompt to a Decoding, and from a Decoding to a Run."""

import threading
from collections.abc import Sequence

import torch
import transformers

from rheo.decoding.loop import Decoding
from rheo.errors import RheoError
from rheo.models.draft import Draft
from rheo.models.draft.adapt import warn_if_unfit
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.draft.lm import LMDraft
from rheo.models.hub.catalogue import Pair, pair
from rheo.models.hub.fetch import Paths, Progress, ensure, foreseen, quiet
from rheo.models.placement import check_fit, weights
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.schema import Run
from rheo.version import __version__

# any plain text: a head that fits its target agrees on a quarter of it, one that does not on none
SELF_CHECK = (
    "The river was low that summer, and the children of the village walked across it on the stones "
    "to pick blackberries on the other side. In the evening they came back with blue hands."
)


class Engine:
    """A target and its draft, ready to decode. One decoding at a time.

    Attributes:
        pair: what was loaded.
        agreement: the head's top-1 agreement with the target on a short text; None for an LM draft.
        warning: one sentence when the draft does not fit its target, else None.
    """

    def __init__(self, loaded: Pair, target: Target, draft: Draft, draft_name: str) -> None:
        self.pair, self.target, self.draft, self.draft_name = loaded, target, draft, draft_name
        self.agreement = self._self_check()
        self.warning = None if self.agreement is None else warn_if_unfit(self.agreement)
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls,
        name: str | Pair,
        progress: Progress = quiet,
        *,
        device: str | None = None,
        dtype: torch.dtype | None = None,
    ) -> "Engine":
        """Fetch what is missing, load both models, check that they fit.

        Args:
            name: a name of the catalogue, or a Pair of `catalogue.custom`.
            device: default CUDA where there is one, else the CPU.
            dtype: default bfloat16 on CUDA, float32 on a CPU.

        Raises:
            RheoError: see `fetch.ensure`, `Target.load`, `Eagle3.load`; or too little memory.
        """
        chosen = pair(name) if isinstance(name, str) else name
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        place = torch.device(device)
        coming = sum(map(foreseen, (chosen.target, chosen.draft)))  # gigabytes not to be fetched
        check_fit(chosen.name, coming, place, dtype)
        paths = ensure(chosen, progress)
        check_fit(chosen.name, weights(paths.target) + weights(paths.draft), place, dtype)
        progress("Loading the target", None)
        try:
            target = Target.load(str(paths.target), device=device, dtype=dtype)
            progress("Loading the draft", None)
            draft = _load_draft(chosen, paths, target)
        except (MemoryError, torch.OutOfMemoryError):
            raise RheoError(
                f"{chosen.name} does not fit the memory of this machine ({chosen.size}): choose a "
                "smaller pair; recorded runs still work."
            ) from None
        engine = cls(chosen, target, draft, paths.draft.name)
        progress("Ready", 1.0)
        return engine

    def _self_check(self) -> float | None:
        if self.draft.feature_layers is None:
            return None
        target = self.target
        ids = torch.tensor(target.encode(SELF_CHECK, raw=True), device=target.device)
        target.reset(len(ids))
        positions = torch.arange(len(ids), device=target.device)
        logits, features = target.verify(ids, positions)
        # not kept for the first run: a process that is forked off would get the views and the
        # buffers of the cache as copies of their own, if its GPU is only lent (ZeroGPU)
        target.cache.free()
        return self.draft.agreement(ids, features[:-1], logits)

    def decode(
        self,
        prompt: str | Sequence[int],
        params: DecodeParams,
        raw: bool = False,
        stop: Sequence[str] = (),
    ) -> Decoding:
        """A Decoding of `prompt` (text, or token ids taken as they are).

        Raises:
            RheoError: an empty or over-long prompt; from its iterator, a run already going on.
        """
        ids = self.target.encode(prompt, raw) if isinstance(prompt, str) else list(prompt)
        if not ids:
            raise RheoError("The prompt is empty: type at least one character.")
        if not all(0 <= token < self.target.vocab_size for token in ids):
            raise RheoError(f"Token ids go from 0 to {self.target.vocab_size - 1}.")
        return Decoding(self.target, self.draft, params, ids, stop, self._lock)

    def fit(self, prompt: str, new_tokens: int, most: int) -> tuple[str, int, int]:
        """The end of `prompt` that can be decoded, how many tokens it has, and how many there were.

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
        kept, over = min(most, len(plain)), 1
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

    def run(self, decoding: Decoding, prompt: str) -> Run:
        """Everything decoded so far, as a trace. Raises RheoError where there is no token yet."""
        if decoding.first is None:
            raise RheoError("This run was stopped before its first token: there is no trace of it.")
        rounds = tuple(decoded.record() for decoded in decoding.rounds)
        emitted = [decoding.first, *(e for r in rounds for e in r.emitted)]
        seen = {e.token for e in emitted} | set(decoding.prompt_ids)
        for r in rounds:
            seen |= {n.token for n in r.nodes} | {g.token for n in r.nodes for g in n.ghosts}
            for visit in r.visits:
                seen |= {*visit.ids, *visit.outside_ids}
        return Run(
            pair=self.pair.name,
            target=self.pair.label,
            draft=self.draft_name,
            device=str(self.target.device),
            dtype=str(self.target.dtype).removeprefix("torch."),
            versions={
                "rheoscope": __version__,
                "torch": str(torch.__version__),  # it is a class of torch's own
                "transformers": transformers.__version__,
                "threads": str(torch.get_num_threads()),
                **self._graphs(),
            },
            params=decoding.params.as_dict(),
            prompt=prompt,
            prompt_token_ids=tuple(decoding.prompt_ids),
            first=decoding.first,
            rounds=rounds,
            stop=decoding.stopped,
            text=decoding.text,
            tokens={token: self.target.token_text(token) for token in sorted(seen)},
        )

    def _graphs(self) -> dict[str, str]:
        """What became of CUDA graphs, where anybody asked for them."""
        halves = {"target graphs": self.target, "draft graphs": self.draft}
        found = {name: getattr(half, "graphs", None) for name, half in halves.items()}
        return {name: graphs.note for name, graphs in found.items() if graphs and graphs.note}


def _load_draft(chosen: Pair, paths: Paths, target: Target) -> Draft:
    if paths.kind == "lm":
        return LMDraft.load(str(paths.draft), target, target.device, target.dtype)
    head = Eagle3.load(
        paths.draft,
        target.embeddings,
        target.layers,
        target.device,
        target.dtype,
        chosen.rope_theta,
    )
    target.tap(head.feature_layers)
    return head
