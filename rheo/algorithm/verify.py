"""Verification at one node: one short function per rule (algorithm sections 2.6, 2.7 and 3).

A rule looks at a node through its support: p (..., S + 1) is the target distribution on the
support's tokens, in the node's order, and last the mass of everything outside. All children lie
inside the support, so a rule never sees the vocabulary; only the one emitted token needs a full row
of p. Everything that decides is float64, computed from float32 p and q-tilde.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import draw, locate
from rheo.algorithm.expansion import DETERMINISTIC, PROBE


class Children(NamedTuple):
    """The child slots of a node."""

    rank: Tensor  # (..., K) int64, place in the node's order; distinct
    kept: Tensor  # (..., K) bool
    kind: Tensor  # (..., K) int64
    m: int  # probe j has slot m + j


class NodeRule(NamedTuple):
    """What a rule does at a node: test `tested_first`, then the probes, then draw from `residual`.

    A child of `tested_first` is taken with its mass there; if none is, probe j is accepted with
    probability accept[j]; if none is, a token is drawn from `residual`, which needs no norm.
    """

    tested_first: Tensor  # (..., K) float64, 0 where not tested first
    accept: Tensor  # (..., J) float64, 0 for a probe that is not there
    residual: Tensor  # (..., S + 1) float64, the last entry standing for all outside tokens
    tested: Tensor  # (..., J) float64, each probe's mass in what it was tested against, normalised


# (p (..., S + 1), q-tilde (..., J, S), the slots) -> what is done there
Rule = Callable[[Tensor, Tensor, Children], NodeRule]


def one_hot(p: Tensor, q_tilde: Tensor, children: Children) -> NodeRule:
    """Return the rule for point masses alone: nothing is tested, t ~ p."""
    none = p.new_zeros(q_tilde.shape[:-1])
    return NodeRule(_none_first(p, children), none, p, none)


def rheo(p: Tensor, q_tilde: Tensor, children: Children) -> NodeRule:
    """Return RheoVerification: probes against p, each rejection leaving norm(max(0, r - q-tilde)).

    Args:
        p: (..., S + 1) float64.
        q_tilde: (..., J, S) what each probe was drawn from.
        children: the node's slots.

    Support a, b, c; probe b drawn from q-tilde = (0, .6, .4); p = (.5, .3, .2): it is accepted with
    min(1, .3 / .6) = .5, and its rejection leaves max(0, p - q-tilde) = (.5, 0, 0).

    >>> slots = Children(torch.tensor([0, 1]), torch.tensor([True, True]), torch.tensor([0, 1]), 1)
    >>> p = torch.tensor([0.5, 0.3, 0.2, 0.0], dtype=torch.float64)
    >>> at_node = rheo(p, torch.tensor([[0.0, 0.6, 0.4]], dtype=torch.float64), slots)
    >>> at_node.accept.tolist(), at_node.residual.tolist()
    ([0.5], [0.5, 0.0, 0.0, 0.0])
    """
    return NodeRule(_none_first(p, children), *_test_probes(p, q_tilde, children))


def rrsw(p: Tensor, q_tilde: Tensor, children: Children) -> NodeRule:
    """Return recursive rejection in slot order: deterministic children as point masses, then the
    probe against what they leave of p. It comes before the fillers, which are chosen after it."""
    first = children.kept & (children.kind == DETERMINISTIC)
    masses = p.gather(-1, children.rank)
    rest = p.scatter(-1, children.rank, torch.where(first, 0.0, masses))
    return NodeRule(torch.where(first, masses, 0.0), *_test_probes(rest, q_tilde, children))


def _none_first(p: Tensor, children: Children) -> Tensor:
    return torch.zeros_like(children.rank, dtype=p.dtype)


def _test_probes(r: Tensor, q_tilde: Tensor, children: Children) -> tuple[Tensor, Tensor, Tensor]:
    """Test the kept probes against r (..., S + 1), unnormalised.

    Returns:
        accept (..., J), what is left (..., S + 1), and the probes' masses when tested (..., J).
    """
    accepts = [r.new_zeros(*r.shape[:-1], 0)]
    tested = list(accepts)
    for j in range(q_tilde.shape[-2]):
        slot = children.m + j
        rank = children.rank[..., slot, None]
        present = children.kept[..., slot, None] & (children.kind[..., slot, None] == PROBE)
        q = torch.nn.functional.pad(q_tilde[..., j, :].to(r.dtype), (0, 1))  # (..., S + 1)
        norm = r / _or_one(r.sum(-1, keepdim=True))
        tested.append(norm.gather(-1, rank))  # (..., 1)
        ratio = tested[-1] / _or_one(q.gather(-1, rank))
        left = (norm - q).clamp(min=0.0)
        # p = q-tilde leaves no mass and is rejected by rounding alone: then r itself is legal
        left = torch.where(left.sum(-1, keepdim=True) > 0, left, r)
        accepts.append(torch.where(present, ratio.clamp(max=1.0), 0.0))
        r = torch.where(present, left, r)
    return torch.cat(accepts, -1), r, torch.cat(tested, -1)


def _or_one(mass: Tensor) -> Tensor:
    """Return a divisor: 1 in place of 0, where the quotient's numerator is 0 or not used."""
    return torch.where(mass > 0, mass, 1.0)


