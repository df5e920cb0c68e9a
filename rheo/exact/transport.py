"""One node as a transport problem: the coupling of probe and emitted token that a rule realises.

The tree's `expand` fills the slots and the rules of `verify` judge them, in float64, batched over
forced probe draws; all K slots are kept (algorithm section 5).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from rheo.algorithm import expansion, verify
from rheo.algorithm.distribution import support, tail, target_distribution
from rheo.algorithm.expansion import KINDS, Expansion
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.verify import Children, NodeRule
from rheo.algorithm.walk import on_support
from rheo.errors import RheoError
from rheo.exact.coupling import Coupling, Draw, OneNode, Split
from rheo.exact.forced_draws import force
from rheo.params import DecodeParams

RULES = ("topk", "rheo-rrsw", "rheo")


def tempered(law: Sequence[float], T: float) -> list[float]:
    """A law at temperature T, as the engine tempers a target.

    >>> [round(x, 3) for x in tempered([0.8, 0.2], 0.5)]
    [0.941, 0.059]
    """
    return target_distribution(_law(law, "p").log(), T).tolist()


def node(
    p: Sequence[float], q: Sequence[float], m: int, K: int, T: float, rules: Sequence[str] = RULES
) -> OneNode:
    """What each rule makes of a node, and the optimum.

    Args:
        p: V masses, the target's law at T already. q: V masses, the draft's at temperature 1.
        m, K, T: as in `DecodeParams`; K <= V.
        rules: strategies with at most one probe.

    Raises:
        RheoError: masses that are no law, or settings that cannot go together.

    >>> made = node([0.4, 0.2, 0.4], [0.6, 0.3, 0.1], m=1, K=2, T=1.0)
    >>> split = made.couplings["rheo"].split
    >>> [round(x, 3) for x in (split.deterministic, split.probe, split.missed, made.optimum)]
    [0.4, 0.45, 0.15, 0.85]
    """
    p_row, log_q = _law(p, "p"), _law(q, "q").log()
    V = p_row.shape[0]
    if log_q.shape[0] != V or not K <= V:
        raise RheoError(f"p and q need the same tokens, at least K = {K} of them.")
    params = DecodeParams(m=m, K=K, T=T, S=None)
    s = support(log_q, None)
    q_tilde = torch.zeros_like(p_row).scatter(0, s.ids, tail(s, m, T))
    return OneNode(
        m=m,
        K=K,
        T=T,
        p=tuple(p_row.tolist()),
        q=tuple(log_q.exp().tolist()),
        q_tilde=tuple(q_tilde.tolist()),
        order=tuple(s.ids.tolist()),
        couplings={name: _coupling(p_row, log_q, params, TABLE[name]) for name in rules},
        optimum=optimum(p_row, q_tilde, s.ids, K),
    )


def optimum(p: Tensor, q_tilde: Tensor, order: Tensor, K: int) -> float:
    """The best acceptance over all couplings of p (V,) and q_tilde (V,), in closed form.

    Whatever is drawn, the children are the top K - 1 tokens B and one more: the probe, or the K-th
    token g where the probe lies in B. So the mass of B's tail tokens may as well lie on g.

    Args:
        order: (V,) tokens by q.
    """
    B, g = order[: K - 1], order[K - 1]
    moved = q_tilde.index_fill(0, B, 0.0)
    moved[g] += q_tilde[B].sum()
    if not float(q_tilde.sum()) > 0:  # no probe: the K-th token takes its slot
        moved[g] = 1.0
    outside = torch.ones_like(p).index_fill(0, B, 0.0)
    return float(p[B].sum() + (torch.minimum(p, moved) * outside).sum())


def _law(masses: Sequence[float], name: str) -> Tensor:
    """Masses (V,) as a float64 law, or a sentence."""
    law = torch.tensor(list(masses), dtype=torch.float64)
    total = law.sum()
    if law.dim() != 1 or not bool(torch.isfinite(law).all() & (law >= 0).all() & (total > 0)):
        raise RheoError(f"{name} must be finite masses, none negative, with a positive sum.")
    return law / total


def _coupling(p: Tensor, log_q: Tensor, params: DecodeParams, row: Strategy) -> Coupling:
    """Enumerate the probe's draws (B) at one node: p (V,), log_q (V,)."""
    policy, V = row.policy(params), p.shape[0]
    if policy.J > 1:
        raise RheoError("A coupling has one probe: choose a strategy with at most one.")
    B = V - policy.m if policy.J else 1
    digits = torch.arange(B)[:, None, None].expand(B, 1, policy.J)
    logits = log_q.expand(B, 1, V)
    uniforms, weight = force(logits, digits, policy, None, params.T)
    x = expansion.expand(logits, uniforms, policy, params.K, None, params.T)
    children, law, on = _judge(x, p, row, policy.m)
    taken = verify.child_probability(on, law, children)  # (B, K)
    left = verify.leftover(on, law, children, x.ids[:, 0], p.expand(B, V))  # (B, V)
    mass = law.residual.sum(-1)
    stop = verify.miss(on, law) / torch.where(mass > 0, mass, 1.0)  # (B,)
    token = x.token()[:, 0]  # (B, K)
    plan = (stop[:, None] * left).scatter_add(-1, token, taken) * weight[:, None]
    by_kind = torch.zeros(len(KINDS), dtype=torch.float64)
    by_kind.index_add_(0, children.kind.flatten(), (taken * weight[:, None]).flatten())
    kinds = torch.full((B, V), -1).scatter(-1, token, children.kind).tolist()
    has_probe = (children.kind == expansion.PROBE).any(-1).tolist()
    probes = token[:, min(policy.m, params.K - 1)].tolist()
    live = [b for b in range(B) if float(weight[b]) > 0]
    return Coupling(
        probes=tuple(probes[b] if has_probe[b] else None for b in live),
        plan=tuple(tuple(plan[b].tolist()) for b in live),
        kinds=tuple(tuple(KINDS[k] if k >= 0 else "" for k in kinds[b]) for b in live),
        split=Split(*by_kind.tolist(), missed=1 - float(by_kind.sum())),
    )


