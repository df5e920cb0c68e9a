"""One node as a transport problem, and one draw at it as a round.

`node` gives the coupling of probe and emitted token that a rule realises: the tree's `expand` fills
the slots and the rules of `verify` judge them, in float64, batched over forced probe draws.
`one_draw` plays the node with the decoder's functions. All K slots are kept (algorithm section 5).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.distribution import support, tail, target_distribution
from rheo.algorithm.expansion import KINDS, PROBE, Expansion, expand
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.tree import grow, prune
from rheo.algorithm.uniforms import Block, recorded
from rheo.algorithm.verify import Children, NodeRule
from rheo.algorithm.walk import TargetRows, acceptance, expected, on_support, walk
from rheo.decoding.round_buffer import RoundBuffer, pack
from rheo.decoding.round_record import round_of
from rheo.errors import RheoError
from rheo.exact.coupling import Coupling, OneNode, Split
from rheo.exact.forced_draws import force
from rheo.params import DecodeParams
from rheo.trace.schema import Emission, Milliseconds, Origin, Run

RULES = ("topk", "rheo-rrsw", "rheo")
ROOT_NAME = "…"  # of the text before the node, whatever it was


def tempered(masses: Sequence[float], T: float) -> list[float]:
    """Return a distribution at temperature T, as the engine tempers a target.

    >>> [round(x, 3) for x in tempered([0.8, 0.2], 0.5)]
    [0.941, 0.059]
    """
    return target_distribution(_normalised(masses, "p").log(), T).tolist()


def node(
    p: Sequence[float], q: Sequence[float], m: int, K: int, T: float, rules: Sequence[str] = RULES
) -> OneNode:
    """Return what each rule makes of a node, and the optimum.

    Args:
        p: V masses, the target at T already. q: V masses, the draft at temperature 1.
        m, K, T: as in `DecodeParams`; K <= V.
        rules: strategies with at most one probe.

    Raises:
        RheoError: masses that are no distribution, or settings that cannot go together.

    >>> made = node([0.4, 0.2, 0.4], [0.6, 0.3, 0.1], m=1, K=2, T=1.0)
    >>> split = made.couplings["rheo"].split
    >>> [round(x, 3) for x in (split.deterministic, split.probe, split.missed, made.optimum)]
    [0.4, 0.45, 0.15, 0.85]
    """
    p_row, log_q = _both(p, q, K)
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
    """Return the best acceptance over all couplings of p (V,) and q_tilde (V,), in closed form.

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


def _both(p: Sequence[float], q: Sequence[float], K: int) -> tuple[Tensor, Tensor]:
    """Return p (V,) and log q (V,), float64, of the same tokens."""
    p_row, log_q = _normalised(p, "p"), _normalised(q, "q").log()
    if log_q.shape != p_row.shape or len(p_row) < K:
        raise RheoError(f"p and q need the same tokens, at least K = {K} of them.")
    return p_row, log_q


def _normalised(masses: Sequence[float], name: str) -> Tensor:
    """Return masses (V,) as a float64 distribution; raise RheoError where they are none."""
    row = torch.tensor(list(masses), dtype=torch.float64)
    total = row.sum()
    if row.dim() != 1 or not bool(torch.isfinite(row).all() & (row >= 0).all() & (total > 0)):
        raise RheoError(f"{name} must be finite masses, none negative, with a positive sum.")
    return row / total


def _coupling(p: Tensor, log_q: Tensor, params: DecodeParams, row: Strategy) -> Coupling:
    """Enumerate the probe's draws (B) at one node: p (V,), log_q (V,)."""
    policy, V = row.policy(params), p.shape[0]
    if policy.J > 1:
        raise RheoError("A coupling has one probe: choose a strategy with at most one.")
    B = V - policy.m if policy.J else 1
    digits = torch.arange(B)[:, None, None].expand(B, 1, policy.J)
    logits = log_q.expand(B, 1, V)
    uniforms, weight = force(logits, digits, policy, None, params.T)
    x = expand(logits, uniforms, policy, params.K, None, params.T)
    children, judged, on = _judge(x, p, row, policy.m)
    taken = verify.child_probability(on, judged, children)  # (B, K)
    left = verify.leftover(on, judged, children, x.ids[:, 0], p.expand(B, V))  # (B, V)
    mass = judged.residual.sum(-1)
    stop = verify.miss(on, judged) / torch.where(mass > 0, mass, 1.0)  # (B,)
    token = x.token()[:, 0]  # (B, K)
    plan = (stop[:, None] * left).scatter_add(-1, token, taken) * weight[:, None]
    by_kind = torch.zeros(len(KINDS), dtype=torch.float64)
    by_kind.index_add_(0, children.kind.flatten(), (taken * weight[:, None]).flatten())
    kinds = torch.full((B, V), -1).scatter(-1, token, children.kind).tolist()
    has_probe = (children.kind == PROBE).any(-1).tolist()
    probes = token[:, min(policy.m, params.K - 1)].tolist()
    live = [b for b in range(B) if float(weight[b]) > 0]
    deterministic, probe, filler = by_kind.tolist()
    return Coupling(
        probes=tuple(probes[b] if has_probe[b] else None for b in live),
        plan=tuple(tuple(plan[b].tolist()) for b in live),
        kinds=tuple(tuple(KINDS[k] if k >= 0 else "" for k in kinds[b]) for b in live),
        split=Split(deterministic, probe, filler, missed=1 - float(by_kind.sum())),
    )


