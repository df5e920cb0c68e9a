"""From a packed round to the trace's records: on the host, and only for who asks."""

import math

import numpy as np

from rheo.algorithm.tree import KINDS
from rheo.algorithm.uniforms import Block
from rheo.decoding.round_buffer import Packed
from rheo.decoding.verdict_steps import steps_of
from rheo.trace.schema import Emission, Ghost, Milliseconds, Node, Round, Step, Uniforms, Visit


def record(
    packed: Packed,
    block: Block,
    *,
    index: int,
    position: int,
    emitted: tuple[Emission, ...],
    accepted: int,
    counted: int,
    ms: Milliseconds,
) -> Round:
    """The Round of a packed one; the loop knows what of it reached the text."""
    visits = [i for i, live in enumerate(packed["live"]) if live]
    return Round(
        index=index,
        root=int(packed["token"][0]),
        position=position,
        nodes=_nodes(packed),
        visits=tuple(_visit(packed, i, steps_of(packed, block, i)) for i in visits),
        emitted=emitted,
        accepted=accepted,
        expected_accepted=float(packed["expected"]),
        ms=ms,
        uniforms=Uniforms(
            u1=tuple(map(tuple, block.u1.tolist())),
            u2=tuple(block.u2.tolist()),
            probes=tuple(map(tuple, block.probes.tolist())),
        ),
        counted=counted,
    )


def _nodes(packed: Packed) -> tuple[Node, ...]:
    """Kept nodes with their numbers; a parent carries the siblings that pruning dropped."""
    K = packed["kind_of"].shape[-1]
    token_of, kind_of = packed.ints("token_of"), packed["kind_of"].reshape(-1)
    proxy_of = np.exp(packed["log_proxy_of"]).reshape(-1)
    score_of, true_of = packed["score_of"], packed["true_of"].reshape(-1)
    parents, candidates = packed.ints("parent"), packed.ints("node")
    expansions = packed.ints("expansion")
    kept = set(candidates)
    p, accept = _exact_where_visited(packed)
    nodes = []
    for row, (candidate, parent, e) in enumerate(zip(candidates, parents, expansions, strict=True)):
        slots = range(e * K, e * K + K) if e >= 0 else range(0)
        dropped = [c for c in slots if c not in kept]
        ghosts = [Ghost(c % K, token_of[c], float(proxy_of[c])) for c in dropped]
        has_child = len(dropped) < len(slots)
        root = row == 0
        nodes.append(
            Node(
                kind="root" if root else KINDS[int(kind_of[candidate])],
                token=int(packed["token"][row]),
                parent=-1 if root else parent,
                slot=-1 if root else candidate % K,
                depth=int(packed["depth"][row]),
                proxy=1.0 if root else float(proxy_of[candidate]),
                true=1.0 if root else float(true_of[candidate]),
                score=0.0 if root else max(float(score_of[candidate]), -1e9),
                p=None if root else p[row],
                accept=None if root else accept[row],
                expanded=e >= 0,
                z=math.exp(packed["log_z"][e]) if e >= 0 else None,
                coverage=float(packed["coverage"][e]) if e >= 0 else None,
                ghosts=tuple(ghosts) if has_child else (),
            )
        )
    return tuple(nodes)


def _exact_where_visited(packed: Packed) -> tuple[list[float], list[float]]:
    """p by row, from the visit's own row where there was one: the two differ in the last bits."""
    p, accept = packed["p"].tolist(), packed["accept"].tolist()
    rows = {row: i for i, row in enumerate(packed.ints("visited"))}
    K = packed["kind_of"].shape[-1]
    parents, candidates = packed.ints("parent"), packed.ints("node")
    for row in range(1, len(p)):
        i = rows.get(parents[row])
        if i is not None:
            place = int(packed["rank"][i][candidates[row] % K])
            if place < packed["inside"].shape[-1]:
                p[row] = float(packed["inside"][i][place])
    return p, accept


def _visit(packed: Packed, i: int, steps: list[Step]) -> Visit:
    row = packed.ints("visited")[i]
    expanded = packed["expansion"][row] >= 0
    width = packed["ids"].shape[-1] if expanded else 0
    last = int(packed["rest_counts"][i].nonzero()[0].max(initial=-1)) + 1
    held = packed["outside_p"][i] > 0  # the others are whatever topk found, even in the support
    return Visit(
        node=row,
        ids=tuple(packed["ids"][i, :width].astype(int).tolist()),
        p=tuple(packed["inside"][i, :width].tolist()),
        q=tuple(np.exp(packed["log_q"][i, :width]).tolist()),
        q_tilde=tuple(tuple(q[:width].tolist()) for q in packed["q_tilde"][i]) if expanded else (),
        support_size=packed.support if expanded else 0,
        outside_ids=tuple(packed["outside_ids"][i][held].astype(int).tolist()),
        outside_p=tuple(packed["outside_p"][i][held].tolist()),
        rest=max(0.0, float(packed["rest"][i])),
        mass=float(packed["mass"][i]),
        steps=tuple(steps),
        rest_counts=tuple(packed["rest_counts"][i][:last].astype(int).tolist()),
        rest_masses=tuple(packed["rest_masses"][i][:last].tolist()),
    )
