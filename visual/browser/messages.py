"""The messages that the browser gets of a run: small JSON made of views, a round at a time.

The browser draws and steps; it derives nothing. What one asks for rarely (a node's panel, the tree
with its pruned children, the table) is made when asked.
"""

import json

from rheo.json_object import JsonObject
from rheo.ranges import FULL
from rheo.trace.candidates import ghost_kind
from rheo.trace.schema import Round, Run, Visit
from visual.round import (
    bars,
    fates,
    ranking,
    residual,
    round_table,
    steps,
    transport_card,
    what_if_view,
)
from visual.run import metrics, speedup, timeline
from visual.style import palette
from visual.tree import closeup, figure, graph
from visual.tree.traces import CHOSEN, SIZES, WAITING_MARK, defaults
from visual.words import labels, measures, recordings, sentences
from visual.words.transcript_html import transcript

Message = JsonObject  # what JSON can hold
MOST_SENT = 1500  # nodes of the rounds in one message


def dumps(message: object) -> str:
    """Return compact JSON; NaN would break the browser's parser and is refused."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace").decode()  # half a character would break the whole stream


def common() -> Message:
    """Return what every drawing shares and is sent once."""
    return {
        "defaults": {name: defaults(name) for name in (*SIZES, WAITING_MARK, CHOSEN, "")},
        "layout": figure.LAYOUT,
        "close": figure.CLOSE,
        "bus": figure.BUS,
        "dark": palette.DARK,
        "words": labels.BROWSER | recordings.SAVING,
        "whatif": measures.WHATIF["hint"],
        "pitch": residual.PITCH,
        "keyed": [list(labels.COLUMNS).index(name) for name in ("step", "node")],
        "spoilers": [labels.COLUMNS[name] for name in ("step", "verdict", *round_table.TESTED)],
    }


def whole(key: str, run: Run, show: int = -1, most: int | None = MOST_SENT) -> Message:
    """Return the message of a finished run.

    Args:
        key: names the run.
        show: the round to open at, from 0; -1 is the last.
        most: nodes of the rounds in it, the one to open at first of all, then those that follow it;
            another round is null, and the viewer asks for it. None is all, 0 is none.
    """
    sent = set(range(len(run.rounds))) if most is None else _sent(run, show, most)
    rounds = [a_round(run, r) if at in sent else None for at, r in enumerate(run.rounds)]
    return {"type": "run", "key": key, "rounds": rounds, "show": show, **state(run)}


def _sent(run: Run, show: int, most: int) -> set[int]:
    """Return the rounds that a message has room for."""
    count = len(run.rounds)
    sent: set[int] = set()
    for at in (at % count for at in range(show, show + count)):
        nodes = len(run.rounds[at].nodes)
        if not most or (sent and nodes > most):
            break
        sent.add(at)
        most = max(0, most - nodes)
    return sent


def telling(run: Run) -> int:
    """Return the round that says most at first sight: an accepted probe, then the longest path."""

    def weight(round: Round) -> tuple[bool, int]:
        return any(e.origin == "probe" for e in round.emitted), round.accepted

    return max(range(len(run.rounds)), key=lambda k: weight(run.rounds[k]))


def opening(key: str, run: Run, at: int, file: str) -> Message:
    """Return the message that a page opens with; the panel it shows first is in it.

    Args:
        file: address of the file that holds all rounds.
    """
    node = figure.default_node(run.rounds[at])
    first = {answer_key(key, at, node, "panel"): panel(run, run.rounds[at], node)}
    said = {
        "sentence": labels.RECORDED_RUN.format(stop=labels.STOPS[run.stop]),
        "state": "recorded",
    }
    return {**whole(key, run, at, most=1), "file": file, "answers": first, **said}


def recorded_file(run: Run) -> bytes:
    """Return the file of a recorded run: all its rounds, as `whole` would send them."""
    return dumps([a_round(run, round) for round in run.rounds]).encode()


def answer_key(key: str, at: int | str, node: int | str, what: str) -> str:
    """Return what an answer is kept under in the browser; `Answers.name` there makes the same."""
    return f"{key}/{at}/{node}/{what}"


def state(run: Run) -> Message:
    """Return what stands above the tree: prompt, text so far, figures of the run."""
    return {
        "prompt": sentences.harmless(run.prompt),
        "note": sentences.harmless(run.note),
        "transcript": transcript(run),
        "metrics": sentences.summary(run)[:-1],
        "params": what_if_view.own(run),
        "about": about(run, recordings.PAGE_ABOUT, tuple(measures.SETTING_FORMS)),
    }


def a_round(run: Run, round: Round) -> Message:
    """Return a round to step to: its tree, its sentence, where the walk went, and its frames."""
    return {
        "index": round.index,
        "tree": slim(figure.drawing(run, round)),
        "headline": sentences.headline(run, round),
        "label": figure.label(run, round),
        "outcome": figure.outcome(run, round),
        "node": figure.default_node(round),
        "walk": [visit.node for visit in round.visits],
        "parents": [node.parent for node in round.nodes],
        "frames": steps.of(run, round),
    }


def about(run: Run, template: str, names: tuple[str, ...]) -> str:
    """Return a template with the run's strategy and its settings of these names."""
    name = run.params.get("strategy", "?")
    return template.format(
        strategy=labels.STRATEGY_NAMES.get(name, name),
        pair=sentences.harmless(run.pair),
        settings=sentences.settings(run, names, S=run.params.get("S") or FULL),
        seed=run.params.get("seed", "?"),
    )


