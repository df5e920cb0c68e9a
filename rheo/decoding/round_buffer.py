"""A verified round, on its way to the host: named arrays, one flat tensor, one copy."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rheo.algorithm.expansion import KINDS
from rheo.algorithm.tree import Kept, Tree
from rheo.algorithm.uniforms import Block
from rheo.algorithm.walk import Walk, gather_nodes
from rheo.trace.schema import DraftKind, Emission, Milliseconds

_RECORDED = 1024  # tokens of a support that a trace stores
OUTSIDE = 20  # most probable tokens outside it
OCTAVES = 64  # of the rest, by p; the last one has all that is smaller

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What the text needs of a verified round, on the host: all that a run without a trace keeps.

    R + 1 rows are the kept nodes, the root in row 0. E nodes of the candidate tree were expanded,
    each with K child slots; a candidate's index is expansion * K + slot. n nodes were visited.
    """

    candidate: IntArray  # (R + 1,) index of the candidate, -1 for the root
    token: IntArray  # (R + 1,)
    parent: IntArray  # (R + 1,) row; the root's is 0
    kind: IntArray  # (E, K) an index of KINDS
    coverage: FloatArray  # (E,)
    total: FloatArray  # (n,) sum of p: 1 but for rounding
    p: FloatArray  # (R + 1,) not finite where the target's logits are not
    stop_row: IntArray  # ()
    emitted_token: IntArray  # ()

    def kind_of(self, candidate: int) -> DraftKind:
        """Return what a candidate is."""
        return cast(DraftKind, KINDS[self.kind.flat[candidate]])

    def path(self) -> tuple[list[int], list[Emission]]:
        """Return the committed rows, the root's first, and the emitted tokens, accepted first."""
        rows = [int(self.stop_row)]
        while rows[-1] != 0:
            rows.append(int(self.parent[rows[-1]]))
        rows.reverse()
        emitted = [
            Emission(int(self.token[r]), self.kind_of(self.candidate[r]), r) for r in rows[1:]
        ]
        is_leaf = not (self.parent[1:] == rows[-1]).any()
        last = Emission(int(self.emitted_token), "bonus" if is_leaf else "residual")
        return rows, [*emitted, last]


@dataclass(frozen=True)
class RoundBuffer(Outcome):
    """A round's numbers on the host, one array a field: all that a trace is made of.

    `p` is the target's probability of each row's token at its parent, 1 for the root. J probe
    slots; s <= S recorded tokens of a support.
    """

    # the pruned tree, by row
    depth: IntArray  # (R + 1,)
    expansion: IntArray  # (R + 1,) which of the E it is, -1 where it was not expanded
    accept: FloatArray  # (R + 1,) probability that a walk goes on to it from its parent, or 1
    expected_accepted: FloatArray  # () given the drawn tree

    # the candidate tree
    expanded: IntArray  # (E,) index of the candidate that was expanded, -1 for the root
    candidate_token: IntArray  # (E, K)
    log_proxy: FloatArray  # (E, K)
    score: FloatArray  # (E, K) sum of log proxies along the path
    true: FloatArray  # (E, K) the draft probability that verification uses
    log_z: FloatArray  # (E,)

    # the walk, by visited node
    visited: IntArray  # (n,) row
    live: BoolArray  # (n,) False where the walk had ended before
    slot: IntArray  # (n,) of the child gone on to, K for none
    share: FloatArray  # (n,) u2 rescaled to the residual it draws from
    residual_mass: FloatArray  # (n,) of the last residual before it is normalised
    first_mass: FloatArray  # (n, K) p of the children tested before the probes, else 0
    ratio: FloatArray  # (n, J) min(1, r / q-tilde) of each probe
    tested: FloatArray  # (n, J) each probe's mass r when it was tested, normalised
    child_residual: FloatArray  # (n, K) the last residual's mass on each child
    rank: IntArray  # (n, K) each child's place in the node's order
    support_ids: IntArray  # (n, s)
    support_p: FloatArray  # (n, s)
    support_log_q: FloatArray  # (n, s)
    q_tilde: FloatArray  # (n, J, s) what each probe was drawn from
    outside_ids: IntArray  # (n, OUTSIDE)
    outside_p: FloatArray  # (n, OUTSIDE)
    rest: FloatArray  # (n,) p of everything else
    rest_counts: IntArray  # (n, OCTAVES) tokens of the rest by octave of p
    rest_masses: FloatArray  # (n, OCTAVES)

    # where the walk stopped
    emitted_low: FloatArray  # () its interval, in shares of the residual's mass
    emitted_high: FloatArray  # ()

    support_size: int  # S
    deterministic_first: bool  # whether the rule tests deterministic children before the probes


