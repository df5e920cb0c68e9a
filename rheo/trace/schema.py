"""The trace: Run > Round > Node, Visit, Step. Live and replayed runs are the same type.

Frozen records of plain values; `rheo.trace.io` writes and reads them. Residuals are derived, not
stored (`rheo.trace.residuals`). This module imports nothing of the engine.
"""

import math
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, FailFast, Field

SCHEMA = "rheoscope-trace"
VERSION = 2  # what is written
READS = (1, 2)  # `rheo.trace.candidates.unknown` says what an older one lacks
# how a file is read into the records: a number in quotes is no number, and nothing else may stand
READING = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

DraftKind = Literal["deterministic", "probe", "filler"]
Kind = Literal["root", "deterministic", "probe", "filler"]
Origin = Literal["prefill", "deterministic", "probe", "filler", "residual", "bonus"]
Verdict = Literal["accept", "reject", "emit"]
Stop = Literal["eos", "stop string", "length", "context", "closed"]

_Whole = Annotated[int, Field(gt=-(2**63), lt=2**63)]
_Absent = Annotated[float | None, Field(default=None)]  # a file goes without what is None
_Ints = Annotated[tuple[_Whole, ...], FailFast()]
_Floats = Annotated[tuple[float, ...], FailFast()]
_Rows = Annotated[tuple[_Floats, ...], FailFast()]


@dataclass(frozen=True, slots=True)
class Ghost:
    """A child that pruning dropped, its parent and a sibling being kept."""

    slot: _Whole
    token: _Whole
    proxy: float
    kind: DraftKind | None = None  # None: from before version 2


@dataclass(frozen=True, slots=True)
class Node:
    """A kept node. `nodes[0]` of a round is the root; parents come before children.

    p and accept are None for the root. accept is the probability that a walk at the parent goes on
    to this node; their product along the path is the probability of getting here, where no node
    above ends the text (`Round.below_end`).
    """

    kind: Kind
    token: _Whole
    parent: _Whole  # index into Round.nodes; -1 for the root
    slot: _Whole  # child slot at the parent, 0-based; -1 for the root
    depth: _Whole
    proxy: float  # what growth and pruning saw; 1 for the root
    true: float  # draft probability that verification uses: q-tilde for a probe, else 1
    score: float  # sum of log proxies along the path, nats; -1e9 for a token the draft rules out
    p: _Absent  # the target's probability of this token at the parent
    accept: _Absent
    expanded: bool
    z: float | None = None  # of an expanded node: its tail's mass
    coverage: float | None = None  # of an expanded node: q's mass on the support
    ghosts: Annotated[tuple[Ghost, ...], FailFast()] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One verdict.

    rule "probe": accepted if uniform < ratio = min(1, p / q_tilde), p being the residual before it,
    normalised. "sibling": the child's interval [low, high) of the residual, in shares; accepted if
    the share of the uniform falls into it. "emit": the token drawn from what is left.
    """

    rule: Literal["probe", "sibling", "emit"]
    token: _Whole
    verdict: Verdict
    uniform: float  # u1 for a probe, else u2
    share: float  # u2, rescaled where children that are tested first were missed
    p: float  # of this token in the residual before the step, normalised
    child: _Whole | None = None  # index into Round.nodes
    q_tilde: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A node the walk looked at: the distributions there, and its steps.

    The support is in the node's order. ids, p, q (untempered) and each q_tilde have equal length;
    `recorded` < `support_size` only where the support is larger than what a trace stores.
    """

    node: _Whole
    ids: _Ints
    p: _Floats
    q: _Floats
    q_tilde: _Rows  # one per probe slot
    support_size: _Whole
    outside_ids: _Ints  # the most probable tokens outside the recorded support
    outside_p: _Floats
    rest: float  # the target's mass on everything else
    mass: float  # of the last residual before it is normalised
    steps: Annotated[tuple[Step, ...], FailFast()]
    rest_counts: _Ints = ()  # tokens of the rest by octave: p in [2^-(k+1), 2^-k)
    rest_masses: _Floats = ()  # and their mass


@dataclass(frozen=True, slots=True)
class Emission:
    """One emitted token and where it came from."""

    token: _Whole
    origin: Origin
    node: _Whole | None = None  # index into Round.nodes, for an accepted draft token


@dataclass(frozen=True, slots=True)
class Milliseconds:
    """Wall time of a round by part."""

    draft: float
    target: float
    verify: float
    other: float

    @property
    def total(self) -> float:
        return self.draft + self.target + self.verify + self.other


@dataclass(frozen=True, slots=True)
class Uniforms:
    """The round's block: u1 and u2 by step, and one per probe drawn, in the order of expansion."""

    u1: _Rows
    u2: _Floats
    probes: _Rows


