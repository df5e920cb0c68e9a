"""Strategies with one planted mistake each, to show that the audit and the eye notice it.

The rows but `naive` stay out of `strategies.TABLE`: nothing decodes with them.
"""

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.tree import PROBE, Policy
from rheo.algorithm.verify import Children, NodeRule
from rheo.params import DecodeParams


def fillers_first(p: Tensor, q_tilde: Tensor, children: Children) -> NodeRule:
    """RRSw in the wrong order: every point mass before the probe. The fillers were chosen after
    the probe, so that which of them stand in its way depends on what was drawn."""
    first = children.kept & (children.kind != PROBE)
    masses = p.gather(-1, children.rank)
    rest = p.scatter(-1, children.rank, torch.where(first, 0.0, masses))
    probes = verify.rheo(rest, q_tilde, children)
    return probes._replace(tested_first=torch.where(first, masses, 0.0))


def _token_ties(params: DecodeParams) -> Policy:
    return TABLE["rheo"].policy(params)._replace(ties="token")


SABOTAGE: dict[str, Strategy] = {
    row.name: row
    for row in (
        TABLE["naive"],
        Strategy(
            "token-ties",
            _token_ties,
            verify.rheo,
            False,
            "Equal scores are ordered by token id: the drawn token's id decides who is pruned.",
        ),
        Strategy(
            "fillers-first",
            TABLE["rheo-rrsw"].policy,
            fillers_first,
            False,
            "RRSw tests the fillers before the probe, though they were chosen after it.",
        ),
    )
}
