"""Whether what a trace says could have happened: numbers in their ranges, a tree, a walk along it.

`rheo.trace.io` has made sure of the types. Whatever draws a trace relies on what is checked here,
for a trace may come from anybody.
"""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.candidates import LETTERS, places
from rheo.trace.lengths import check_lengths
from rheo.trace.schema import Candidates, Node, Round, Run, Step, Visit

ONE = 1.001  # of sums in float32 that are 1
HUGE = 2**40
DEEPEST = 64
_OCTAVES = 64


def check(run: Run) -> None:
    """Raise RheoError with the place of what cannot be."""
    params = DecodeParams.from_dict(run.params)
    check_lengths(run, params)
    tokens = (*run.prompt_token_ids, run.first.token, *run.tokens, *run.end_tokens)
    _all(map(_token, tokens), "its tokens")
    for k, r in enumerate(run.rounds):
        _check_tree(r, f"round {k}")
        if r.candidates is not None:
            _check_candidates(r, r.candidates, params, f"round {k}")
        _all([r.index == k, *_counts(r)], f"the counts of round {k}")
        _all(_uniforms(r), f"the uniforms of round {k}")
        _check_walk(r, f"round {k}")


def _all(true: Iterable[bool], what: str) -> None:
    if not all(true):
        raise RheoError(f"The trace is broken: {what} cannot be those of a run.")


def _token(token: int) -> bool:
    return 0 <= token < 2**31


def _share(*values: float | None) -> bool:
    """Return whether all are probabilities."""
    return all(x is not None and 0 <= x <= ONE for x in values)


def _counts(r: Round) -> Iterable[bool]:
    yield all(0 <= x < HUGE for x in (r.position, r.accepted, r.counted))
    yield all(0 <= x < HUGE for x in (r.ms.draft, r.ms.target, r.ms.verify, r.ms.other))
    yield 0 <= r.expected_accepted <= DEEPEST and r.accepted <= DEEPEST
    yield _token(r.root) and all(_token(e.token) for e in r.emitted)


def _uniforms(r: Round) -> Iterable[bool]:
    yield _share(*r.uniforms.u2)
    yield all(_share(*row) for row in (*r.uniforms.u1, *r.uniforms.probes))


def _check_tree(r: Round, where: str) -> None:
    """Refuse a round whose parents do not come first, or whose children share a slot."""
    if not r.nodes or r.nodes[0].parent != -1 or r.nodes[0].kind != "root":
        raise RheoError(f"The trace is broken: {where} does not begin with its root.")
    for i, node in enumerate(r.nodes[1:], start=1):
        if not 0 <= node.parent < i or node.depth != r.nodes[node.parent].depth + 1:
            raise RheoError(
                f"The trace is broken: {where}, node {i} does not come after its parent."
            )
        _all(_drafted(node), f"the numbers of {where}, node {i},")
    slots = Counter((node.parent, node.slot) for node in r.nodes)
    slots.update((i, ghost.slot) for i, node in enumerate(r.nodes) for ghost in node.ghosts)
    parents = {node.parent for node in r.nodes}
    _all((n == 1 for n in slots.values()), f"the slots of {where}")
    for i, node in enumerate(r.nodes):
        ghosts = [_token(g.token) and _share(g.proxy) and g.slot >= 0 for g in node.ghosts]
        extra = (i in parents or not ghosts, node.z is None or _share(node.z))
        more = (node.coverage is None or _share(node.coverage), _token(node.token))
        _all([*ghosts, *extra, *more], f"the numbers of {where}, node {i},")


def _drafted(node: Node) -> Iterable[bool]:
    yield node.kind != "root" and node.slot >= 0 and node.depth <= DEEPEST
    yield _share(node.proxy, node.true, node.p, node.accept)
    yield -1e10 < node.score <= 1


def _check_candidates(r: Round, made: Candidates, params: DecodeParams, where: str) -> None:
    """Refuse columns that no growth gives, and nodes that are not the best of them.

    All lengths follow from K and the levels grown, which are at most `depth`.
    """
    at = f"the candidates of {where}"
    K, levels = params.K, 1 + (len(made.expanded) - 1) // params.K
    E = 1 + K * (levels - 1)
    lengths = (len(made.tokens), len(made.kinds), len(made.scores))
    _all([1 <= levels <= params.depth, len(made.expanded) == E, {*lengths} == {E * K}], at)
    _all([*_columns(made, K, levels), all(node.slot < K for node in r.nodes)], at)
    try:
        kept = places(r, made)
    except KeyError:
        raise RheoError(
            f"The trace is broken: {where} has a node whose parent was not expanded."
        ) from None
    nodes, most = len(kept) - 1, min(params.R, E * K)
    fits = nodes == most or (params.budget != "count" and nodes < most)
    _all([fits, len({*kept}) == len(kept)], at)
    expanded = {*made.expanded}
    for place, node in zip(kept[1:], r.nodes[1:], strict=True):
        same = (made.tokens[place], LETTERS[made.kinds[place]]) == (node.token, node.kind)
        _all([same, (place in expanded) == node.expanded], at)
        _all([math.isclose(made.scores[place], node.score, rel_tol=1e-6, abs_tol=1e-6)], at)
    dropped = {*range(E * K)}.difference(kept)
    least = min((made.scores[place] for place in kept[1:]), default=0.0)
    best = max((made.scores[place] for place in dropped), default=-math.inf)
    _all([best <= least or math.isclose(best, least, rel_tol=1e-6, abs_tol=1e-6)], at)


