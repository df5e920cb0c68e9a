"""Whether a head fits its target: what it may read is tried on a short text, the best is kept.

A head that reads other layers or other embeddings than it was trained with loads without a fault
and drafts badly. Its readings are compared by the cross-entropy between the target's distribution
and its own, token by token: a difference of a few percent shows there that the share of equal
best tokens would need a book for.
"""

import math
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from rheo.models.draft.eagle3 import Eagle3
from rheo.models.draft.layer_ids import Layers
from rheo.models.target.target import Target

# plain texts: a head that fits its target agrees on a quarter of them, one that does not on none
SHORT_TEXT = (
    "The river was low that summer, and the children of the village walked across it on the stones "
    "to pick blackberries on the other side. In the evening they came back with blue hands."
)
LONG_TEXT = SHORT_TEXT + (
    " First, mix the flour with the water and a pinch of salt. Then let the dough rest for an "
    "hour, shape it into a loaf and bake it until the crust is brown. The sum of the angles of a "
    "triangle is 180 degrees, which a person can see by drawing a line through one corner that is "
    "parallel to the other side."
)
_LONGEST = 192  # tokens that are looked at, whatever the tokenizer makes of the text
UNFIT = 0.15  # agreement below it: random embeddings give 0.05, wrong layers of a good head 0.2
MARGIN = 2.5  # standard errors by which another reading must be better than what the file says


@dataclass(frozen=True)
class Reading:
    """A way to read a head, and how it does on the text.

    Attributes:
        layers: indices of transformers' `hidden_states` that it reads.
        meaning: of these layers, and of the embeddings, in words.
        own_embeddings: whether it embeds tokens by its own matrix, not by the target's.
        agreement: share of tokens for which its best next token is the target's.
        overlap: mean of sum(min(p, q)), the probability that a token drawn from it is accepted.
        losses: (n,) cross-entropy of p and q, token by token.
    """

    layers: Layers
    meaning: str
    own_embeddings: bool
    agreement: float
    overlap: float
    losses: Tensor

    def as_dict(self) -> dict[str, object]:
        """Return what is printed as JSON; logits that are not finite have no overlap."""
        return {
            "layers": list(self.layers),
            "meaning": self.meaning,
            "embeddings": "own" if self.own_embeddings else "target",
            "agreement": self.agreement,
            "overlap": self.overlap if math.isfinite(self.overlap) else None,
        }


@dataclass(frozen=True)
class HeadCheck:
    """The readings that were tried, what the file says first, and the one that is kept."""

    tried: tuple[Reading, ...]
    kept: Reading

    @property
    def warning(self) -> str | None:
        """Return a sentence where the head does not fit, or is not read as its file says."""
        said, kept = self.tried[0], self.kept
        if kept.agreement < UNFIT:
            several = f", the best of {len(self.tried)} readings," if len(self.tried) > 1 else ""
            return (
                f"The draft head agrees with the target on {kept.agreement:.1%} of the tokens of a "
                f"short text{several} where a fitting one reaches 20 % and more, so it probably "
                "reads the wrong layers, was trained for another target or needs another "
                "rope_theta; the output stays exact, but drafting will not speed it up."
            )
        if kept is said:
            return None
        return (
            f"The draft head fits better with {_words(kept, said)} than, as its file says, with "
            f"{_words(said, kept)}: on a short text a drafted token would be accepted with "
            f"probability {kept.overlap:.3f} instead of {said.overlap:.3f}, so that is used; "
            "--head-layers chooses other layers."
        )

    def as_dict(self) -> dict[str, object]:
        """Return the kept reading and all that were tried, as plain values."""
        return {**self.kept.as_dict(), "tried": [reading.as_dict() for reading in self.tried]}