def slim(drawing: Message) -> Message:
    """Return a tree's drawing without what `common` says, which the viewer puts back, and without
    the ring, which the viewer moves."""
    traces = []
    for trace in (trace for trace in drawing["data"] if trace["name"] != CHOSEN):
        known = defaults(trace["name"])
        traces.append({k: v for k, v in trace.items() if k not in known})
    layout = {k: v for k, v in drawing["layout"].items() if k not in figure.LAYOUT}
    return {"data": traces, "layout": layout}


def _part(tree: Message | None, **when: float) -> Message:
    return {**when, "tree": tree and slim(tree)}


def panel(run: Run, round: Round, node: int, figures: bool = True) -> Message:
    """Return everything about one node: its numbers, its figures, its verdicts in words."""
    visit, fate = round.visit_of(node), fates.of(run, round, node)
    drawings = [bars.proxy_true(run, round, node)] if figures else []
    if visit is None and figures:
        drawings.append(bars.draft_alone(run, round, node))
    elif figures:
        drawings += [bars.target_draft(run, round, node), residual.strip(run, round, node)]
    return {
        "title": sentences.name(run, round.nodes[node].token),
        "kind": round.nodes[node].kind,
        "facts": facts(round, node),
        "note": fate.sentence,
        "decided": fate.decided,
        "steps": _sentences_at(run, round, visit),
        "ranking": ranking.table(run, round, node),
        "figures": [drawn for drawn in drawings if drawn is not None],
        "transport": transport_card.card(run, round, node),
    }


def pruned_panel(run: Run, round: Round, name: str) -> Message:
    """Return the panel of a pruned child, by its name in the tree's drawing.

    Raises:
        ValueError: there is no such child.
    """
    parent, ghost = graph.pruned(round, name)
    score = ranking.shown(ranking.score(round, parent, ghost.proxy))
    fate = fates.of_pruned(round, parent, ghost)
    return {
        "title": sentences.name(run, ghost.token),
        "kind": ghost_kind(run, ghost),
        "facts": [(labels.PROXY, sentences.number(ghost.proxy)), (labels.COLUMNS["score"], score)],
        "note": fate.sentence,
        "decided": fate.decided,
        "steps": [],
        "ranking": ranking.table(run, round, parent),
        "figures": [],
    }


def facts(round: Round, node: int) -> list[tuple[str, str]]:
    """Return the numbers of a node that have no figure, with their names."""
    there = round.nodes[node]
    named = [
        (labels.PROXY, there.proxy if node else None),
        (labels.TRUE, there.true if node else None),
        (labels.P, there.p),
        (labels.ACCEPT, there.accept),
        (labels.TAIL, there.z),
        (labels.COVERAGE, there.coverage),
    ]
    return [(name, sentences.number(value)) for name, value in named if value is not None]


def _sentences_at(run: Run, round: Round, visit: Visit | None) -> list[str]:
    """Return the sentences of one visit, cut out of the round's."""
    if visit is None:
        return []
    start = sum(len(v.steps) for v in round.visits[: round.visits.index(visit)])
    return sentences.sentences(run, round)[start : start + len(visit.steps)]


def _table(run: Run, round: Round) -> Message:
    rows = [
        [sentences.number(cell) if isinstance(cell, float) else cell for cell in row.values()]
        for row in round_table.rows(run, round)
    ]
    return {"head": list(labels.COLUMNS.values()), "rows": rows}


def answer(run: Run, asked: Message, machine: speedup.Machine = speedup.ELSEWHERE) -> Message:
    """Return what the browser asked for: {"what", "round", "node"}, for "whatif" also its settings.

    "what" is "round", "panel", "walk", "ghosts", "closeup", "metrics", "whatif" or "table". "node"
    is an index; for a panel it may be the name of a pruned child.

    Nothing in `asked` is trusted: it comes from outside.

    Raises:
        ValueError: there is no such thing.
    """
    at, node, what = asked.get("round"), asked.get("node", 0), asked.get("what")
    if type(at) is not int or not 0 <= at < len(run.rounds):
        raise ValueError("no such round")
    round = run.rounds[at]
    if isinstance(node, str) and what == "panel":
        return pruned_panel(run, round, node)
    if type(node) is not int or not 0 <= node < len(round.nodes):
        raise ValueError("no such node")
    if what == "round":
        return a_round(run, round)
    if what == "panel":
        return panel(run, round, node)
    if what == "walk":  # all panels that a reader steps through
        return {str(visit.node): panel(run, round, visit.node) for visit in round.visits}
    if what == "ghosts":
        return slim(figure.drawing(run, round, ghosts=True))
    if what == "closeup":
        return {"parts": [_part(**part) for part in closeup.drawings(run, round)]}
    if what == "metrics":
        drawn = {"timeline": timeline.tau(run), "legend": timeline.legend(run)}
        return {**metrics.box(run, machine), **drawn}
    if what == "whatif":
        return what_if_view.block(run, round, node, asked, machine.vocabulary)
    if what == "table":
        return _table(run, round)
    raise ValueError("no such view")
