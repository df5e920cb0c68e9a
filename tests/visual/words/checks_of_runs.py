"""What each sentence about a round or a run must say, by its template; the list of all checks."""

import math
import re
import statistics

from rheo.params import strategy_fields
from rheo.trace.schema import Round
from tests.visual.words import checks_of_steps as steps
from tests.visual.words.number_patterns import shows
from tests.visual.words.said_of_runs import Said
from visual.words import labels, measures, transport_words, verdicts

Groups, Check = steps.Groups, steps.Check


def check_headline(said: Said, g: Groups) -> None:
    """What was emitted and accepted, the expectation, and that of the same nodes one-hot."""
    r = said.round
    shows(g["tokens"].split(" ")[0], len(r.emitted))
    shows(g["accepted"], sum(e.node is not None for e in r.emitted) if "cut" in g else r.accepted)
    shows(g["drafted"], len(r.nodes) - 1)
    shows(g["expected"], r.expected_accepted)
    if "one_hot" in g:
        reach = [1.0]
        for node in r.nodes[1:]:
            reach.append(reach[node.parent] * node.p)
        shows(g["one_hot"], math.fsum(reach[1:]))


def check_tree(said: Said, g: Groups) -> None:
    r = said.round
    shows(g["round"], r.index + 1)
    shows(g["nodes"], len(r.nodes) - 1)
    shows(g["levels"], max(node.depth for node in r.nodes))
    shows(g["accepted"], r.accepted)


FILLERS = re.compile(r"(\d+) tokens? by rank \(fillers\)$")