def expected_of(outcome: Outcome) -> float | None:
    """Return the expected accepted tokens given the drawn tree; None without a record."""
    return float(outcome.expected_accepted) if isinstance(outcome, RoundBuffer) else None


@dataclass(frozen=True)
class Decoded:
    """A round as the loop knows it; `recorder.record_round` makes the trace's Round of it.

    Attributes:
        index: of the round in its run.
        position: of the root in the sequence, prompt included.
        emitted: tokens that reached the text.
        text: what they added to it.
        accepted, counted: draft tokens accepted, and tokens that count for tau.
        expected_accepted: expected accepted tokens given the drawn tree; None without a record.
        ms: where its time went.
        buffer, block: its numbers (a `RoundBuffer` where it is recorded) and its uniforms.
    """

    index: int
    position: int
    emitted: tuple[Emission, ...]
    text: str
    accepted: int
    counted: int
    expected_accepted: float | None
    ms: Milliseconds
    buffer: Outcome
    block: Block


def pack(
    tree: Tree,
    kept: Kept,
    walk: Walk,
    p: Tensor,
    accept: Tensor,
    expected: Tensor,
    m: int,
    deterministic_first: bool = False,
) -> RoundBuffer:
    """Return everything the loop and the trace want of a round, after one device-to-host copy.

    Args:
        tree: all candidates. kept: those that pruning left. walk: what verification did.
        p, accept: (R + 1,) of `walk.acceptance`. expected: () of `walk.expected`.
        m: deterministic slots of the tree's policy.
        deterministic_first: whether the rule tests deterministic children before the probes.
    """
    x = tree.expanded
    K = x.kind.shape[-1]
    parts = {
        "candidate": kept.node,
        "token": kept.token,
        "parent": kept.parent,
        "depth": kept.depth,
        "expansion": kept.expansion,
        "p": p,
        "accept": accept,
        "expected_accepted": expected,
        "expanded": tree.node,
        "kind": x.kind,
        "candidate_token": tree.token.view(-1, K),
        "log_proxy": x.log_proxy,
        "score": tree.score.view(-1, K),
        "true": x.true,
        "coverage": x.coverage,
        "log_z": x.log_z,
        **_visits(tree, kept, walk, m),
        "stop_row": walk.row,
        "emitted_token": walk.token,
        "emitted_low": walk.low,
        "emitted_high": walk.high,
    }
    return RoundBuffer(
        **_nodes_alone(_to_host(parts)),
        support_size=x.ids.shape[-1],
        deterministic_first=deterministic_first,
    )


def pack_outcome(tree: Tree, kept: Kept, walk: Walk, p: Tensor) -> Outcome:
    """Return what the text needs of a round, after one device-to-host copy; see `pack`."""
    parts = {
        "candidate": kept.node,
        "token": kept.token,
        "parent": kept.parent,
        "kind": tree.expanded.kind,
        "coverage": tree.expanded.coverage,
        "total": torch.stack([v.p.sum(-1) for v in walk.visits]),
        "p": p,
        "stop_row": walk.row,
        "emitted_token": walk.token,
    }
    return Outcome(**_nodes_alone(_to_host(parts)))


