"""One node and its children: slots, probes, proxies (algorithm section 2, steps 1-3).

Shapes: `...` any leading axes, n nodes, S tokens of the support, K child slots, J probes. Nothing
here waits for the host, and every shape follows from the arguments' shapes and K.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import Support, draw, log_tail_mass, support, tail

DETERMINISTIC, PROBE, FILLER = 0, 1, 2
KINDS = ("deterministic", "probe", "filler")


class Policy(NamedTuple):
    """How a strategy fills a node's slots and ranks nodes.

    `proxy=False` scores the probe by its own q, and `ties="token"` breaks equal scores by token
    ids (its keys hold ids below 64): both are biased, and exist to show the damage.
    """

    m: int  # deterministic slots
    J: int  # probe slots
    proxy: bool = True
    ties: Literal["structure", "token"] = "structure"


class Expansion(NamedTuple):
    """Expanded nodes (..., n) with their K children."""

    ids: Tensor  # (..., n, S) int64 target ids of the support, in the node's order
    log_q: Tensor  # (..., n, S)
    q_tilde: Tensor  # (..., n, J, S) what probe j was drawn from: q-tilde without the earlier draws
    coverage: Tensor  # (..., n)
    log_z: Tensor  # (..., n) the tail's mass
    rank: Tensor  # (..., n, K) int64, each child's place in the order
    kind: Tensor  # (..., n, K) int64, an index of KINDS
    log_proxy: Tensor  # (..., n, K) what growth and pruning see
    true: Tensor  # (..., n, K) the draft probability that verification uses

    def token(self) -> Tensor:
        """Return the children's ids (..., n, K), looked up in `ids`."""
        return self.ids.gather(-1, self.rank)


def draw_probes(q_tilde: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Draw J probes without replacement.

    Args:
        q_tilde: (..., S).
        uniforms: (..., J) in [0, 1).

    Returns:
        ranks (..., J), the distributions they were drawn from (..., J, S), and whether there was
        mass left to draw from (..., J).
    """
    ranks, drawn_from, valid = [], [], []
    remaining = q_tilde
    for j in range(uniforms.shape[-1]):
        mass = remaining.sum(-1, keepdim=True)  # (..., 1)
        q = remaining if j == 0 else torch.where(mass > 0, remaining / mass, 0.0)  # (..., S)
        rank = draw(q, uniforms[..., j])  # (...)
        remaining = q.scatter(-1, rank[..., None], 0.0)
        ranks.append(rank)
        drawn_from.append(q)
        valid.append(mass[..., 0] > 0)
    return torch.stack(ranks, -1), torch.stack(drawn_from, -2), torch.stack(valid, -1)


def fill_slots(m: int, K: int, ranks: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Fill slots in the order deterministic 1..m, probes, fillers; no filler repeats a probe.

    Args:
        ranks, valid: (..., J) from `draw_probes`; an invalid draw leaves its slot to a filler.

    Returns:
        rank (..., K) and kind (..., K).

    >>> rank, kind = fill_slots(1, 4, torch.tensor([2]), torch.tensor([True]))
    >>> rank.tolist(), [KINDS[k] for k in kind]
    ([0, 2, 1, 3], ['deterministic', 'probe', 'filler', 'filler'])
    """
    lead, J = ranks.shape[:-1], ranks.shape[-1]
    places = torch.arange(K, device=ranks.device).expand(*lead, K)
    if J == 0:
        return places, torch.where(places < m, DETERMINISTIC, FILLER)
    first, rest = places[..., :m], places[..., m:]  # (..., m), (..., K - m)
    drawn = (rest[..., None] == ranks[..., None, :]) & valid[..., None, :]  # (..., K - m, J)
    fillers = rest.gather(-1, drawn.any(-1).long().argsort(dim=-1, stable=True))
    slot, probes = rest - m, valid.sum(-1, keepdim=True)
    is_probe = slot < probes
    ranks = torch.nn.functional.pad(ranks, (0, K - m - J))
    rank = torch.where(is_probe, ranks, fillers.gather(-1, (slot - probes).clamp(min=0)))
    kind = torch.where(is_probe, PROBE, FILLER)
    all_kinds = torch.cat([torch.full_like(first, DETERMINISTIC), kind], -1)
    return torch.cat([first, rank], -1), all_kinds


def log_proxies(s: Support, log_z: Tensor, rank: Tensor, kind: Tensor, policy: Policy) -> Tensor:
    """Return log proxies (..., K), what growth and pruning rank by.

    A deterministic token or filler v has q(v). A probe has min{q(x_m), z}, whatever was drawn, and
    never less than q of the first filler, so that it stands before the fillers in any dtype.
    """
    own = s.log_q.gather(-1, rank)
    if policy.J == 0 or not policy.proxy:
        return own.clamp(max=0.0)
    probe = s.log_q[..., policy.m]
    if policy.m > 0:
        probe = torch.maximum(torch.minimum(s.log_q[..., policy.m - 1], log_z), probe)
    return torch.where(kind == PROBE, probe[..., None], own).clamp(max=0.0)


def _defined(s: Support) -> Support:
    """Return the same, uniform where a row's logits are not finite; its coverage stays NaN.

    So nothing behind it meets a NaN as a place, and the host finds the fault in what it gets.
    """
    broken = s.coverage.isnan()[..., None]
    uniform = torch.zeros_like(s.log_q).log_softmax(-1)
    return s._replace(
        log_q=torch.where(broken, uniform, s.log_q), logits=torch.where(broken, 0.0, s.logits)
    )


def expand(
    logits: Tensor, uniforms: Tensor, policy: Policy, K: int, S: int | None, T: float
) -> Expansion:
    """Fill the K slots of nodes from their draft logits.

    Args:
        logits: (..., n, Vd) untempered.
        uniforms: (..., n, J), one per probe.
        policy, K, S, T: as in `DecodeParams`; T enters the probe's draw alone.
    """
    s = _defined(support(logits, S))
    log_z = log_tail_mass(s, min(policy.m, s.ids.shape[-1]))
    lead = s.ids.shape[:-1]
    if policy.J:
        ranks, q_tilde, valid = draw_probes(tail(s, policy.m, T), uniforms)
    else:
        ranks = valid = s.ids.new_zeros(*lead, 0)
        q_tilde = s.log_q.new_zeros(*lead, 0, s.ids.shape[-1])
    rank, kind = fill_slots(policy.m, K, ranks, valid)
    true = torch.ones_like(rank, dtype=s.log_q.dtype)
    if policy.J:
        drawn = q_tilde.gather(-1, ranks[..., None])[..., 0]  # (..., J)
        drawn = torch.nn.functional.pad(drawn, (policy.m, K - policy.m - policy.J), value=1.0)
        true = torch.where(kind == PROBE, drawn, true)
    log_proxy = log_proxies(s, log_z, rank, kind, policy)
    return Expansion(s.ids, s.log_q, q_tilde, s.coverage, log_z, rank, kind, log_proxy, true)
