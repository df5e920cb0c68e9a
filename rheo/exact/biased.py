"""Strategies with one planted mistake each, to show that the audit notices it and what it does.

All but `naive` stay out of `strategies.TABLE`: nothing decodes with them.
"""

from dataclasses import replace

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.expansion import PROBE
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.verify import Children, NodeRule
from rheo.params import STRATEGY_FIELDS


def fillers_first(p: Tensor, q_tilde: Tensor, children: Children) -> NodeRule:
    """Return RRSw in the wrong order: every point mass before the probe.

    The fillers were chosen after the probe, so that which of them stand in its way depends on what
    was drawn.
    """
    first = children.kept & (children.kind != PROBE)
    masses = p.gather(-1, children.rank)
    rest = p.scatter(-1, children.rank, torch.where(first, 0.0, masses))
    probes = verify.rheo(rest, q_tilde, children)
    return probes._replace(tested_first=torch.where(first, masses, 0.0))


BIASED_STRATEGIES: dict[str, Strategy] = {
    "naive": TABLE["naive"],
    "token-ties": Strategy(
        replace(
            STRATEGY_FIELDS["rheo"],
            about="Equal scores are ordered by token id: the drawn token's id decides who is "
            "pruned.",
            structural_ties=False,
            lossless=False,
        ),
        verify.rheo,
    ),
    "fillers-first": Strategy(
        replace(
            STRATEGY_FIELDS["rheo-rrsw"],
            about="RRSw tests the fillers before the probe, though they were chosen after it.",
            lossless=False,
        ),
        fillers_first,
    ),
}