def miss(p: Tensor, at_node: NodeRule) -> Tensor:
    """Return the probability (...) that no child is taken before the residual is drawn from."""
    first = at_node.tested_first.sum(-1) / p.sum(-1)
    return (1 - first) * (1 - at_node.accept).prod(-1)


def child_probability(p: Tensor, at_node: NodeRule, children: Children) -> Tensor:
    """Return the probability (..., K) that the walk goes on to each child; 0 where pruned."""
    first = at_node.tested_first / p.sum(-1, keepdim=True)
    survived = (1 - at_node.accept).cumprod(-1)  # (..., J) all probes up to j rejected
    before = torch.cat([torch.ones_like(first[..., :1]), survived], -1)[..., :-1]
    K, J = children.rank.shape[-1], at_node.accept.shape[-1]
    probes = torch.nn.functional.pad(before * at_node.accept, (children.m, K - children.m - J))
    mass = _or_one(at_node.residual.sum(-1, keepdim=True))
    drawn = at_node.residual.gather(-1, children.rank) / mass
    taken = first + (1 - first.sum(-1, keepdim=True)) * probes
    return torch.where(children.kept, taken + miss(p, at_node)[..., None] * drawn, 0.0)


def leftover(
    p: Tensor, at_node: NodeRule, children: Children, ids: Tensor, p_row: Tensor
) -> Tensor:
    """Return the residual (..., V) without the kept children, unnormalised: a stopped walk emits
    from it.

    Args:
        ids: (..., S) of the support.
        p_row: (..., V) the target distribution; outside the support the residual is p_row,
            rescaled.
    """
    scale = at_node.residual[..., -1:] / _or_one(p[..., -1:])
    full = p_row.double() * scale
    return full.scatter(-1, ids, _without_children(at_node.residual, children)[..., :-1])


def _without_children(residual: Tensor, children: Children) -> Tensor:
    masses = residual.gather(-1, children.rank)
    return residual.scatter(-1, children.rank, torch.where(children.kept, 0.0, masses))


def choose(
    p: Tensor, at_node: NodeRule, children: Children, u1: Tensor, u2: Tensor
) -> tuple[Tensor, Tensor]:
    """Sample a node: return the slot gone on to (K for none), and the share of u2 left for the
    emission.

    Args:
        u1: (..., J), one uniform per probe.
        u2: (...), the draw over the children tested first, then over the residual.

    The residual's draw runs over the kept children by slot, then all other tokens by id, so that
    child i is accepted exactly when the share falls into its interval.
    """
    u2, total, first = u2.double(), p.sum(-1), at_node.tested_first.sum(-1)
    x = u2 * total
    was_tested_first = x < first
    share = torch.where(first > 0, (x - first).clamp(min=0.0) / _or_one(total - first), u2)
    passed = u1.double() < at_node.accept  # (..., J) strict: a ratio of 0 is never accepted
    probe = children.m + (passed.long().cumsum(-1) == 0).sum(-1)  # slot of the first one accepted
    masses = torch.where(children.kept, at_node.residual.gather(-1, children.rank), 0.0)  # (..., K)
    other = _without_children(at_node.residual, children).sum(-1, keepdim=True)
    drawn = draw(torch.cat([masses, other], -1), share)
    slot = torch.where(passed.any(-1), probe, drawn)
    return torch.where(was_tested_first, locate(at_node.tested_first, x), slot), share


def emit(
    p: Tensor,
    at_node: NodeRule,
    children: Children,
    ids: Tensor,
    p_row: Tensor,
    share: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw the token (...) that a stopped walk emits, from `leftover`.

    Returns:
        token, low, high: the token's interval in shares of the residual's mass, so that
        low <= share < high can be checked.
    """
    masses = torch.where(children.kept, at_node.residual.gather(-1, children.rank), 0.0)
    taken = masses.sum(-1)
    other = _without_children(at_node.residual, children).sum(-1)
    mass = _or_one(taken + other)
    full = leftover(p, at_node, children, ids, p_row)  # (..., V)
    cumulative = full.cumsum(-1)
    # `other` and the row's own sum differ by rounding: stretch one onto the other
    stretch = _or_one(other) / _or_one(cumulative[..., -1])
    token = locate(full, (share * mass - taken) / stretch)
    high = cumulative.gather(-1, token[..., None])[..., 0]
    low = high - full.gather(-1, token[..., None])[..., 0]
    return token, (taken + low * stretch) / mass, (taken + high * stretch) / mass
