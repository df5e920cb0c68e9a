"""The exact law of a round: every probe draw, with its weight (algorithm section 5).

Nothing is implemented a second time here: trees are grown and pruned by `tree`, judged by the rules
of `verify` through `walk`, in float64 and batched over forced draws. What is new is only the
bookkeeping: which uniforms force which draw, and how probabilities add up to a law.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rheo.algorithm import verify
from rheo.algorithm.expansion import KINDS, Policy
from rheo.algorithm.strategies import TABLE, Strategy
from rheo.algorithm.tree import Kept, Tree, grow, prune
from rheo.algorithm.walk import TargetRows, acceptance, gather_nodes, on_support, reach
from rheo.errors import RheoError
from rheo.exact.forced_draws import force
from rheo.params import DecodeParams

_CHUNK = 1 << 14  # forced draws at a time
MAX_DRAWS = 1 << 20
MAX_VOCABULARY = 8


@dataclass(frozen=True)
class World:
    """A target and a draft small enough to enumerate.

    Attributes:
        vocab: V <= 8.
        q, p: context (token ids after the root) -> distribution over V. q is at temperature 1; p is
            the law at T already.
    """

    vocab: int
    q: dict[tuple[int, ...], list[float]]
    p: dict[tuple[int, ...], list[float]]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "World":
        """From the form of the vectors: contexts written "0,3", the root's ""."""

        def table(rows: dict[str, list[float]]) -> dict[tuple[int, ...], list[float]]:
            return {
                tuple(map(int, key.split(","))) if key else (): row for key, row in rows.items()
            }

        try:
            return cls(int(data["vocab"]), table(data["q"]), table(data["p"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RheoError(f"This is not a world: {type(error).__name__}: {error}.") from None


@dataclass(frozen=True)
class Audit:
    """What a strategy does in a world, exactly."""

    tv: float
    expected_accepted: float
    first_acceptance: float
    accepted_by_kind: dict[str, float]
    worst: tuple[int, ...]  # the sequence whose probability is furthest off
    worst_law: float
    worst_target: float
    law: Tensor  # (V,) * (depth + 1) float64
    target: Tensor  # same shape

    def as_dict(self) -> dict[str, Any]:
        """The figures of the vectors."""
        return {
            "tv": self.tv,
            "expected_accepted": self.expected_accepted,
            "first_acceptance": self.first_acceptance,
            "accepted_by_kind": self.accepted_by_kind,
        }


class _Tables(NamedTuple):
    """A world as tensors: the row of context t1..tL is offset(L) + its base-V code."""

    q: Tensor  # (contexts up to depth - 1, V) log q
    p: Tensor  # (contexts up to depth, V)
    vocab: int

    def row(self, code: Tensor, length: Tensor | int) -> Tensor:
        return (self.vocab**length - 1) // (self.vocab - 1) + code


def audit(
    world: World,
    params: DecodeParams,
    strategy: str | Strategy | None = None,
    ties: str | None = None,
) -> Audit:
    """The exact law of the first depth + 1 emitted tokens, and of what a round accepts.

    Args:
        params: m, K, R, depth, T, S and probes are read. p is not tempered.
        strategy: instead of params.strategy; a row that is not in the table (`sabotage`) will do.
        ties: "token" breaks ties between nodes by token ids, to show what that does.

    When the round has ended, emission continues from p.
    """
    row = strategy if isinstance(strategy, Strategy) else TABLE[strategy or params.strategy]
    policy = row.policy(params)
    policy = policy if ties is None else policy._replace(ties=ties)
    tables = _tables(world, params)
    depth, V = params.depth, world.vocab
    masses = [torch.zeros(V ** (length + 1), dtype=torch.float64) for length in range(depth + 1)]
    by_depth_kind = torch.zeros(depth + 1, len(KINDS), dtype=torch.float64)
    for digits in _forced_draws(tables, params, policy):
        tree, weight = _grow_forced(tables, params, policy, digits)
        kept = prune(tree, torch.zeros(digits.shape[0], dtype=torch.int64), params.R)
        _tally(tables, params, policy, row.rule, tree, kept, weight, masses, by_depth_kind)
    law, target = _complete(tables, masses, depth)
    gap = (law - target).abs()
    worst = int(gap.argmax())
    sequence = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), (V,) * (depth + 1)))
    return Audit(
        tv=float(gap.sum() / 2),
        expected_accepted=float(by_depth_kind.sum()),
        first_acceptance=float(by_depth_kind[1].sum()),
        accepted_by_kind=dict(zip(KINDS, by_depth_kind.sum(0).tolist(), strict=True)),
        worst=sequence,
        worst_law=float(law[worst]),
        worst_target=float(target[worst]),
        law=law.reshape((V,) * (depth + 1)),
        target=target.reshape((V,) * (depth + 1)),
    )