def _judge(x: Expansion, p: Tensor, row: Strategy, m: int) -> tuple[Children, NodeRule, Tensor]:
    """Apply a rule at expanded nodes (B, 1) with all slots kept, against p (V,)."""
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
    tokens: Sequence[str] | None = None,
) -> Run:
    """Draw once at a node, as a run of one round that the decoder's own functions make and record.

    The tree has depth 1 and keeps all K slots. The walk ends at the node: where it goes on to a
    child, what the target says behind that child is not part of the node, and no bonus token is
    drawn.

    Args:
        p, q, m, K, T: as in `node`.
        strategy: one with at most one probe.
        uniforms: of the probe's draw, of its test, of the draw that follows.
        tokens: how to show each of the V tokens; their ids where None. The root has the id V.

    >>> run = one_draw([0.4, 0.2, 0.4], [0.6, 0.3, 0.1], 1, 2, 1.0, "rheo", (0.5, 0.9, 0.8))
    >>> [(s.rule, s.token, s.verdict) for s in run.rounds[0].visits[0].steps]
    [('probe', 1, 'reject'), ('sibling', 0, 'reject'), ('emit', 2, 'emit')]
    """
    p_row, log_q = _both(p, q, K)
    V = p_row.shape[0]
    params = DecodeParams(strategy=strategy, m=m, K=K, R=K, depth=1, T=T, S=None, max_new_tokens=1)
    row = TABLE[strategy]
    policy = row.policy(params)
    u = torch.tensor(uniforms, dtype=torch.float64)
    block = Block(u2=u[2:], u1=u[None, 1 : 1 + policy.J], probes=u[None, : policy.J])
    tree = grow(log_q, _no_level, recorded([block.probes]), policy, K=K, depth=1, S=None, T=T)
    kept = prune(tree, torch.tensor(V), K)
    target = TargetRows(p_row.log().expand(K + 1, V), T=1.0)  # p is at T; the root's row is read
    walked = walk(tree, kept, target, row.rule, block.u1, block.u2, policy.m)
    mass, accept = acceptance(tree, kept, target, row.rule, policy.m, torch.tensor([0]))
    buffer = pack(
        tree,
        kept,
        walked,
        mass,
        accept,
        expected(kept, accept, depth=1),
        policy.m,
        deterministic_first=params.fields.tests_deterministic_first,
    )
    names = tokens or [str(token) for token in range(V)]
    return _recorded(buffer, block, params, {**dict(enumerate(names)), V: ROOT_NAME})


def _no_level(tokens: Tensor, parents: Tensor) -> Tensor:
    raise AssertionError("a tree of depth 1 has one level, and the root's logits are its draft")


def _recorded(
    buffer: RoundBuffer, block: Block, params: DecodeParams, tokens: dict[int, str]
) -> Run:
    """Return the run of one round whose only visit is the root's; no clock ran and no model did."""
    timeless = Milliseconds(0.0, 0.0, 0.0, 0.0)
    drawn = round_of(
        buffer, block, index=0, position=0, emitted=(), accepted=0, counted=1, ms=timeless
    )
    last = drawn.visits[0].steps[-1]
    kind = "root" if last.child is None else drawn.nodes[last.child].kind
    origin: Origin = "residual" if kind == "root" else kind  # no walk goes on to the root
    emitted = (Emission(last.token, origin, last.child),)
    drawn = replace(drawn, emitted=emitted, accepted=int(last.child is not None))
    return Run(
        pair="",
        target="",
        draft="",
        device="cpu",
        dtype="float64",
        versions={},
        params=params.as_dict(),
        prompt="",
        prompt_token_ids=(),
        first=Emission(drawn.root, "prefill"),
        rounds=(drawn,),
        stop="length",
        text=tokens[last.token],
        tokens=tokens,
    )
