"""A pair by name: fetched, placed on a device, and checked to fit each other."""

from dataclasses import dataclass

import torch

from rheo.errors import RheoError, reason
from rheo.models.draft.adapt import check_width, warn_if_unfit
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.draft.lm import LMDraft
from rheo.models.draft.protocol import Draft
from rheo.models.hub.catalogue import Pair, pair
from rheo.models.hub.fetch import Paths, Progress, ensure, foreseen, quiet
from rheo.models.placement import check_fit, weights
from rheo.models.target.target import Target

# any plain text: a head that fits its target agrees on a quarter of it, one that does not on none
SELF_CHECK = (
    "The river was low that summer, and the children of the village walked across it on the stones "
    "to pick blackberries on the other side. In the evening they came back with blue hands."
)


@dataclass(frozen=True)
class LoadedPair:
    """A target and its draft, in memory.

    Attributes:
        pair: the entry of the catalogue that they come from.
        target, draft: the models.
        draft_name: of the draft's folder, for traces.
        agreement: the draft head's top-1 agreement with the target on a short text; None for a
            causal LM.
        warning: one sentence when the draft does not fit its target, else None.
    """

    pair: Pair
    target: Target
    draft: Draft
    draft_name: str
    agreement: float | None = None
    warning: str | None = None


def load_pair(
    name: str | Pair,
    progress: Progress = quiet,
    *,
    device: str | None = None,
    dtype: torch.dtype | None = None,
) -> LoadedPair:
    """Fetch what is missing, load both models, check that they fit.

    Args:
        name: a name of the catalogue, or a Pair of `catalogue.custom`.
        progress: called with each stage, and the share of it that is done where that is known.
        device: default CUDA where there is one, else the CPU.
        dtype: default bfloat16 on CUDA, float32 on a CPU.

    Raises:
        RheoError: see `fetch.ensure`, `Target.load`, `Eagle3.load`; or too little memory.
    """
    chosen = pair(name) if isinstance(name, str) else name
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    place = torch.device(device)
    coming = sum(map(foreseen, (chosen.target, chosen.draft)))  # numbers still to be downloaded
    check_fit(chosen.name, coming, place, dtype)
    paths = ensure(chosen, progress)
    check_fit(chosen.name, weights(paths.target) + weights(paths.draft), place, dtype)
    progress("Loading the target", None)
    try:
        target = Target.load(str(paths.target), device=device, dtype=dtype)
        progress("Loading the draft", None)
        draft = _load_draft(chosen, paths, target)
        agreement = self_check(target, draft)
    except (MemoryError, torch.OutOfMemoryError):
        raise RheoError(
            f"{chosen.name} does not fit the memory of this machine ({chosen.size}): choose a "
            "smaller pair; recorded runs still work."
        ) from None
    except RheoError:
        raise
    except Exception as error:  # a model may run into anything that its config makes of it
        raise RheoError(
            f"{chosen.name} could not be loaded ({reason(error)}); recorded runs still work."
        ) from error
    warning = None if agreement is None else warn_if_unfit(agreement)
    progress("Ready", 1.0)
    return LoadedPair(chosen, target, draft, paths.draft.name, agreement, warning)


def _load_draft(chosen: Pair, paths: Paths, target: Target) -> Draft:
    """Load the draft, and tap the hidden states that it reads of the target."""
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
    check_width(head.config, target.hidden_size)
    target.tap(head.feature_layers)
    return head


def self_check(target: Target, draft: Draft) -> float | None:
    """Return how often a draft head's best token is the target's on a text; None for an LM."""
    if not isinstance(draft, Eagle3):
        return None
    ids = torch.tensor(target.encode(SELF_CHECK, raw=True), device=target.device)
    target.reset(len(ids))
    positions = torch.arange(len(ids), device=target.device)
    logits, features = target.verify(ids, positions)
    # not kept for the first run: a process that is forked off would get the views and the
    # buffers of the cache as copies of their own, if it has a GPU for one run alone (ZeroGPU)
    target.cache.free()
    return None if features is None else draft.agreement(ids, features[:-1], logits)