def _nodes_alone(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays without the rows that a budget leaves over off a CPU (see `Kept`)."""
    there = 1 + np.count_nonzero(arrays["candidate"][1:] >= 0)
    return arrays | {name: arrays[name][:there] for name in _BY_ROW if name in arrays}


def _visits(tree: Tree, kept: Kept, walk: Walk, m: int) -> dict[str, Tensor]:
    """Return the walk's fields of a RoundBuffer, still on the device."""
    visits = walk.visits
    rows = torch.stack([v.row for v in visits])  # (n,)
    nodes = gather_nodes(tree, kept, rows, m)
    expansion = kept.expansion[rows].clamp(min=0)  # (n,)
    width = min(_RECORDED, nodes.ids.shape[-1])
    inside = torch.stack([v.p for v in visits])  # (n, S + 1)
    outside = torch.stack([v.outside for v in visits])  # (n, V)
    # what a trace does not record of a support is outside too; an unexpanded node's is not its own
    unrecorded = torch.where(nodes.expanded[:, None], inside[:, width:-1], 0.0).to(outside.dtype)
    outside = outside.scatter_add(-1, nodes.ids[:, width:], unrecorded)
    top = outside.topk(min(OUTSIDE, outside.shape[-1]), dim=-1)
    rest = outside.sum(-1, dtype=torch.float64) - top.values.sum(-1, dtype=torch.float64)  # (n,)
    counts, masses = octaves(outside.scatter(-1, top.indices, 0.0))
    residual = torch.stack([v.at_node.residual for v in visits])  # (n, S + 1)
    return {
        "visited": rows,
        "live": torch.stack([v.live for v in visits]),
        "slot": torch.stack([v.slot for v in visits]),
        "share": torch.stack([v.share for v in visits]),
        "total": inside.sum(-1),
        "residual_mass": residual.sum(-1),
        "first_mass": torch.stack([v.at_node.tested_first for v in visits]),
        "ratio": torch.stack([v.at_node.accept for v in visits]),
        "tested": torch.stack([v.at_node.tested for v in visits]),
        "child_residual": residual.gather(-1, nodes.children.rank),
        "rank": nodes.children.rank,
        "support_ids": nodes.ids[:, :width],
        "support_p": inside[:, :width],
        "support_log_q": tree.expanded.log_q[expansion][:, :width],
        "q_tilde": nodes.q_tilde[..., :width],
        "outside_ids": top.indices,
        "outside_p": top.values,
        "rest": rest,
        "rest_counts": counts,
        "rest_masses": masses,
    }


_BY_ROW = ("candidate", "token", "parent", "depth", "expansion", "p", "accept")
_HOST_TYPES = {torch.bool: np.bool_, torch.int64: np.int64}  # of all others: float64


def _to_host(parts: dict[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Copy tensors to the host as one; float64 holds integers exactly up to 2**53."""
    flat = torch.cat([part.reshape(-1).double() for part in parts.values()]).cpu().numpy()
    arrays: dict[str, NDArray[Any]] = {}
    start = 0
    for name, part in parts.items():
        stop = start + part.numel()
        values = flat[start:stop].reshape(part.shape)
        arrays[name] = values.astype(_HOST_TYPES.get(part.dtype, np.float64), copy=False)
        start = stop
    return arrays


def octaves(p: Tensor) -> tuple[Tensor, Tensor]:
    """Count how many of p (n, V), float32, lie in [2^-(k+1), 2^-k), and add up their mass.

    Returns:
        (n, OCTAVES) int64 counts and (n, OCTAVES) float64 masses.

    >>> counts, masses = octaves(torch.tensor([[0.5, 0.25, 0.125, 0.1, 0.0]]))
    >>> counts[0, :4].tolist(), masses[0, :3].tolist()
    ([1, 1, 1, 1], [0.5, 0.25, 0.125])
    """
    # the exponent of a float32, read off its bits: a tenth of the time of a logarithm
    octave = (126 - (p.float().view(torch.int32) >> 23)).clamp(0, OCTAVES - 1).long()
    zero = p.new_zeros(*p.shape[:-1], OCTAVES, dtype=torch.float32)
    counts = zero.scatter_add(-1, octave, (p > 0).float())
    return counts.long(), zero.double().scatter_add(-1, octave, p.double())