def levels_of(r: Round) -> list[int]:
    """The level of each candidate, one below that of its parent; empty in an older trace."""
    if r.candidates is None:
        return []
    K = len(r.candidates.tokens) // len(r.candidates.expanded)
    made: list[int] = []
    for i in range(len(r.candidates.tokens)):
        parent = r.candidates.expanded[i // K]
        made.append(1 if parent < 0 else made[parent] + 1)
    return made


def check_level(said: Said, g: Groups) -> None:
    """What survives of a level, and what was proposed for it."""
    kept = [node for node in said.round.nodes if node.depth == said.at]
    probes, levels = sum(node.kind == "probe" for node in kept), levels_of(said.round)
    proposed = levels.count(said.at)
    if said.at == 1 and not levels:
        proposed = len(kept) + len(said.round.nodes[0].ghosts)
    count = any(c.isdigit() for c in g["kept"])
    shows(g["kept"], *([len(kept)] if count else []))
    assert count or len(kept) == 1 or len(kept) == proposed
    shows(g.get("probes", ""), *([probes] if probes > 1 else []))
    assert bool(g.get("probes")) == (probes > 0)
    if "parents" in g:
        K = len(levels) // len(said.round.candidates.expanded)
        parents = levels[::K].count(said.at)
        shows(g["parents"], *([parents] if parents > 1 else []))
        shows(g["above"], said.at - 1)
        shows(g["proposed"], proposed)
    if "level" in g:
        shows(g["level"], said.at)
    else:
        family = [*said.round.children(0), *said.round.nodes[0].ghosts]
        about = strategy_fields(said.run.params["strategy"])
        fixed = steps.own_m(said.run) + about.probe_slots(int(said.run.params["probes"]))
        fillers = sum(child.slot >= fixed for child in family)
        if said.round.candidates is not None:
            fillers = said.round.candidates.kinds[: len(family)].count("f")
        found = FILLERS.search(g["named"])
        assert bool(found) == bool(fillers)
        shows(found[1] if found else "", *([fillers] if fillers else []))


def check_prune(said: Said, g: Groups) -> None:
    """How many candidates there were, and how many of them, and which levels, are gone."""
    kept, levels = len(said.round.nodes) - 1, levels_of(said.round)
    deepest = max(node.depth for node in said.round.nodes)
    if "kept" in g:
        shows(g["kept"], *([kept] if kept > 1 else []))
    if "candidates" in g:
        shows(g["candidates"], len(levels))
    if "dropped" in g:
        shows(g["dropped"], len(levels) - kept)
        gone = [level for level in dict.fromkeys(levels) if level > deepest]
        ends = [g[name] for name in ("first", "last") if name in g]
        shows(" ".join(ends), *(gone if len(gone) < 2 else (gone[0], gone[-1])))


def kinds(said: Said) -> list[int]:
    """Emitted draft tokens by kind."""
    origins = [e.origin for r in said.run.rounds for e in r.emitted]
    return [origins.count(kind) for kind in ("deterministic", "probe", "filler")]


def check_figure(said: Said, g: Groups) -> None:
    """A figure of the run, by its name."""
    rounds, value = said.run.rounds, g["value"]
    name = said.where.removeprefix("figure ").removeprefix("summary ")
    tests = [s for r in rounds for v in r.visits for s in v.steps if s.rule == "probe"]
    emitted = [e for r in rounds for e in r.emitted]
    seconds = math.fsum(r.ms.draft + r.ms.target + r.ms.verify + r.ms.other for r in rounds)
    expected = statistics.fmean(r.expected_accepted for r in rounds)
    if name == labels.TAU:
        shows(value, sum(r.counted for r in rounds) / len(rounds))
    elif name == labels.EXPECTED_TAU:
        shows(value, expected + 1)
    elif name == measures.FIGURES["expected"]:
        shows(value, expected)
    elif name == measures.FIGURES["accepted"]:
        shows(value, statistics.fmean(r.accepted for r in rounds))
    elif name == measures.FIGURES["speed"]:
        shows(value, 1000 * len(emitted) / seconds)
    elif name == labels.BY_KIND:
        shows(value, *kinds(said))
    elif name == measures.FIGURES["ended"]:
        shows(value, *(sum(e.origin == end for e in emitted) for end in ("residual", "bonus")))
    elif name == measures.FIGURES["tests"]:
        won = sum(s.verdict == "accept" for s in tests)
        if tests:
            shows(value, won, len(tests), 100 * won / len(tests))
    elif name == measures.FIGURES["survival"]:
        kept = sum(n.kind == "probe" for r in rounds for n in r.nodes)
        part, whole, percent = (float(x.strip("(")) for x in value.split() if x[-1].isdigit())
        assert part == kept <= whole and abs(percent - 100 * kept / whole) <= 0.5
    else:
        raise AssertionError(f"{name} has no check")


def check_hint(said: Said, g: Groups) -> None:
    steps_ = [s for r in said.run.rounds for v in r.visits for s in v.steps if s.rule == "probe"]
    shows(g["mean"], statistics.fmean(min(1.0, s.p / s.q_tilde) for s in steps_))


def check_timeline(said: Said, g: Groups) -> None:
    rounds = said.run.rounds
    if "counts" in g:
        shows(g["counts"].replace(",", ""), *(len(r.emitted) for r in rounds))
    shows(g["tau"], sum(r.counted for r in rounds) / len(rounds))


def check_hover(said: Said, g: Groups) -> None:
    shows(g["round"], said.round.index + 1)
    if "expected" in g:
        shows(g["expected"], said.round.expected_accepted + 1)


def check_speed(said: Said, g: Groups) -> None:
    total = math.fsum(r.ms.total for r in said.run.rounds)
    emitted = sum(len(r.emitted) for r in said.run.rounds)
    if "speed" in g:
        shows(g["speed"], 1000 * emitted / total)
        threads = [float(said.run.versions["threads"])] if "thread" in g["device"] else []
        shows(g["device"], *threads)
    else:
        shows(g["ms"], statistics.median(r.ms.total for r in said.run.rounds))


def check_shares(said: Said, g: Groups) -> None:
    """Milliseconds a round, and the share of each part."""
    rounds, parts = said.run.rounds, ("target", "draft", "verify", "other")
    ms = {part: statistics.fmean(getattr(r.ms, part) for r in rounds) for part in parts}
    total = math.fsum(ms.values())
    if "ms" in g:
        shows(g["ms"], ms[next(k for k, name in measures.SHARES.items() if name == g["name"])])
    if "total" in g:
        shows(g["total"], total)
    if "all_parts" in g:
        said_of = g["all_parts"] + " %"
        assert re.findall(r"[a-z]+", said_of) == [measures.SHARES[part] for part in parts]
        shows(said_of, *(100 * ms[part] / total for part in parts))
    if "parts" in g:
        shows(g["parts"], *(100 * ms[part] / total for part in parts))


def check_what_if(said: Said, g: Groups) -> None:
    """Under the run's own settings: these, and what is accepted at the node."""
    if "percent" in g:
        shows(g["percent"], 100 * math.fsum(n.accept for n in said.round.children(said.node)))
    if "settings" in g:
        values = {part.split(" = ")[0]: part.split(" = ")[1] for part in g["settings"].split(", ")}
        assert values and all(float(said.run.params[k]) == float(x) for k, x in values.items())


def optional(template: str, field: str) -> tuple[str, str]:
    """A template with a field, and without it."""
    return template, template.replace("{" + field + "}", "")


FIGURE = "{value}"
ENDS = (verdicts.LEFT, verdicts.GOES_ON_LEAF, verdicts.GOES_ON, verdicts.TEXT_ENDS, ".")
_END = [end.replace("{token}", "{next}").replace("{distribution}", "{root}") for end in ENDS]
ONE_HOT = [labels.EXPECTED + end for end in (".", labels.BIASED + ".")]
LOST = {k: x.replace("{token}", "{name}") for k, x in verdicts.LOST.items()}
BEHIND = verdicts.FATES["behind a rejected one"]
CARD_LEFT = f"{verdicts.RESIDUAL_FORMULA} {verdicts.RESIDUAL_SAID}".replace(
    "{mass} of", "{left} of"
)
FATE = {
    "probe accepted": steps.fate(steps.check_probe),
    "probe rejected": steps.fate(steps.check_probe),
    "point accepted": steps.fate(steps.check_interval),
    "point rejected": steps.fate(steps.check_interval),
    "passed over": steps.check_passed,
    "pruned": steps.check_pruned,
    "pruned, rank unknown": steps.check_pruned,
}
LOST_BY = {"probe rejected": steps.check_probe, "point rejected": steps.check_interval}

# (where a text stands, its template, what its numbers must be)
CHECKS: list[tuple[str, str, Check]] = [
    *(("headline", labels.ACCEPTED + "{text}" + end, check_headline) for end in ONE_HOT),
    ("headline", labels.ACCEPTED + labels.EXPECTED_ONE_HOT + ".", check_headline),
    ("tree", labels.TREE_LABEL + labels.TREE_OUTCOME, check_tree),
    *(("growth", x, check_level) for x in optional(verdicts.LEVEL_ONE, "probes")),
    *(("growth", x, check_level) for x in optional(verdicts.LEVEL, "probes")),
    *(("growth", x, check_level) for x in optional(verdicts.LEVEL_OLDER, "probes")),
    *(
        ("growth", verdicts.PRUNE.replace("{levels}", gone), check_prune)
        for gone in (*verdicts.LEVELS_GONE[::-1], "")
    ),
    *(("growth", x, check_prune) for x in (verdicts.NONE_DROPPED, verdicts.PRUNE_OLDER)),
    *(("step", labels.PROBE_STEP.removesuffix(".") + end, steps.check_probe) for end in _END),
    *(("step", labels.SIBLING_STEP.removesuffix(".") + end, steps.check_interval) for end in _END),
    ("step", labels.EMIT_STEP, steps.check_emission),
    ("step", labels.BONUS_STEP, steps.check_emission),
    ("card", steps.CARD_PROBE, steps.check_probe),
    ("card", CARD_LEFT, steps.check_probe),
    ("card", steps.CARD_SIBLING, steps.check_interval),
    ("card", verdicts.EMITTED, steps.check_emission),
    *(("tick", x + " {u}", steps.check_tick) for x in (verdicts.TICK_1, verdicts.TICK_2)),
    ("tick", "{u}", steps.check_tick),
    *(("fate", verdicts.FATES[k] + verdicts.FATE_CUT, f) for k, f in FATE.items()),
    *(("fate", verdicts.FATES[k], f) for k, f in FATE.items()),
    *(("fate", BEHIND.replace("{why}", LOST[k]), steps.fate(f, True)) for k, f in LOST_BY.items()),
    *(
        ("ranking", why + verdicts.TEXT_CUT, steps.check_ranking)
        for why in (
            *(verdicts.RANK_PROBE, verdicts.RANK_PROBE_FIRST),
            *(verdicts.RANK_NAIVE, verdicts.RANK_FIXED),
        )
    ),
    ("ranking", verdicts.ALL_DROPPED, steps.cut),
    ("ranking row", "{rank} | {slot} | {proxy} | {score} | {kind}", steps.check_row),
    *(
        (f"fact {name}", FIGURE, steps.check_fact(name))
        for name in (
            labels.PROXY,
            labels.TRUE,
            labels.P,
            labels.ACCEPT,
            labels.TAIL,
            labels.COVERAGE,
        )
    ),
    *(
        ("strip", template, steps.check_strip)
        for template in (
            *(labels.STAGE_REJECT, labels.STAGE_ACCEPT, labels.STAGE_BONUS),
            *(labels.STAGE_EMIT, labels.STAGE_CHILD, labels.STAGE_MISS),
        )
    ),
    ("overlap", labels.OVERLAP.split("▬ only")[0], steps.check_overlap),
    *(("plan", template, steps.check_plan) for template in steps.PLANS),
    ("plan", transport_words.NO_GAP, steps.check_nothing),
    *((f"figure {name}", FIGURE, check_figure) for name in measures.FIGURES.values()),
    *(
        (f"summary {name}", FIGURE, check_figure)
        for name in (labels.TAU, labels.EXPECTED_TAU, labels.SPEED, labels.BY_KIND)
    ),
    ("hint", measures.TESTS_HINT, check_hint),
    ("timeline", measures.TIMELINE_LABEL, check_timeline),
    ("timeline note", labels.TIMELINE_TAU, check_timeline),
    ("timeline hover", labels.TIMELINE_HOVER_EXPECTED, check_hover),
    ("timeline hover", labels.TIMELINE_HOVER, check_hover),
    ("speed", measures.MADE_ELSEWHERE, check_speed),
    ("speed", measures.THE_REFERENCE, check_speed),
    ("shares", measures.SHARES_LABEL, check_shares),
    ("shares", measures.ROUND_COST, check_shares),
    ("shares", measures.SHARE_TITLE, check_shares),
    ("shares", "{all_parts} %", check_shares),
    ("what if", measures.WITH + " " + measures.RUN_HAD, check_what_if),
    ("what if", measures.BAR_LABEL, check_what_if),
]
