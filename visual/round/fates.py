"""What became of a node and why, in one sentence, and from which verdict on that is known.

A node is tested where the walk is at its parent. One that was not tested was passed over, because a
sibling had been accepted, or stands behind a node that was rejected or passed over.
"""

from dataclasses import dataclass, replace

from rheo.trace.candidates import candidates, places, ranked
from rheo.trace.residuals import residuals
from rheo.trace.schema import Ghost, Round, Run, Step, Visit
from visual.round import cards, ranking
from visual.words import labels, sentences, verdicts
from visual.words.sentences import number, ordered, word


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a node.

    Attributes:
        name: one of `verdicts.FATES`.
        decided: how many verdicts of the round must have been shown until it is known.
        sentence: the name's, with the trace's numbers.
    """

    name: str
    decided: int
    sentence: str


@dataclass(frozen=True, slots=True)
class _Test:
    """The verdict on a child: which step of which visit, and its place in the round."""

    visit: Visit
    at: int
    place: int

    @property
    def step(self) -> Step:
        return self.visit.steps[self.at]


def of(run: Run, round: Round, node: int) -> Fate:
    """Return the fate of a kept node."""
    if node == 0:
        return Fate("root", 0, verdicts.FATES["root"])
    tests = _tests(round)
    lost = next((i for i in round.path(node) if not _accepted(tests, i)), node)
    if lost == node:
        return _tested(run, round, tests[node]) if node in tests else _passed(run, round, node)
    if lost in tests:
        step = tests[lost].step
        why = verdicts.LOST[_name(step)].format(**_numbers(run, tests[lost]))
        said = {"token": word(run, step.token), "why": why}
        return _made("behind a rejected one", tests[lost].place, **said)
    return _passed(run, round, lost, behind=True)


def of_pruned(round: Round, parent: int, ghost: Ghost) -> Fate:
    """Return the fate of a child that pruning dropped; its rank where the trace has candidates."""
    said = {
        "score": ranking.shown(ranking.score(round, parent, ghost.proxy)),
        "kept": str(len(round.nodes) - 1),
        "cut": ranking.shown(min(node.score for node in round.nodes[1:])),
    }
    if round.candidates is None:
        return _made("pruned, rank unknown", 0, **said)
    above, all_ranked = places(round, round.candidates)[parent], ranked(candidates(round))
    mine = ((made.parent, made.slot) == (above, ghost.slot) for made in all_ranked)
    rank = 1 + next(at for at, is_mine in enumerate(mine) if is_mine)
    return _made("pruned", 0, rank=str(rank), count=str(len(all_ranked)), **said)


def _made(name: str, decided: int, **said: str) -> Fate:
    return Fate(name, decided, verdicts.FATES[name].format(**said))


def _tests(round: Round) -> dict[int, _Test]:
    """Return the tests by node, in the order of the walk."""
    steps = [(visit, at) for visit in round.visits for at in range(len(visit.steps))]
    made = [_Test(visit, at, place) for place, (visit, at) in enumerate(steps, start=1)]
    return {test.step.child: test for test in made if test.step.child is not None}


def _accepted(tests: dict[int, _Test], node: int) -> bool:
    return node in tests and tests[node].step.verdict == "accept"


def _tested(run: Run, round: Round, test: _Test) -> Fate:
    made = _made(_name(test.step), test.place, **_numbers(run, test))
    depth = round.nodes[test.step.child or 0].depth
    if test.step.verdict == "accept" and depth > len(round.emitted):
        return replace(made, sentence=made.sentence + verdicts.FATE_CUT)
    return made


def _name(step: Step) -> str:
    """Return which of `verdicts.FATES` a test is."""
    if step.rule == "sibling" and step.low == step.high:
        return "no mass"
    return f"{'probe' if step.rule == 'probe' else 'point'} {labels.VERDICTS[step.verdict]}"


def _numbers(run: Run, test: _Test) -> dict[str, str]:
    """Return what `verdicts.FATES` and `verdicts.LOST` say of a test."""
    step = test.step
    distribution, draft = cards.letters(test.visit, test.at)
    said = {"token": word(run, step.token), "distribution": distribution, "draft": draft}
    if step.rule == "sibling":
        return said | sentences.interval(step) | {"chance": number(step.high - step.low)}
    ratio, u = ordered([step.ratio, step.uniform])
    left = cards.amount(residuals(test.visit).left[test.at] or 0.0)
    of_pair = {"p": number(step.p), "q_tilde": number(step.q_tilde)}
    return said | of_pair | {"ratio": ratio, "u": u, "mass": left}


def _passed(run: Run, round: Round, node: int, behind: bool = False) -> Fate:
    """Return the fate of a node that was not tested although the walk was at its parent.

    Args:
        behind: return that of the nodes below it.
    """
    there, tests = round.nodes[node], _tests(round)
    said = {
        "token": word(run, there.token),
        "parent": word(run, round.nodes[there.parent].token),
        "accept": number(there.accept or 0.0),
    }
    family = round.rows_below(there.parent)
    taken = next((i for i in family if _accepted(tests, i)), None)
    if taken is None:
        verdicts_in_all = sum(len(visit.steps) for visit in round.visits)
        return _made("behind the end" if behind else "after the end", verdicts_in_all, **said)
    sibling = round.nodes[taken]
    said |= {"kind": labels.ORIGINS[sibling.kind], "taken": word(run, sibling.token)}
    return _made("behind one passed over" if behind else "passed over", tests[taken].place, **said)
