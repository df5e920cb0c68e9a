"""Decide whether recorded runs show what they are wanted to show, and by which numbers.

A criterion takes the runs of a group by their place and returns one `Found` for each, or None. It
reads nothing but traces, so it can be asked again of a shipped one.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rheo.trace.schema import Round, Run, Step, Visit

_LIKELY = 0.05  # of p: a token that the target itself would draw
_PRUNED = "its proxy, the third one's q, is too little to survive pruning"
_REJECTED = (
    "it is kept, and is {token}, drawn from what the three leave; it loses its test, for u₁ = {u} "
    "is not below min(1, {p} / {q_tilde}) = {ratio}"
)


class Found(NamedTuple):
    """The round to open, and the words of the run's note."""

    round: int
    words: dict[str, str | int]
    score: float = 1.0  # below 1: a better one may be found

    def note(self, template: str) -> str:
        """Return the run's note: what to look at, and in which round (counted from 1)."""
        return template.format(round=self.round + 1, **self.words)


Runs = Callable[[int], Run]
Criterion = Callable[[Runs], list[Found] | None]


def probe_saves(runs: Runs) -> list[Found] | None:
    """Find a probe outside the draft's K best that is accepted where two other runs end.

    The runs: m = 1, Top-K, m = 3, their first rounds; both others end at the node before it.
    """
    run = runs(0)
    taken = next(_taken(run.rounds[0]), None) if run.rounds else None
    if taken is None:
        return None
    visit, step = taken
    if step.token in visit.ids[: run.params["K"]]:
        return None
    path = _path(run.rounds[0], visit.node)
    if _ended(runs(1), path) is None or _ended(runs(2), path) is None:
        return None
    best: dict[str, str | int] = {
        "token": _shown(run, step.token),
        "level": len(path) + 1,
        "K": run.params["K"],
        "best": run.rounds[0].accepted,
        "accepted": len(path),
        "expected": f"{run.rounds[0].expected_accepted:.2f}",
        "expected_topk": f"{runs(1).rounds[0].expected_accepted:.2f}",
        **_numbers(step),
        "fate": _fate(runs(2), runs(2).rounds[0].visits[-1]),
    }
    return [Found(0, best, step.p / _LIKELY)] * 3


def _fate(run: Run, visit: Visit) -> str:
    """Return what became of the probe of a visit that accepted none, in words."""
    lost = next((step for step in visit.steps if step.rule == "probe"), None)
    if lost is None:
        return _PRUNED
    return _REJECTED.format(token=_shown(run, lost.token), **_numbers(lost))


def rrsw_luckier(runs: Runs) -> list[Found] | None:
    """Find a tree of which RRSw accepts more; best where that is luck, against expectation.

    The runs: rheo-rrsw, rheo, their first rounds.
    """
    if not (runs(0).rounds and runs(1).rounds):
        return None
    rrsw, rheo = runs(0).rounds[0], runs(1).rounds[0]
    if _shape(rrsw) != _shape(rheo) or rrsw.accepted <= rheo.accepted:
        return None
    words: dict[str, str | int] = {
        "rrsw": rrsw.accepted,
        "rheo": rheo.accepted,
        "expected_rrsw": f"{rrsw.expected_accepted:.3f}",
        "expected_rheo": f"{rheo.expected_accepted:.3f}",
    }
    luck = rheo.expected_accepted >= rrsw.expected_accepted
    return [Found(0, words, 1.0 if luck else 0.5)] * 2


def naive_prunes(runs: Runs) -> list[Found] | None:
    """Find a probe below the root that only the proxy keeps.

    The runs: naive, rheo, their first rounds, which both drew it.
    """
    if not (runs(0).rounds and runs(1).rounds):
        return None
    naive, rheo = runs(0).rounds[0].nodes[0], runs(1).rounds[0]
    kept = next((n for n in rheo.children(0) if n.kind == "probe"), None)
    if kept is None:
        return None
    lost = next((g for g in naive.ghosts if g.slot == kept.slot), None)
    if lost is None or lost.token != kept.token:
        return None
    words: dict[str, str | int] = {
        "token": _shown(runs(1), kept.token),
        "slot": kept.slot + 1,
        "own": _number(lost.proxy),
        "proxy": _number(kept.proxy),
    }
    return [Found(0, words)] * 2


def longest(runs: Runs) -> list[Found] | None:
    """Find the round that accepted most, in any run."""
    rounds = runs(0).rounds
    if not rounds:
        return None
    best = max(rounds, key=lambda r: r.accepted)
    return [Found(best.index, {"accepted": best.accepted})]


def probe_taken(runs: Runs) -> list[Found] | None:
    """Find a round that accepts a probe which was not sure to be."""
    return _likeliest(runs(0), lambda visit, step: step.ratio is not None and step.ratio < 1)


def later_probe(runs: Runs) -> list[Found] | None:
    """Find a round that accepts a probe after it rejected another at the same node."""
    return _likeliest(runs(0), lambda visit, step: visit.steps[0].verdict == "reject")


CRITERIA: dict[str, Criterion] = {
    "probe saves": probe_saves,
    "rrsw luckier": rrsw_luckier,
    "naive prunes": naive_prunes,
    "longest": longest,
    "probe taken": probe_taken,
    "later probe": later_probe,
}


def _likeliest(run: Run, wanted: Callable[[Visit, Step], bool]) -> list[Found] | None:
    """Return, of the accepted probes that are wanted, the one with the largest p."""
    taken = [(r, v, step) for r in run.rounds for v, step in _taken(r) if wanted(v, step)]
    if not taken:
        return None
    round, visit, step = max(taken, key=lambda found: found[2].p)
    assert step.child is not None  # it was accepted
    words: dict[str, str | int] = {
        "level": round.nodes[step.child].depth,
        "token": _shown(run, step.token),
        "lost": _shown(run, visit.steps[0].token),
        **_numbers(step),
    }
    return [Found(round.index, words)]


def _numbers(step: Step) -> dict[str, str]:
    """Return the figures of a probe's verdict as words."""
    assert step.q_tilde is not None and step.ratio is not None  # a probe's step has both
    return {
        "u": _number(step.uniform),
        "p": _number(step.p),
        "q_tilde": _number(step.q_tilde),
        "ratio": _number(step.ratio),
    }


def _taken(round: Round) -> Iterator[tuple[Visit, Step]]:
    """Yield the probes that were accepted, with their visits."""
    for visit in round.visits:
        for step in visit.steps:
            if step.rule == "probe" and step.verdict == "accept":
                yield visit, step


def _path(round: Round, node: int) -> list[int]:
    """Return the tokens from below the root down to `node`."""
    return [round.nodes[i].token for i in round.path(node)]


def _ended(run: Run, path: list[int]) -> int | None:
    """Return where the first round's walk ended, if at the end of `path` and not at a leaf."""
    if not run.rounds:
        return None
    round = run.rounds[0]
    node = round.visits[-1].node
    here = _path(round, node) == path and not round.is_leaf(node)
    return node if here else None


def _shape(round: Round) -> list[tuple[str, int, int]]:
    """Return what makes two trees the same."""
    return [(node.kind, node.token, node.parent) for node in round.nodes]


def _shown(run: Run, token: int) -> str:
    """Return a token in quotes, its spaces and line ends visible."""
    return f"‘{run.tokens[token].replace(' ', '␣').replace(chr(10), '↵')}’"


def _number(x: float) -> str:
    return f"{x:.3g}"
