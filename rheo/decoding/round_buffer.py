"""A verified round on its way to the host: one flat tensor, one copy."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rheo.algorithm.tree import Kept, Tree
from rheo.algorithm.walk import Walk, gather_nodes

_RECORDED = 1024  # tokens of a support that a trace stores
OUTSIDE = 20  # most probable tokens outside it
OCTAVES = 64  # of the rest, by p; the last one has all that is smaller


@dataclass(frozen=True)
class Packed:
    """Named arrays of a round, float64, on the host. Ids below 2**53 are exact.

    Rows of `node`... are kept rows; n = visited nodes, N = candidates, E = expanded, S' <= S.
    """

    arrays: dict[str, np.ndarray]
    support: int  # S
    tested_first: bool  # whether the rule tests deterministic children before the probes

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def ints(self, name: str) -> list:
        """An array of ids or indices as plain ints."""
        return self.arrays[name].astype(np.int64).tolist()


def pack(
    tree: Tree,
    kept: Kept,
    walk: Walk,
    p: Tensor,
    accept: Tensor,
    expected: Tensor,
    m: int,
    tested_first: bool = False,
) -> Packed:
    """Everything the loop and the trace want of a round, in one device-to-host copy.

    Args:
        p, accept: (R + 1,) of `walk.acceptance`. expected: () of `walk.expected`.
    """
    x, visits = tree.expanded, walk.visits
    rows = torch.stack([v.row for v in visits])  # (n,)
    seen = gather_nodes(tree, kept, rows, m)
    e = kept.expansion[rows].clamp(min=0)
    width = min(_RECORDED, seen.ids.shape[-1])
    inside = torch.stack([v.p for v in visits])  # (n, S + 1)
    outside = torch.stack([v.outside for v in visits])  # (n, V)
    # what a trace does not record of a support is outside too; an unexpanded node's is not its own
    unrecorded = torch.where(seen.expanded[:, None], inside[:, width:-1], 0.0).to(outside.dtype)
    outside = outside.scatter_add(-1, seen.ids[:, width:], unrecorded)
    top = outside.topk(min(OUTSIDE, outside.shape[-1]), dim=-1)
    residual = torch.stack([v.law.residual for v in visits])
    rest = outside.sum(-1, dtype=torch.float64) - top.values.sum(-1, dtype=torch.float64)
    counts, masses = octaves(outside.scatter(-1, top.indices, 0.0))
    parts = {
        "node": kept.node,
        "token": kept.token,
        "parent": kept.parent,
        "depth": kept.depth,
        "expansion": kept.expansion,
        "p": p,
        "accept": accept,
        "expected": expected,
        "kind_of": x.kind,  # (E, K) and so on: all candidates, for scores and ghosts
        "token_of": tree.token,
        "log_proxy_of": x.log_proxy,
        "score_of": tree.score,
        "true_of": x.true,
        "coverage": x.coverage,
        "log_z": x.log_z,
        "visited": rows,
        "live": torch.stack([v.live for v in visits]),
        "slot": torch.stack([v.slot for v in visits]),
        "share": torch.stack([v.share for v in visits]),
        "total": inside.sum(-1),
        "mass": residual.sum(-1),
        "head": torch.stack([v.law.tested_first for v in visits]),  # (n, K)
        "ratio": torch.stack([v.law.accept for v in visits]),  # (n, J)
        "tested": torch.stack([v.law.tested for v in visits]),  # (n, J)
        "left": residual.gather(-1, seen.children.rank),  # (n, K) residual of the children
        "rank": seen.children.rank,
        "ids": seen.ids[:, :width],
        "inside": inside[:, :width],
        "log_q": x.log_q[e][:, :width],
        "q_tilde": seen.q_tilde[..., :width],  # (n, J, S')
        "outside_ids": top.indices,
        "outside_p": top.values,
        "rest": rest,
        "rest_counts": counts,  # (n, OCTAVES)
        "rest_masses": masses,
        "stopped": torch.stack([walk.row.double(), walk.token.double(), walk.low, walk.high]),
    }
    flat = torch.cat([part.reshape(-1).double() for part in parts.values()]).cpu().numpy()
    arrays, start = {}, 0
    for name, part in parts.items():
        arrays[name] = flat[start : start + part.numel()].reshape(part.shape)
        start += part.numel()
    return Packed(arrays, seen.ids.shape[-1], tested_first)


def octaves(p: Tensor) -> tuple[Tensor, Tensor]:
    """How many of p (n, V) lie in [2^-(k+1), 2^-k), float32, and their mass, float64: (n, OCTAVES).

    >>> counts, masses = octaves(torch.tensor([[0.5, 0.25, 0.125, 0.1, 0.0]]))
    >>> counts[0, :4].tolist(), masses[0, :3].tolist()
    ([1.0, 1.0, 1.0, 1.0], [0.5, 0.25, 0.125])
    """
    # the exponent of a float32, read off its bits: a tenth of the time of a logarithm
    octave = (126 - (p.float().view(torch.int32) >> 23)).clamp(0, OCTAVES - 1).long()
    zero = p.new_zeros(*p.shape[:-1], OCTAVES, dtype=torch.float32)
    counts = zero.scatter_add(-1, octave, (p > 0).float())
    return counts, zero.double().scatter_add(-1, octave, p.double())
