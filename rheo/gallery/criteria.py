"""What a recorded run is wanted to show: criteria on traces, and the numbers that prove them.

A criterion takes the runs of a group by their place and gives one `Found` for each, or None. It
reads nothing but traces: whoever opens a shipped one can ask it again.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rheo.trace.schema import Round, Run, Step, Visit

WANTED = 0.05  # of p: the target itself would not be surprised by such a token
INDEX = "index.json"  # of a folder of recorded runs
_PRUNED = "its proxy, the third one's q, is too little to survive pruning"
REJECTED = "drawn from what the three leave, it is {token}, and rejected"


class Found(NamedTuple):
    """The round to open, and the words of the run's note."""

    round: int
    words: dict[str, Any]
    score: float = 1.0  # below 1: a better one may be found

    def told(self, template: str) -> str:
        """The note: what to look at, and in which round (counted from 1)."""
        return template.format(round=self.round + 1, **self.words)


Runs = Callable[[int], Run]
Criterion = Callable[[Runs], list[Found] | None]


def read_index(folder: Path) -> list[dict[str, Any]]:
    """The recorded runs of a folder: name, title, sentence, round to open; empty where none are."""
    path = folder / INDEX
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def probe_saves(runs: Runs) -> list[Found] | None:
    """m = 1, Top-K, m = 3, round 1: a probe outside the draft's K best is accepted, and both others
    end at the node before it."""
    run = runs(0)
    taken = next(_taken(run.rounds[0]), None) if run.rounds else None
    if taken is None:
        return None
    visit, step = taken
    if step.token in visit.ids[: run.params["K"]]:
        return None
    path = _path(run.rounds[0], visit.node)
    if _ended(runs(1), path) is None or (end := _ended(runs(2), path)) is None:
        return None
    third = next((n for n in runs(2).rounds[0].children(end) if n.kind == "probe"), None)
    best = {
        "token": _shown(run, step.token),
        "level": len(path) + 1,
        "K": run.params["K"],
        "best": run.rounds[0].accepted,
        "accepted": len(path),
        **_numbers(step),
        "fate": _PRUNED if third is None else REJECTED.format(token=_shown(runs(2), third.token)),
    }
    return [Found(0, best, step.p / WANTED)] * 3


def rrsw_luckier(runs: Runs) -> list[Found] | None:
    """rheo-rrsw, rheo, round 1: of the same tree RRSw accepts more; best where that is luck, for in
    expectation it does not."""
    if not (runs(0).rounds and runs(1).rounds):
        return None
    rrsw, rheo = runs(0).rounds[0], runs(1).rounds[0]
    if _shape(rrsw) != _shape(rheo) or rrsw.accepted <= rheo.accepted:
        return None
    words = {
        "rrsw": rrsw.accepted,
        "rheo": rheo.accepted,
        "expected_rrsw": f"{rrsw.expected_accepted:.3f}",
        "expected_rheo": f"{rheo.expected_accepted:.3f}",
    }
    luck = rheo.expected_accepted >= rrsw.expected_accepted
    return [Found(0, words, 1.0 if luck else 0.5)] * 2


def naive_prunes(runs: Runs) -> list[Found] | None:
    """naive, rheo, round 1: below the root both drew one probe; only the proxy keeps it."""
    if not (runs(0).rounds and runs(1).rounds):
        return None
    naive, rheo = runs(0).rounds[0].nodes[0], runs(1).rounds[0]
    kept = next((n for n in rheo.children(0) if n.kind == "probe"), None)
    lost = next((g for g in naive.ghosts if kept and g.slot == kept.slot), None)
    if lost is None or lost.token != kept.token:
        return None
    words = {
        "token": _shown(runs(1), kept.token),
        "slot": kept.slot + 1,
        "own": _number(lost.proxy),
        "proxy": _number(kept.proxy),
    }
    return [Found(0, words)] * 2


def longest(runs: Runs) -> list[Found] | None:
    """Any run: the round that accepted most."""
    rounds = runs(0).rounds
    if not rounds:
        return None
    best = max(rounds, key=lambda r: r.accepted)
    return [Found(best.index, {"accepted": best.accepted})]


def probe_taken(runs: Runs) -> list[Found] | None:
    """A round that accepts a probe which is not a sure one."""
    return _likeliest(runs(0), lambda visit, step: step.ratio < 1)


def later_probe(runs: Runs) -> list[Found] | None:
    """A round that accepts a probe after it rejected another at the same node."""
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
    """Of the accepted probes that are wanted, the one that the target likes best."""
    taken = [(r, v, step) for r in run.rounds for v, step in _taken(r) if wanted(v, step)]
    if not taken:
        return None
    round, visit, step = max(taken, key=lambda found: found[2].p)
    words = {
        "level": round.nodes[step.child].depth,
        "token": _shown(run, step.token),
        "lost": _shown(run, visit.steps[0].token),
        **_numbers(step),
    }
    return [Found(round.index, words)]


def _numbers(step: Step) -> dict[str, str]:
    return {
        "u": _number(step.uniform),
        "p": _number(step.p),
        "q_tilde": _number(step.q_tilde),
        "ratio": _number(step.ratio),
    }


def _taken(round: Round) -> Iterator[tuple[Visit, Step]]:
    """The probes that were accepted, where they were."""
    for visit in round.visits:
        for step in visit.steps:
            if step.rule == "probe" and step.verdict == "accept":
                yield visit, step


def _path(round: Round, node: int) -> list[int]:
    """The tokens from below the root down to `node`."""
    return [round.nodes[i].token for i in round.path(node)]


def _ended(run: Run, path: list[int]) -> int | None:
    """Where the first round's walk ended, if that is at the end of `path` and not at a leaf."""
    if not run.rounds:
        return None
    round = run.rounds[0]
    node = round.visits[-1].node
    here = _path(round, node) == path and not round.is_leaf(node)
    return node if here else None


def _shape(round: Round) -> list[tuple[str, int, int]]:
    return [(node.kind, node.token, node.parent) for node in round.nodes]


def _shown(run: Run, token: int) -> str:
    """A token in quotes, its spaces and line ends visible."""
    return f"‘{run.tokens[token].replace(' ', '␣').replace(chr(10), '↵')}’"


def _number(x: float) -> str:
    return f"{x:.3g}"
