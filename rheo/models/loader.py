"""A pair by name: fetched, placed on a device, and checked to fit each other."""

from dataclasses import dataclass

import torch

from rheo.errors import RheoError, reason
from rheo.models.draft.adapt import check_width
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.draft.layer_ids import AskedLayers
from rheo.models.draft.lm import LMDraft
from rheo.models.draft.protocol import Draft
from rheo.models.draft.self_check import HeadCheck, self_check
from rheo.models.hub.catalogue import Pair, pair
from rheo.models.hub.fetch import Paths, Progress, ensure, foreseen, quiet
from rheo.models.placement import check_fit, weights
from rheo.models.target.target import Target


@dataclass(frozen=True)
class LoadedPair:
    """A target and its draft, in memory.

    Attributes:
        pair: the entry of the catalogue that they come from.
        target, draft: the models.
        draft_name: of the draft's folder, for traces.
        check: what a draft head was found to read, and how well it fits; None for a causal LM.
    """

    pair: Pair
    target: Target
    draft: Draft
    draft_name: str
    check: HeadCheck | None = None

    @property
    def agreement(self) -> float | None:
        """Return the head's top-1 agreement with the target on a short text; None for an LM."""
        return self.check.kept.agreement if self.check else None

    @property
    def warning(self) -> str | None:
        """Return a sentence when the draft does not fit its target as its file says, or its window
        is shorter than the target's context; else None."""
        if isinstance(self.draft, LMDraft) and self.draft.window < self.target.context:
            return (
                f"The draft's context ends at {self.draft.window:,} tokens, the target's at "
                f"{self.target.context:,}: in a longer text the draft sees only the latest tokens "
                "and fewer of its guesses are accepted; the text stays the target's."
            )
        return self.check.warning if self.check else None


def load_pair(
    name: str | Pair,
    progress: Progress = quiet,
    *,
    device: str | None = None,
    dtype: torch.dtype | None = None,
    head_layers: AskedLayers | None = None,
    forward: str = "auto",
) -> LoadedPair:
    """Fetch what is missing, load both models, check that they fit.

    Args:
        name: a name of the catalogue, or a Pair of `catalogue.custom`.
        progress: called with each stage, and the share of it that is done where that is known.
        device: default CUDA where there is one, else the CPU.
        dtype: default bfloat16 on CUDA, float32 on a CPU.
        head_layers: what a head reads of the target, instead of trying what its file may mean.
        forward: what runs on a CPU; see `models.cpu.fast_forward`.

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
        target = Target.load(str(paths.target), device=device, dtype=dtype, forward=forward)
        progress("Loading the draft", None)
        draft = _load_draft(chosen, paths, target, head_layers)
        # the head that is shipped was trained here and names no ids: one reading, a short text
        check = self_check(target, draft, chosen.tested) if isinstance(draft, Eagle3) else None
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
    progress("Ready", 1.0)
    return LoadedPair(chosen, target, draft, paths.draft.name, check)


def _load_draft(
    chosen: Pair, paths: Paths, target: Target, head_layers: AskedLayers | None
) -> Draft:
    """Load the draft; `self_check` taps the hidden states that a head reads of the target."""
    if paths.kind == "lm":
        return LMDraft.load(str(paths.draft), target, target.device, target.dtype)
    head = Eagle3.load(
        paths.draft,
        target.embeddings,
        target.layers,
        target.device,
        target.dtype,
        chosen.rope_theta,
        head_layers,
        None if target.forward is None else target.forward.linear,
    )
    check_width(head.config, target.hidden_size)
    return head
