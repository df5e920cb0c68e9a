"""A small causal LM of the target's family as the draft model."""

from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from rheo.errors import RheoError
from rheo.models.draft.protocol import descend
from rheo.models.target.target import Target
from rheo.ranges import RANGES


class LMDraft:
    """Any causal LM that shares the target's token ids; implements `rheo.models.draft.Draft`.

    It is a `Target` that nobody verifies: committed tokens go through `prefill`, a level of the
    tree through `grow`, whose scratch rows the next `prefill` drops.

    Its window may be shorter than the target's context. Where a text would leave it, the cache
    restarts with the latest tokens, half a window of them: drafts then know less and get worse, but
    whatever they are drawn from is what verification reads, so that the text stays the target's.

    Args:
        model: the draft LM.
        vocab_size: the target's number of logits. Two models of one family may pad theirs
            differently; the draft's logits are cut to the ids that both have.
        name: shown to people.

    Attributes:
        window: positions that the draft LM has.
    """

    target_ids = None
    feature_layers = None

    def __init__(self, model: Target, vocab_size: int, name: str = "draft LM") -> None:
        self.model, self.name = model, name
        self.vocab_size = min(model.vocab_size, vocab_size)
        self.window = model.context
        self._room = self.window - min(int(RANGES["depth"].most), self.window // 4)  # for levels
        self._rows, self._latest = 0, torch.zeros(0, dtype=torch.int64, device=model.device)
        self._mask, self._depth = torch.ones(1, 0, dtype=torch.bool, device=model.device), 0

    @classmethod
    def load(
        cls,
        folder_or_id: str,
        target: Target,
        device: torch.device | str = "cpu",
        dtype: torch.dtype | None = None,
        token: str | None = None,
    ) -> "LMDraft":
        """Load a model folder or Hub id as the draft of `target`; arguments as `Target.load`.

        Raises:
            RheoError: nothing loadable there, or its token ids mean other tokens.
        """
        model = Target.load(folder_or_id, device=device, dtype=dtype, token=token)
        check_same_tokenizer(target.tokenizer, model.tokenizer)
        return cls(model, target.vocab_size, Path(folder_or_id).name)

    def reset(self, capacity: int, scratch: int) -> None:
        """Forget the sequence; make room for `capacity` true rows and `scratch` tree rows."""
        self._rows = min(capacity, self.window) + scratch
        self.model.reset(self._rows)
        self._latest = self._latest[:0]
        self._forget_tree()

    @torch.inference_mode()
    def extend(self, tokens: Tensor, features: Tensor | None) -> Tensor:
        """See `Draft.extend`; `features` is ignored. At the window's end the cache restarts."""
        self._forget_tree()
        self._latest = torch.cat([self._latest, tokens])[-self.window :]
        if self.model.length + len(tokens) > self._room:
            tokens = self._latest[-max(self._room // 2, 1) :]
            self.model.reset(self._rows)
        logits, _ = self.model.prefill(self._known(tokens))
        return logits[: self.vocab_size].float()

    @torch.inference_mode()
    def level(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """See `Draft.level`."""
        self._mask = descend(self._mask, parents)  # (b, scratch rows with these)
        # the root is the last committed row, so its children stand right behind it
        position = min(self.model.length + self._depth, self.window - 1)
        positions = torch.full_like(tokens, position)
        self._depth += 1
        logits = self.model.grow(self._known(tokens), positions, self._mask)
        return logits[:, : self.vocab_size].float()

    def _forget_tree(self) -> None:
        self._mask, self._depth = self._mask.new_ones(1, 0), 0

    def _known(self, tokens: Tensor) -> Tensor:
        """Clamp ids that the draft lacks (a target may emit one from padding) to any row."""
        return tokens.clamp(max=self.model.vocab_size - 1)


def check_same_tokenizer(
    target: PreTrainedTokenizerBase | None, draft: PreTrainedTokenizerBase | None
) -> None:
    """Refuse a draft whose token ids mean other tokens than the target's.

    Added tokens (chat markers) that only one of them has are fine; what the draft cannot say it
    never drafts.

    Raises:
        RheoError: the vocabularies differ.
    """
    if target is None or draft is None:
        raise RheoError(
            "The target or the draft has no tokenizer, so nobody can tell whether they share one; "
            "add tokenizer.json to its folder."
        )
    ours, theirs = target.get_vocab(), draft.get_vocab()
    added = target.get_added_vocab().keys() | draft.get_added_vocab().keys()
    odd = {token for token in ours.keys() ^ theirs.keys() if token not in added}
    odd |= {token for token in ours.keys() & theirs.keys() if ours[token] != theirs[token]}
    if odd:
        raise RheoError(
            f"The draft's tokenizer differs from the target's in {len(odd)} tokens (such as "
            f"{min(odd)!r}); choose a draft of the same family."
        )