def _tables(world: World, params: DecodeParams) -> _Tables:
    V = world.vocab
    if not 2 <= V <= MAX_VOCABULARY:
        raise RheoError(f"An audit takes a vocabulary of 2 to {MAX_VOCABULARY} tokens, not {V}.")
    if params.K > V:
        raise RheoError(f"K = {params.K} slots need as many tokens, and the world has {V}.")

    def stack(rows: dict[tuple[int, ...], list[float]], depth: int, name: str) -> Tensor:
        contexts = [c for n in range(depth + 1) for c in itertools.product(range(V), repeat=n)]
        missing = next((c for c in contexts if len(rows.get(c, ())) != V), None)
        if missing is not None:
            raise RheoError(f"The world lacks a whole {name} for the context {list(missing)}.")
        table = torch.tensor([rows[c] for c in contexts], dtype=torch.float64)
        sums = table.sum(-1, keepdim=True)
        if (
            not bool(torch.isfinite(table).all())
            or bool((table < 0).any())
            or bool((sums <= 0).any())
        ):
            raise RheoError(f"The world's {name} has a row that is no distribution.")
        return table / sums

    return _Tables(
        stack(world.q, params.depth - 1, "q").log(), stack(world.p, params.depth, "p"), V
    )


def _forced_draws(tables: _Tables, params: DecodeParams, policy: Policy) -> Iterator[Tensor]:
    """Every combination of outcomes, one digit a probe: chunks (B, E, J) of places in the tail."""
    E = 1 + params.K * (params.depth - 1)
    outcomes = min(params.S or tables.vocab, tables.vocab) - policy.m
    probes = E * policy.J
    count = outcomes**probes if probes else 1
    if count > MAX_DRAWS:
        raise RheoError(
            f"This world has {count:,} combinations of probe draws, more than an audit enumerates: "
            "choose a smaller depth, K or S."
        )
    powers = torch.tensor([outcomes**i for i in range(probes)], dtype=torch.int64)
    for start in range(0, count, _CHUNK):
        number = torch.arange(start, min(start + _CHUNK, count))[:, None]
        yield (number // powers % max(outcomes, 1)).reshape(len(number), E, policy.J)


def _grow_forced(
    tables: _Tables, params: DecodeParams, policy: Policy, digits: Tensor
) -> tuple[Tree, Tensor]:
    """Grow the engine's trees (batch B) under forced draws; also the probability (B,) of those."""
    B, K, V = digits.shape[0], params.K, tables.vocab
    weight = torch.ones(B, dtype=torch.float64)
    code, length = torch.zeros(B, 1, dtype=torch.int64), 0

    def draft_level(tokens: Tensor, parents: Tensor) -> Tensor:
        nonlocal code, length
        code, length = code.gather(-1, parents) * V + tokens, length + 1
        return tables.q[tables.row(code, length)]

    def forced(d: int, logits: Tensor) -> Tensor:
        block = digits[:, :1] if d == 0 else digits[:, 1 + (d - 1) * K : 1 + d * K]
        uniforms, mass = force(logits, block, policy, params.S, params.T)
        weight.mul_(mass)
        return uniforms

    root_logits = tables.q[0].expand(B, V)
    sizes = {"K": K, "depth": params.depth, "S": params.S, "T": params.T}
    return grow(root_logits, draft_level, forced, policy, **sizes), weight


def _tally(
    tables: _Tables,
    params: DecodeParams,
    policy: Policy,
    rule: verify.Rule,
    tree: Tree,
    kept: Kept,
    weight: Tensor,
    masses: list[Tensor],
    by_depth_kind: Tensor,
) -> None:
    """Add what these trees emit, by length and sequence, and accept, by depth and kind."""
    code = torch.zeros_like(kept.token)
    for _ in range(params.depth):  # the root's code is 0; parents are right after one pass a level
        code = torch.where(
            kept.depth > 0, code.gather(-1, kept.parent) * tables.vocab + kept.token, 0
        )
    p_row = tables.p[tables.row(code, kept.depth)]  # (B, R + 1, V)
    rows = torch.arange(kept.token.shape[-1])
    target = TargetRows(p_row.log(), T=1.0)
    accept = acceptance(tree, kept, target, rule, policy.m, rows)[1]
    reached = reach(kept, accept, params.depth) * weight[:, None]  # (B, R + 1)
    node = gather_nodes(tree, kept, rows.expand(kept.token.shape), policy.m)
    p = on_support(p_row, node.ids)[0]
    law = rule(p, node.q_tilde, node.children)
    full = verify.leftover(p, law, node.children, node.ids, p_row)
    mass = law.residual.sum(-1)
    stop = reached * verify.miss(p, law) / torch.where(mass > 0, mass, 1.0)
    emitted = stop[..., None] * full  # (B, R + 1, V)
    sequence = code[..., None] * tables.vocab + torch.arange(tables.vocab)
    for length, into in enumerate(masses):
        here = kept.depth == length
        into.index_add_(0, sequence[here].flatten(), emitted[here].flatten())
    kind = tree.expanded.kind.flatten(-2).gather(-1, kept.node.clamp(min=0))
    place = (kept.depth * len(KINDS) + kind)[:, 1:].flatten()
    by_depth_kind.view(-1).index_add_(0, place, reached[:, 1:].flatten())


def _complete(tables: _Tables, masses: list[Tensor], depth: int) -> tuple[Tensor, Tensor]:
    """The law of depth + 1 tokens, shorter rounds going on from p, and the target's."""
    law = target = torch.ones(1, dtype=torch.float64)
    law = law * 0
    for length, mass in enumerate(masses):
        code = torch.arange(tables.vocab**length)
        p = tables.p[tables.row(code, length)]  # (V ** length, V)
        law = (law[:, None] * p).flatten() + mass
        target = (target[:, None] * p).flatten()
    return law, target


# the vectors' short names -> (strategy, probes, ties)
NAMES: dict[str, tuple[str, int, str]] = {
    **{name: (name, 1, "structure") for name in ("topk", "rheo", "naive", "rheo-rrsw")},
    "rrsw": ("rheo-rrsw", 1, "structure"),
    "rheo2": ("rheo-multi", 2, "structure"),
    "rheo-multi": ("rheo-multi", 2, "structure"),
    "rheo_token_ties": ("rheo", 1, "token"),
}


def audit_case(case: dict[str, Any]) -> dict[str, Any]:
    """One line of a vectors file: `world`, `params`, and the strategies named in `expected`."""
    try:
        given = {k: v for k, v in case["params"].items() if k != "beam"}
        if case["params"].get("beam", given["K"]) != given["K"]:
            raise RheoError("The beam is K here: a case with another beam cannot be audited.")
        world, out = World.from_json(case["world"]), {"id": case["id"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise RheoError(f"This line is not a case: it lacks {error}.") from None
    for name in case.get("expected") or ("topk", "rrsw", "rheo"):
        if name not in NAMES:
            raise RheoError(f"There is no strategy {name!r}: choose from {', '.join(NAMES)}.")
        strategy, probes, ties = NAMES[name]
        params = DecodeParams(strategy=strategy, probes=probes, **given)
        out[name] = audit(world, params, ties=ties).as_dict()
    return out


def audit_file(path: Path | str) -> Iterator[dict[str, Any]]:
    """`audit_case` for each line of a .jsonl file."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RheoError(f"{path} could not be read: {error}.") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise RheoError(f"Line {number} of {path} is not JSON: {error}.") from None
        yield audit_case(case)