def _columns(made: Candidates, K: int, levels: int) -> Iterable[bool]:
    """Yield whether tokens, kinds and scores are any, and each beam is in creation order."""
    yield all(map(_token, made.tokens)) and {*made.kinds} <= {*LETTERS}
    yield all(-1e10 < score <= 1 for score in made.scores)
    yield made.expanded[0] == -1
    first = 0  # candidate where the level before the beam begins
    for level in range(2, levels + 1):
        beam = made.expanded[1 + (level - 2) * K : 1 + (level - 1) * K]
        last = first + (K if level == 2 else K * K)
        yield first <= beam[0] and beam[-1] < last
        yield all(a < b for a, b in pairwise(beam))
        first = last


def _check_walk(r: Round, where: str) -> None:
    """Refuse a walk that does not go from the root along accepted children to the emitted token.

    A round of one node may end at an accepted child too.
    """
    meant = [s.child for v in r.visits for s in v.steps if s.child is not None]
    meant += [e.node for e in r.emitted if e.node is not None]
    if not all(0 <= i < len(r.nodes) for i in [*meant, *(v.node for v in r.visits)]):
        raise RheoError(f"The trace is broken: {where} points at a node that it does not have.")
    at: int | None = 0
    _all([bool(r.visits)], f"the visits of {where}")
    for visit in r.visits:
        _check_visit(r, visit, where)
        _all([visit.node == at], f"the steps of {where}")
        last = visit.steps[-1]
        at = last.child if last.verdict == "accept" else None
    _all([at is None or _one_node(r)], f"the steps of {where}")


def _one_node(r: Round) -> bool:
    """Return whether the walk may end at an accepted child: it is a draw at one node alone."""
    alone = len(r.visits) == 1 and all(node.depth <= 1 for node in r.nodes)
    return alone and [e.node for e in r.emitted] == [r.visits[0].steps[-1].child]


def _check_visit(r: Round, visit: Visit, where: str) -> None:
    columns = (visit.ids, visit.p, visit.q, *visit.q_tilde)
    if len({len(c) for c in columns}) > 1 or len(visit.outside_ids) != len(visit.outside_p):
        raise RheoError(f"The trace is broken: {where} has a visit whose columns differ in length.")
    numbers = (*visit.p, *visit.q, *(x for q in visit.q_tilde for x in q), *visit.outside_p)
    seen = (*visit.ids, *visit.outside_ids)
    at = f"the visit of {where} at node {visit.node}"
    whole = visit.support_size == len(visit.ids)
    _all([_share(*numbers, visit.rest, visit.mass), len(set(seen)) == len(seen)], at)
    _all([*map(_token, seen), visit.support_size >= len(visit.ids), bool(visit.steps)], at)
    _all(_rest(visit), at)
    children = {i: r.nodes[i].token for i in r.rows_below(visit.node)}
    _all((not whole or token in visit.ids for token in children.values()), at)
    probes = sum(step.rule == "probe" for step in visit.steps)
    tested = {step.token for step in visit.steps if step.rule == "sibling"}
    if probes > len(visit.q_tilde) or not tested <= set(visit.ids):
        raise RheoError(
            f"The trace is broken: {where} has a step at a token that its visit does not have."
        )
    for i, step in enumerate(visit.steps, start=1):
        _all(_possible(step, i == len(visit.steps), children), f"a step of {where}")


def _rest(visit: Visit) -> Iterable[bool]:
    """Yield whether its octaves, where they are recorded, can be those of its rest."""
    counts, masses = visit.rest_counts, visit.rest_masses
    yield len(counts) == len(masses) <= _OCTAVES and all(0 <= n < HUGE for n in counts)
    yield _share(*masses) and (not counts or abs(math.fsum(masses) - visit.rest) < 1e-6)


def _possible(step: Step, last: bool, children: dict[int, int]) -> Iterable[bool]:
    """Yield whether a verdict is one of a child, or, at the end, of the token emitted instead."""
    yield _share(step.uniform, step.share, step.p) and _token(step.token)
    yield last == (step.verdict != "reject")
    yield (step.rule == "emit") == (step.verdict == "emit")
    if step.rule == "emit":
        yield step.child is None
    else:
        yield step.child is not None and children.get(step.child, -1) == step.token
    if step.rule == "probe":
        yield _share(step.q_tilde, step.ratio)
    else:
        yield step.low is not None and step.high is not None and step.low <= step.high
        yield _share(step.low, step.high)
