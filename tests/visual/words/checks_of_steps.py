"""What each sentence about a node and its verdicts must say, by its template."""

import math
from collections.abc import Callable

from rheo.params import strategy_fields
from rheo.trace.schema import Node, Round, Run, Visit
from tests.visual.words.number_patterns import mass, shows, three
from tests.visual.words.rewalked import Rewalked, rewalk
from tests.visual.words.said_of_runs import Said
from visual.words import labels, transport_words, verdicts

Groups = dict[str, str]
Check = Callable[[Said, Groups], None]


def redone(said: Said) -> Rewalked:
    return rewalk(said.run, said.round, said.visit)[said.at]


def check_probe(said: Said, g: Groups) -> None:
    """p, q-tilde, their ratio, u1, and what a rejection leaves."""
    step = redone(said)
    if "p" in g:
        three(g["p"], step.p)
        three(g["q_tilde"], step.q_tilde)
    if "ratio" in g:
        shows(g["ratio"], step.ratio)
    if "u" in g:
        shows(g["u"], step.u)
    for name in g.keys() & {"mass", "left"}:
        mass(g[name], step.left)


def check_interval(said: Said, g: Groups) -> None:
    """A sibling's interval, and where u2 falls."""
    step = redone(said)
    shows(g["low"], step.low)
    shows(g["high"], step.high)
    share(g, step)
    if "chance" in g:
        three(g["chance"], step.high - step.low)
    if "mass" in g:  # the deterministic children are missed: what all of them left
        mass(g["mass"], step.whole)


def share(g: Groups, step: Rewalked) -> None:
    shows(g["share"], *((step.u,) if abs(step.u - step.u2) < 1e-6 else (step.u, step.u2)))


def check_emission(said: Said, g: Groups) -> None:
    """u2 falls into an interval that is as wide as the token's mass, behind all siblings."""
    step, low, high = redone(said), float(g["low"]), float(g["high"])
    share(g, step)
    digits = 10.0 ** -min(len(x.partition(".")[2]) or 9 for x in (g["low"], g["high"]))
    assert step.low - digits <= low <= step.u + digits and step.u <= high + digits
    shows(g["low"], said.visit.steps[said.at].low)
    shows(g["high"], said.visit.steps[said.at].high)
    if step.high is not None:  # a token that the trace names
        assert abs(high - low - step.high) <= 2 * digits


def check_nothing(said: Said, g: Groups) -> None:
    """No number depends on the trace."""


def check_tick(said: Said, g: Groups) -> None:
    shows(g["u"], redone(said).u)


# What became of a node


def tested(said: Said, lost: bool = False) -> Said:
    """The same, about the step that tested the node, or the one on its way that was rejected."""
    for row in said.round.path(said.node):
        visit = said.round.visit_of(said.round.nodes[row].parent)
        for at, step in enumerate(visit.steps if visit else ()):
            if step.child == row and (row == said.node or (lost and step.verdict == "reject")):
                return Said(said.where, said.text, said.run, said.round, row, visit, at)
    raise AssertionError(f"{said.text} of a node that was not tested")


def fate(check: Check, lost: bool = False) -> Check:
    return lambda said, g: check(tested(said, lost), g)


def check_passed(said: Said, g: Groups) -> None:
    three(g["accept"], said.round.nodes[said.node].accept)


def check_pruned(said: Said, g: Groups) -> None:
    """A pruned child's score and rank among all candidates, and where pruning cut."""
    nodes = said.round.nodes
    score = nodes[said.node].score + math.log(max(said.ghost.proxy, 1e-300))
    shows(g["kept"], len(nodes) - 1)
    if g["score"] != verdicts.RULED_OUT:
        shows(g["score"], score)
    cut(said, g)
    if "rank" in g:
        scores = said.round.candidates.scores
        shows(g["count"], len(scores))
        first = 1 + sum(x > score + 1e-6 for x in scores)
        assert first <= int(g["rank"]) <= sum(x >= score - 1e-6 for x in scores)
        assert int(g["rank"]) > len(nodes) - 1