def _judge(x: Expansion, p: Tensor, row: Strategy, m: int) -> tuple[Children, NodeRule, Tensor]:
    """A rule's law at expanded nodes (B, 1) with all slots kept, against p (V,)."""
    rank, kind = x.rank[:, 0], x.kind[:, 0]
    children = Children(rank, torch.ones_like(rank, dtype=torch.bool), kind, m)
    on = on_support(p.expand(rank.shape[0], -1), x.ids[:, 0])[0]  # (B, V + 1)
    return children, row.rule(on, x.q_tilde[:, 0], children), on


def one_draw(
    p: Sequence[float],
    q: Sequence[float],
    m: int,
    K: int,
    T: float,
    strategy: str,
    uniforms: tuple[float, float, float],
) -> Draw:
    """Play one node with recorded uniforms: the probe's draw, its test, the draw that follows.

    Args:
        p, q, m, K, T: as in `node`.
        strategy: one with at most one probe.
    """
    row, params = TABLE[strategy], DecodeParams(m=m, K=K, T=T, S=None)
    policy = row.policy(params)
    p_row, log_q = _law(p, "p"), _law(q, "q").log()
    u = torch.tensor(uniforms, dtype=torch.float64)
    x = expansion.expand(log_q.expand(1, 1, -1), u[None, None, : policy.J], policy, K, None, T)
    children, law, on = _judge(x, p_row, row, policy.m)
    slot, share = verify.choose(on, law, children, u[None, 1 : 1 + policy.J], u[None, 2])
    emitted, *_ = verify.emit(on, law, children, x.ids[:, 0], p_row[None], share)
    ids, token = x.ids[0, 0].tolist(), x.token()[0, 0].tolist()
    kinds = [KINDS[k] for k in children.kind[0].tolist()]
    head = law.tested_first[0].tolist()
    tested = p_row.clone()
    tested[[t for t, h in zip(token, head, strict=True) if h > 0]] = 0.0
    residual = torch.zeros_like(p_row).scatter(0, x.ids[0, 0], law.residual[0, :-1])
    residual = residual / residual.sum()
    rest = [t for t in range(len(p)) if t not in token]
    at, S = int(slot[0]), len(ids)
    return Draw(
        strategy=strategy,
        uniforms=uniforms,
        children=tuple(zip(token, kinds, strict=True)),
        tail=_intervals(ids, x.q_tilde[0, 0, 0, :S].tolist()) if policy.J else (),
        probe=next((t for t, k in zip(token, kinds, strict=True) if k == "probe"), None),
        tested=tuple((tested / tested.sum()).tolist()) if float(tested.sum()) > 0 else tuple(p),
        accept=float(law.accept[0].sum()),
        tested_first=_intervals(token, head),
        residual=tuple(residual.tolist()),
        intervals=_intervals([*token, *rest], [float(residual[t]) for t in [*token, *rest]]),
        share=float(share[0]),
        taken=token[at] if at < K else None,
        emitted=token[at] if at < K else int(emitted[0]),
    )


def _intervals(tokens: list[int], masses: list[float]) -> tuple[tuple[int, float, float], ...]:
    """(token, low, high) of the running sum; tokens without mass have no interval."""
    out, at = [], 0.0
    for token, mass in zip(tokens, masses, strict=True):
        if mass > 0:
            out.append((token, at, at + mass))
        at += mass
    return tuple(out)