def self_check(target: Target, head: Eagle3, known: bool = False) -> HeadCheck:
    """Try what the head may read, set it to the best, and tap the target for that.

    Args:
        known: only what the file says, on the shorter text: somebody ran this very head before.
    """
    choices = head.config.layer_choices(target.layers)
    own, theirs = head.embeddings, target.embeddings.detach()
    has_own = own.data_ptr() != theirs.data_ptr()
    matrices = [own] + ([theirs] if has_own and own.shape[1] == theirs.shape[1] else [])
    if known:
        choices, matrices = choices[:1], matrices[:1]
    ids, logits, features = _run(target, [choice.layers for choice in choices], known)
    tried = []
    for matrix, choice in product(matrices, choices):
        head.embeddings = matrix.to(own.device)
        taken = torch.cat([features[layer] for layer in choice.layers], dim=-1)
        figures = compare(head, ids, taken[:-1], logits)
        is_own = has_own and matrix is own
        tried.append(Reading(choice.layers, choice.meaning, is_own, *figures))
    kept = best(tried)
    head.feature_layers = kept.layers
    head.embeddings = own if kept.own_embeddings else matrices[-1].to(own.device)
    target.tap(head.feature_layers)
    return HeadCheck(tuple(tried), kept)


def best(tried: list[Reading]) -> Reading:
    """Return the reading to keep: the file's own unless another is clearly better and works."""
    kept = tried[0]
    for other in sorted(tried[1:], key=lambda reading: float(reading.losses.mean())):
        gain = tried[0].losses - other.losses  # (n,)
        error = float(gain.std(correction=0)) / math.sqrt(len(gain))
        if other.agreement >= UNFIT and float(gain.mean()) > MARGIN * error:
            return other
    return kept


@torch.inference_mode()
def compare(
    head: Eagle3, tokens: Tensor, features: Tensor, target_logits: Tensor
) -> tuple[float, float, Tensor]:
    """Return agreement, overlap and losses (n - 1,) of a head on a text; see `Reading`.

    Args:
        tokens: (n,) int64, n >= 2.
        features: (n - 1, 3dt) of all tokens but the last.
        target_logits: (n, V), row t of what follows token t.
    """
    logits = head.teacher_forced(tokens, features)  # (n - 1, Vd)
    p = target_logits[1:].float().softmax(-1)  # (n - 1, V)
    drafted, best_token = logits.argmax(-1), p.argmax(-1)
    if head.target_ids is not None:
        drafted, p = head.target_ids[drafted], p[:, head.target_ids]  # (n - 1, Vd)
    p = p[:, : logits.shape[1]]
    log_q = logits.log_softmax(-1)
    overlap = torch.minimum(p, log_q.exp()).sum(-1).mean()
    losses = -(p * log_q).sum(-1)
    return (drafted == best_token).float().mean().item(), overlap.item(), losses


@torch.inference_mode()
def _run(
    target: Target, layers: list[Layers], known: bool
) -> tuple[Tensor, Tensor, dict[int, Tensor]]:
    """Return a text's ids (n,), the target's logits (n, V) and hidden states (n, dt) by index."""
    text = SHORT_TEXT if known else LONG_TEXT
    most = min(_LONGEST, target.context - 1)
    ids = torch.tensor(target.encode(text, raw=True)[:most], device=target.device)
    wanted = sorted({index for three in layers for index in three})
    target.tap(wanted)
    target.reset(len(ids))
    logits, states = target.verify(ids, torch.arange(len(ids), device=target.device))
    # not kept for the first run: a process that is forked off would get the views and the
    # buffers of the cache as copies of their own, if it has a GPU for one run alone (ZeroGPU)
    target.cache.free()
    assert states is not None  # the taps are on
    return ids, logits, dict(zip(wanted, states.chunk(len(wanted), dim=-1), strict=True))


def _words(reading: Reading, other: Reading) -> str:
    """Return in words what a reading has otherwise than another.

    >>> from dataclasses import replace
    >>> one = Reading((2, 15, 27), "its ids as inputs of layers", True, 0, 0, torch.zeros(1))
    >>> _words(one, replace(one, layers=(3, 16, 28), own_embeddings=False))
    'the hidden states 2, 15 and 27 (its ids as inputs of layers) and its own embeddings'
    """
    low, middle, high = reading.layers
    parts = []
    if reading.layers != other.layers:
        parts.append(f"the hidden states {low}, {middle} and {high} ({reading.meaning})")
    if reading.own_embeddings != other.own_embeddings:
        parts.append("its own embeddings" if reading.own_embeddings else "the target's embeddings")
    return " and ".join(parts)
