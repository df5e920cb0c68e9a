"""The strategies as a table: tree policy x verification rule (algorithm.md section 3).

A new one is a row here. A policy may fill slots and rank nodes as it likes, as long as what it
keeps never depends on a sampled token in a way its rule does not model.
"""

from collections.abc import Callable
from dataclasses import dataclass

from rheo.algorithm import verify
from rheo.algorithm.tree import Policy
from rheo.params import DecodeParams


@dataclass(frozen=True)
class Strategy:
    """One row of the table."""

    name: str
    policy: Callable[[DecodeParams], Policy]
    rule: verify.Rule
    lossless: bool
    description: str


def _top_k(params: DecodeParams) -> Policy:
    return Policy(m=params.K, J=0)


def _rheo(params: DecodeParams) -> Policy:
    return Policy(m=params.m, J=params.J)


def _naive(params: DecodeParams) -> Policy:
    return Policy(m=params.m, J=1, proxy=False)


TABLE: dict[str, Strategy] = {
    row.name: row
    for row in (
        Strategy(
            "rheo",
            _rheo,
            verify.rheo,
            True,
            "RheoSampling: m deterministic tokens, one probe drawn from the tail and scored by its "
            "proxy, fillers; verified by RheoVerification.",
        ),
        Strategy(
            "topk",
            _top_k,
            verify.one_hot,
            True,
            "EAGLE-2/3: the K most probable tokens, each verified as a point mass (one-hot).",
        ),
        Strategy(
            "rheo-rrsw",
            _rheo,
            verify.rrsw,
            True,
            "The same tree, verified by recursive rejection: deterministic children, then the "
            "probe, then fillers.",
        ),
        Strategy(
            "rheo-multi",
            _rheo,
            verify.rheo,
            True,
            "Several probes a node, drawn without replacement (beyond the paper).",
        ),
        Strategy(
            "naive",
            _naive,
            verify.rheo,
            False,
            "BIASED, for comparison only: the probe is scored by its own q, so that whether it "
            "survives pruning depends on which token was drawn.",
        ),
        Strategy(
            "autoregressive",
            lambda params: Policy(m=0, J=0),
            verify.one_hot,
            True,
            "No draft: one target forward a token, the reference.",
        ),
    )
}