def cut(said: Said, g: Groups) -> None:
    lowest = min(node.score for node in said.round.nodes[1:])
    if g["cut"] != verdicts.RULED_OUT:
        shows(g["cut"], lowest)


# A node's panel


def own_m(run: Run) -> int:
    return strategy_fields(run.params["strategy"]).deterministic_slots(
        int(run.params["m"]), int(run.params["K"])
    )


def check_ranking(said: Said, g: Groups) -> None:
    """The probe's proxy by its definition, where pruning cut."""
    cut(said, g)
    if "proxy" not in g:
        return
    m, q = own_m(said.run), said.visit.q
    if strategy_fields(said.run.params["strategy"]).uses_proxy:
        three(g["proxy"], min(q[m - 1], math.fsum(q[m:])) if m else q[0])
    else:
        known = [*said.round.children(said.node), *said.round.nodes[said.node].ghosts]
        token = next(child.token for child in known if child.slot == m)
        three(g["proxy"], q[said.visit.ids.index(token)])


def check_row(said: Said, g: Groups) -> None:
    """Rank, slot, proxy and score of a child, by slot."""
    there = said.round.nodes[said.node]
    proxies = {c.slot: c.proxy for c in [*said.round.children(said.node), *there.ghosts]}
    mine = proxies[said.at]
    three(g["proxy"], mine)
    order = sorted(proxies, key=lambda slot: (-proxies[slot], slot))
    shows(g["rank"], order.index(said.at) + 1)
    shows(g["slot"], said.at)
    if g["score"] != verdicts.RULED_OUT:
        shows(g["score"], there.score + math.log(mine))


def check_fact(name: str) -> Check:
    def check(said: Said, g: Groups) -> None:
        three(g["value"], fact(name, said.run, said.round, said.node))

    return check


def fact(name: str, run: Run, round: Round, node: int) -> float:
    """A node's number, from the distributions at its parent or its own where they are kept."""
    there: Node = round.nodes[node]
    above, here = round.visit_of(there.parent), round.visit_of(node)
    if name == labels.P and above and there.token in above.ids:
        return above.p[above.ids.index(there.token)]
    if name == labels.PROXY and above and there.kind != "probe":
        return above.q[above.ids.index(there.token)]
    if name == labels.TRUE and above:
        at = own_m(run)
        is_probe = there.kind == "probe" and there.slot == at
        return above.q_tilde[0][above.ids.index(there.token)] if is_probe else there.true
    if name == labels.TAIL and here and here.support_size == len(here.ids):
        return math.fsum(here.q[own_m(run) :])
    fields = {labels.PROXY: "proxy", labels.TRUE: "true", labels.P: "p", labels.ACCEPT: "accept"}
    fields |= {labels.TAIL: "z", labels.COVERAGE: "coverage"}
    return getattr(there, fields[name])


def check_strip(said: Said, g: Groups) -> None:
    """A bar's title is about one of the visit's draws."""
    for at in range(len(said.visit.steps)):
        about = Said(said.where, said.text, said.run, said.round, said.node, said.visit, at)
        is_probe = said.visit.steps[at].rule == "probe"
        if is_probe != ("ratio" in g):
            continue
        try:
            check_probe(about, g) if is_probe else check_tick(about, g)
        except AssertionError:
            continue
        return
    raise AssertionError(said.text)