@dataclass(frozen=True, slots=True)
class Candidates:
    """All that the draft proposed in a round, by columns, in creation order.

    Candidate i is child slot i % K of node number i // K of `expanded`: slots, parents and levels
    follow from its place (`rheo.trace.candidates`). The root's K children come first, then K of
    each node of a level's beam.
    """

    expanded: _Ints  # of each expanded node, the candidate that it is; -1 for the root, the first
    tokens: _Ints
    kinds: str  # a letter each: "d", "p", "f"
    scores: _Floats  # sum of log proxies along the path, nats, as in `Node`


@dataclass(frozen=True, slots=True)
class Round:
    """One draft tree and its verification.

    `emitted` is what the round added to the text: cut at an EOS, a stop string or the length limit,
    so it may be shorter than `accepted` + 1.
    """

    index: _Whole
    root: _Whole  # token
    position: _Whole  # of the root in the sequence, prompt included
    nodes: Annotated[tuple[Node, ...], FailFast()]
    visits: Annotated[tuple[Visit, ...], FailFast()]
    emitted: Annotated[tuple[Emission, ...], FailFast()]
    accepted: _Whole
    expected_accepted: float  # before any verdict; nodes below an end token do not count (v. 2)
    ms: Milliseconds
    uniforms: Uniforms
    counted: _Whole  # tokens that count for tau: accepted + 1, or up to an accepted EOS
    candidates: Candidates | None = None  # None: nothing was drafted, or from before version 2

    @property
    def levels(self) -> int:
        """Return the depth of the deepest kept node; 0 where nothing was drafted."""
        return max(node.depth for node in self.nodes)

    def rows_at(self, depth: int) -> list[int]:
        """Return the nodes of one level, in the order of creation."""
        return [i for i, node in enumerate(self.nodes) if node.depth == depth]

    def rows_below(self, node: int) -> list[int]:
        """Return the kept children of `node`, by slot, as indices."""
        rows = [i for i, child in enumerate(self.nodes) if child.parent == node]
        return sorted(rows, key=lambda i: self.nodes[i].slot)

    def children(self, node: int) -> list[Node]:
        """Return the kept children of `node`, by slot."""
        return [self.nodes[i] for i in self.rows_below(node)]

    def is_leaf(self, node: int) -> bool:
        """Return whether pruning kept no child of `node`."""
        return all(child.parent != node for child in self.nodes)

    def below_end(self, end_tokens: Container[int]) -> list[bool]:
        """Return by node whether one above it ends the text: then it counts nowhere, as in tau."""
        below = [False]
        for node in self.nodes[1:]:
            above = node.parent
            below.append(below[above] or (above > 0 and self.nodes[above].token in end_tokens))
        return below

    def path(self, node: int) -> list[int]:
        """Return the nodes from below the root down to `node`; empty for the root."""
        rows = []
        while node:
            rows.append(node)
            node = self.nodes[node].parent
        return rows[::-1]

    @property
    def visited(self) -> dict[int, Visit]:
        """Return the visits by node, in the order of the walk."""
        return {visit.node: visit for visit in self.visits}

    def visit_of(self, node: int) -> Visit | None:
        """Return the walk's visit to `node`; None where it never came."""
        return next((visit for visit in self.visits if visit.node == node), None)


@dataclass(frozen=True, slots=True)
class Run:
    """Everything there is to see of one decoded prompt."""

    pair: str
    target: str
    draft: str
    device: str
    dtype: str
    versions: dict[str, str]
    params: dict[str, Any]
    prompt: str
    prompt_token_ids: _Ints
    first: Emission  # sampled at prefill; not counted in tau
    rounds: Annotated[tuple[Round, ...], FailFast()]
    stop: Stop
    text: str
    tokens: dict[_Whole, str]  # how to show each id that occurs: never stripped
    note: str = ""
    end_tokens: _Ints = ()  # ids that end the text; not known before version 2
    schema: str = field(default=SCHEMA)
    version: _Whole = field(default=VERSION)

    __pydantic_config__ = READING  # of the records inside it too

    def emissions(self) -> list[Emission]:
        """Return all new tokens, the prefill's first."""
        return [self.first, *(e for r in self.rounds for e in r.emitted)]

    @property
    def tau(self) -> float | None:
        """Return tokens emitted by rounds / rounds; None before the first round."""
        return sum(r.counted for r in self.rounds) / len(self.rounds) if self.rounds else None

    @property
    def expected_accepted(self) -> float | None:
        """Return the mean over rounds of the expected accepted tokens given the drawn tree."""
        if not self.rounds:
            return None
        return math.fsum(r.expected_accepted for r in self.rounds) / len(self.rounds)

    def accepted_by_kind(self) -> dict[str, int]:
        """Return the emitted draft tokens by kind."""
        count = {"deterministic": 0, "probe": 0, "filler": 0}
        for emission in self.emissions():
            if emission.origin in count:
                count[emission.origin] += 1
        return count
