"""From a round's numbers on the host to the trace's Round: no model, no clock, nothing decided."""

import math

import numpy as np

from rheo.algorithm.expansion import KINDS
from rheo.algorithm.uniforms import Block
from rheo.decoding.round_buffer import FloatArray, RoundBuffer
from rheo.decoding.verdict_steps import steps_of
from rheo.trace.schema import (
    Candidates,
    Emission,
    Ghost,
    Milliseconds,
    Node,
    Round,
    Step,
    Uniforms,
    Visit,
)

_RULED_OUT = -1e9  # the least score: of a token that the draft gives no probability
_LETTERS = np.array([kind[0] for kind in KINDS])


def round_of(
    buffer: RoundBuffer,
    block: Block,
    *,
    index: int,
    position: int,
    emitted: tuple[Emission, ...],
    accepted: int,
    counted: int,
    ms: Milliseconds,
) -> Round:
    """Return the Round of a verified one; whoever drew it knows what of it reached the text."""
    visits = [int(i) for i in buffer.live.nonzero()[0]]
    return Round(
        index=index,
        root=int(buffer.token[0]),
        position=position,
        nodes=_nodes(buffer),
        visits=tuple(_visit(buffer, i, steps_of(buffer, block, i)) for i in visits),
        emitted=emitted,
        accepted=accepted,
        expected_accepted=float(buffer.expected_accepted),
        ms=ms,
        uniforms=Uniforms(
            u1=tuple(map(tuple, block.u1.tolist())),
            u2=tuple(block.u2.tolist()),
            probes=tuple(map(tuple, block.probes.tolist())),
        ),
        counted=counted,
        candidates=_candidates(buffer),
    )


def _candidates(buffer: RoundBuffer) -> Candidates | None:
    """Return all candidates by columns; None where nothing was drafted."""
    if not buffer.true.any():  # the root alone stands there; any proposal has a probability
        return None
    return Candidates(
        expanded=tuple(buffer.expanded.tolist()),
        tokens=tuple(buffer.candidate_token.ravel().tolist()),
        kinds="".join(_LETTERS[buffer.kind.ravel()]),
        scores=tuple(np.maximum(buffer.score, _RULED_OUT).ravel().tolist()),
    )


def _nodes(buffer: RoundBuffer) -> tuple[Node, ...]:
    """Return the kept nodes; a parent carries the siblings that pruning dropped."""
    p, accept = _exact_where_visited(buffer)
    proxies = np.exp(buffer.log_proxy)  # (E, K)
    kept = set(buffer.candidate.tolist())
    K = buffer.kind.shape[-1]
    nodes = []
    for row, candidate in enumerate(buffer.candidate.tolist()):
        root = row == 0
        at = divmod(candidate, K)  # its place in the arrays (E, K)
        e = int(buffer.expansion[row])
        nodes.append(
            Node(
                kind="root" if root else buffer.kind_of(candidate),
                token=int(buffer.token[row]),
                parent=-1 if root else int(buffer.parent[row]),
                slot=-1 if root else at[1],
                depth=int(buffer.depth[row]),
                proxy=1.0 if root else float(proxies[at]),
                true=1.0 if root else float(buffer.true[at]),
                score=0.0 if root else max(float(buffer.score[at]), _RULED_OUT),
                p=None if root else p[row],
                accept=None if root else accept[row],
                expanded=e >= 0,
                z=math.exp(buffer.log_z[e]) if e >= 0 else None,
                coverage=float(buffer.coverage[e]) if e >= 0 else None,
                ghosts=_ghosts(buffer, e, kept, proxies) if e >= 0 else (),
            )
        )
    return tuple(nodes)


def _ghosts(
    buffer: RoundBuffer, expansion: int, kept: set[int], proxies: FloatArray
) -> tuple[Ghost, ...]:
    """Return the pruned children of an expanded node, none where all were pruned."""
    K = buffer.kind.shape[-1]
    dropped = [slot for slot in range(K) if expansion * K + slot not in kept]
    if len(dropped) == K:
        return ()
    tokens, first = buffer.candidate_token[expansion], expansion * K
    return tuple(
        Ghost(s, int(tokens[s]), float(proxies[expansion, s]), buffer.kind_of(first + s))
        for s in dropped
    )


def _exact_where_visited(buffer: RoundBuffer) -> tuple[list[float], list[float]]:
    """Return p and accept by row; p from the visit's own row where there was one.

    The two differ in the last bits: one is a softmax of the row, the other uses its logsumexp.
    """
    p: list[float] = buffer.p.tolist()
    visits = {row: i for i, row in enumerate(buffer.visited.tolist())}
    K, width = buffer.kind.shape[-1], buffer.support_p.shape[-1]
    for row in range(1, len(p)):
        i = visits.get(int(buffer.parent[row]))
        if i is not None:
            place = int(buffer.rank[i, buffer.candidate[row] % K])
            if place < width:
                p[row] = float(buffer.support_p[i, place])
    return p, buffer.accept.tolist()


def _visit(buffer: RoundBuffer, i: int, steps: list[Step]) -> Visit:
    """Return the i-th visited node with its distributions."""
    row = int(buffer.visited[i])
    expanded = bool(buffer.expansion[row] >= 0)
    width = buffer.support_ids.shape[-1] if expanded else 0
    last = int(buffer.rest_counts[i].nonzero()[0].max(initial=-1)) + 1
    held = buffer.outside_p[i] > 0  # the others are whatever topk found, even in the support
    return Visit(
        node=row,
        ids=tuple(buffer.support_ids[i, :width].tolist()),
        p=tuple(buffer.support_p[i, :width].tolist()),
        q=tuple(np.exp(buffer.support_log_q[i, :width]).tolist()),
        q_tilde=tuple(map(tuple, buffer.q_tilde[i].tolist())) if expanded else (),
        support_size=buffer.support_size if expanded else 0,
        outside_ids=tuple(buffer.outside_ids[i][held].tolist()),
        outside_p=tuple(buffer.outside_p[i][held].tolist()),
        rest=max(0.0, float(buffer.rest[i])),
        mass=float(buffer.residual_mass[i]),
        steps=tuple(steps),
        rest_counts=tuple(buffer.rest_counts[i, :last].tolist()),
        rest_masses=tuple(buffer.rest_masses[i, :last].tolist()),
    )
