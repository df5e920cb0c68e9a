"""Logits that are not finite end a run, in a sentence that names the model and the round."""

import math

import numpy as np
from torch import Tensor

from rheo.decoding.round_buffer import Outcome
from rheo.errors import RheoError


def check_target(largest: float, total: float, number: int) -> None:
    """Check the target's largest logit, and what its probabilities add up to.

    Args:
        number: of the round, 0 for the prompt.

    Raises:
        RheoError: they are not finite, or add up to something else than 1.
    """
    if not math.isfinite(largest) or not abs(total - 1) < 1e-3:
        where = f"in round {number}" if number else "after the prompt"
        raise RheoError(
            f"The target's logits are not finite {where}, so there is nothing to sample from: the "
            "checkpoint is broken or overflows in this dtype; recorded runs still work."
        )


def check_round(buffer: Outcome, draft: str, done: int) -> None:
    """Check both models' logits by what the host has of a round.

    Args:
        draft: the draft's name.
        done: rounds before this one.

    Raises:
        RheoError: they are not finite.
    """
    worst = float(np.abs(buffer.total - 1).max())
    check_target(float(buffer.p.sum()), 1 + worst, done + 1)
    if np.isnan(buffer.coverage).any():
        raise RheoError(_draft_fault(draft, f"in round {done + 1}"))


def check_trees(coverage: Tensor, target_logits: Tensor, draft: str, tokens: int) -> None:
    """Check both models' logits of trees that were drawn at a context of so many tokens.

    Args:
        coverage: (..., E) the mass of the draft's distribution on its support, node by node.
        target_logits: (..., R + 1, V).

    Raises:
        RheoError: they are not finite.
    """
    where = f"at a context of {tokens} tokens"
    if not bool(coverage.isfinite().all()):
        raise RheoError(_draft_fault(draft, where))
    if not bool(target_logits.amax(-1).isfinite().all()):
        raise RheoError(
            f"The target's logits are not finite {where}, so there is nothing to compare: the "
            "checkpoint is broken or overflows in this dtype."
        )


def _draft_fault(draft: str, where: str) -> str:
    return (
        f"The logits of the draft ({draft}) are not finite {where}: its checkpoint is broken or "
        "overflows in this dtype; the text so far is the target's own, and --strategy "
        "autoregressive goes on without a draft."
    )
