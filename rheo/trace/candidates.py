"""All that the draft proposed in a round, node by node: who was expanded, who was kept, and why.

`Round.candidates` holds columns; what follows from a candidate's place in them is worked out here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rheo.params import DecodeParams
from rheo.trace.schema import Candidates, DraftKind, Ghost, Round, Run

LETTERS: dict[str, DraftKind] = {"d": "deterministic", "p": "probe", "f": "filler"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that the draft proposed, kept or dropped."""

    index: int  # its place in the order of creation
    token: int
    kind: DraftKind
    score: float  # sum of log proxies along the path, nats
    slot: int
    parent: int  # the candidate it was proposed below, -1 for the root
    level: int  # the root's children have 1
    expanded: bool  # whether the draft proposed children of it: it was in its level's beam
    node: int | None  # index into Round.nodes; None where pruning dropped it


def candidates(round: Round) -> list[Candidate]:
    """Return all candidates in creation order; empty where none are recorded (see `unknown`)."""
    made = round.candidates
    if made is None:
        return []
    K, expanded = slots_of(made), set(made.expanded)
    rows = {place: row for row, place in enumerate(places(round, made))}
    return [
        Candidate(
            index=i,
            token=made.tokens[i],
            kind=LETTERS[made.kinds[i]],
            score=made.scores[i],
            slot=i % K,
            parent=made.expanded[i // K],
            level=level_of(i, K),
            expanded=i in expanded,
            node=rows.get(i),
        )
        for i in range(len(made.tokens))
    ]


def ranked(found: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates as pruning ranks them: by score descending, then in creation order.

    Pruning keeps the first R (algorithm section 2, steps 4 and 5).
    """
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.index))


def slots_of(made: Candidates) -> int:
    """Return K, the slots of an expanded node.

    >>> slots_of(Candidates((-1, 0, 1), (7, 8, 9, 7, 8, 9), "dpdpdp", (-1.0,) * 6))
    2
    """
    return len(made.tokens) // len(made.expanded)


def level_of(candidate: int, K: int) -> int:
    """Return a candidate's level: K of the first, then K x K a level.

    >>> [level_of(i, 10) for i in (0, 9, 10, 109, 110, 709)]
    [1, 1, 2, 2, 3, 8]
    """
    return 1 if candidate < K else 2 + (candidate - K) // K**2


def proposed(round: Round, level: int) -> tuple[int, int]:
    """Return how many nodes the draft expanded for a level, and how many candidates that gave.

    Both are 0 where no candidates are recorded.
    """
    made = round.candidates
    if made is None:
        return 0, 0
    K = slots_of(made)
    levels = [level_of(i * K, K) for i in range(len(made.expanded))]
    return levels.count(level), levels.count(level) * K


def places(round: Round, made: Candidates) -> list[int]:
    """Return the candidate that each of the round's nodes is, -1 for the root.

    Raises:
        KeyError: a node whose parent was not expanded.
    """
    K, order = slots_of(made), {place: e for e, place in enumerate(made.expanded)}
    found = [-1]
    for node in round.nodes[1:]:
        found.append(order[found[node.parent]] * K + node.slot)
    return found


def ghost_kind(run: Run, ghost: Ghost) -> DraftKind:
    """Return what a dropped sibling is; in a trace from before version 2, what its slot held.

    The slot says it but where several probes were asked for and the tail ran out of tokens with
    mass, so that fillers took their slots. At T = 0 that is always behind the first; at another
    temperature an old trace does not say (see `unknown`).
    """
    if ghost.kind is not None:
        return ghost.kind
    params = DecodeParams.from_dict(run.params)
    first = params.fields.deterministic_slots(params.m, params.K)
    probes = min(params.J, 1) if params.T == 0 else params.J
    if ghost.slot < first:
        return "deterministic"
    return "probe" if ghost.slot < first + probes else "filler"


def unknown(run: Run) -> tuple[str, ...]:
    """Return what a trace of an older version does not say: "candidates", "end tokens"."""
    if run.version >= 2:
        return ()
    drafted = any(len(r.nodes) > 1 for r in run.rounds)
    return ("candidates", "end tokens") if drafted else ("end tokens",)