def check_overlap(said: Said, g: Groups) -> None:
    """The sum of min(p, q-tilde), p after what is tested before the probe."""
    visit, run = said.visit, said.run
    draft = visit.q_tilde[0] if visit.q_tilde else visit.q
    p = list(visit.p)
    if visit.q_tilde and strategy_fields(run.params["strategy"]).tests_deterministic_first:
        heads = [c.token for c in said.round.children(said.node) if c.kind == "deterministic"]
        p = [0.0 if t in heads else x for t, x in zip(visit.ids, p, strict=True)]
    total = math.fsum([*p, *visit.outside_p, visit.rest])
    p = [x / total for x in p] if p != list(visit.p) and total > 0 else p
    value = math.fsum(map(min, p, draft))
    if "e" in g["mass"]:
        assert float(g["mass"]) == float(f"{value:.0e}")
    else:
        shows(g["mass"], value)


# Optimal transport, by playing every probe that there can be


def plan(said: Said) -> dict[str, float]:
    """The rule's plan at a node, draw by draw, and the least that the closed form gives."""
    visit: Visit = said.visit
    kept, m = len(said.round.rows_below(said.node)), own_m(said.run)
    p, q_tilde = visit.p, visit.q_tilde[0]
    head = math.fsum(p[:m])
    first = strategy_fields(said.run.params["strategy"]).tests_deterministic_first
    before, scale = (1 - head, head) if first else (1.0, 0.0)
    r = [0.0 if first and i < m else x / before for i, x in enumerate(p)]
    excess = [max(0.0, a - b) for a, b in zip(r, q_tilde, strict=True)]
    left = math.fsum(max(0.0, b - a) for a, b in zip(r, q_tilde, strict=True))
    others = math.fsum([*visit.outside_p, visit.rest])
    stays = moved = cost = 0.0
    for u, chance in enumerate(q_tilde):
        if chance > 0:
            accepted = min(chance, r[u])
            fillers = [t for t in range(len(p)) if t != u and t >= m][: kept - m - 1]
            reached = {*range(m), *fillers}
            stays += before * accepted
            if chance > accepted:
                rejected = before * (chance - accepted) / left
                moved += rejected * math.fsum(excess[t] for t in reached)
                missed = [x for t, x in enumerate(excess) if t not in reached]
                cost += rejected * (math.fsum(missed) + others / before)
    sure = math.fsum(p[: kept - 1])
    hat = [q_tilde[kept - 1] + math.fsum(q_tilde[: kept - 1]), *q_tilde[kept:]]
    drawn = math.fsum(map(min, p[kept - 1 :], hat))
    lack = [max(0.0, a - b) for a, b in zip(p[kept - 1 :], hat, strict=True)]
    least = math.fsum([*lack, others])
    numbers = {"stays": stays, "moved": moved + scale, "cost": cost, "sure": sure, "drawn": drawn}
    return numbers | {"least": least, "gap": cost - least}


def check_plan(said: Said, g: Groups) -> None:
    """Costs, and how many children there are."""
    kept = len(said.round.rows_below(said.node))
    if "children" in g:
        shows(g["children"], *([kept] if kept > 1 else []))
    if "best" in g:
        shows(g["best"], *([kept - 1] if kept > 2 else []))
        shows(g["next"].rstrip("stndrh"), kept)
    if g.keys() == {"children", "cost"}:
        rest = [*said.visit.p[kept:], *said.visit.outside_p, said.visit.rest]
        return shows(g["cost"], math.fsum(rest))
    numbers = plan(said) if g.keys() - {"children", "best", "next", "rule"} else {}
    for name in g.keys() & numbers.keys():
        value = numbers[name]
        if name in ("cost", "least"):
            shows(g[name], max(0.0, value))
        elif abs(value) > 1e-6:
            three(g[name], value)
        else:
            assert abs(float(g[name])) < 2e-6
    return None


CARD_PROBE = verdicts.RATIO + verdicts.RATIO_OUTCOME
CARD_SIBLING = verdicts.INTERVAL + verdicts.INTERVAL_OUTCOME
PLANS = (
    transport_words.PLAN_SAID,
    transport_words.RULE_COST,
    transport_words.LEAST_COST,
    transport_words.WHERE,
    transport_words.GAP,
    transport_words.ONE_PLAN,
)
