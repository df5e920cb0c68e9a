"""Bars for one node: its children's proxy against true, and target p against draft q-tilde."""

import math
from dataclasses import replace
from typing import NamedTuple

from rheo.params import DecodeParams, strategy_fields
from rheo.trace.candidates import ghost_kind
from rheo.trace.schema import Ghost, Round, Run, Visit
from visual.style.palette import DRAFT, INK, MARKS, MUTED, PAPER, TARGET
from visual.style.plotly_base import (
    HIDDEN_AXIS,
    Drawn,
    cell,
    column,
    figure,
    left,
    note,
    rows,
    rule,
)
from visual.words import labels
from visual.words.sentences import escape, name

_ROW, _PITCH = 13, 16  # pixels of a row: 13 tokens or 10 slots fit under a head
_HEAD = 48
SLOTS = 10  # children shown
_TOKENS = 12  # tokens shown, the rest being one row
LABEL = 11  # columns of a token's label


class Child(NamedTuple):
    """A slot of a node, kept or pruned."""

    kind: str
    token: int
    slot: int
    proxy: float
    true: float | None  # None: a pruned probe whose q-tilde the trace does not keep
    kept: bool


def children(run: Run, round: Round, node: int) -> list[Child]:
    """Return the children of `node` by slot, those that pruning dropped included."""
    found = [Child(n.kind, n.token, n.slot, n.proxy, n.true, True) for n in round.children(node)]
    for ghost in round.nodes[node].ghosts:
        kind, true = ghost_kind(run, ghost), 1.0
        if kind == "probe":
            true = _q_tilde(run, round.visit_of(node), ghost)
        found.append(Child(kind, ghost.token, ghost.slot, ghost.proxy, true, False))
    return sorted(found, key=lambda child: child.slot)


def _q_tilde(run: Run, visit: Visit | None, ghost: Ghost) -> float | None:
    """Return what a pruned probe was drawn with, where the walk came and its token is recorded."""
    if visit is None or ghost.token not in visit.ids:
        return None
    params = DecodeParams.from_dict(run.params)
    probe = ghost.slot - params.fields.deterministic_slots(params.m, params.K)
    if not 0 <= probe < len(visit.q_tilde):
        return None
    return visit.q_tilde[probe][visit.ids.index(ghost.token)]


def proxy_true(run: Run, round: Round, node: int) -> Drawn | None:
    """Return proxy against true probability of each child of `node`; None if childless.

    The proxy is what pruning saw, the true probability what verification uses.

    Traces: "proxy", a bar a slot, and "true", a mark a slot; y is the row from the top, customdata
    rows are [token id, kind, slot, proxy, true].
    """
    every = children(run, round, node)
    shown = every[:SLOTS]
    if not shown:
        return None
    cut = labels.CUT.format(shown=len(shown), all=len(every))
    return figure(
        _slots(shown),
        _HEAD + _PITCH * len(shown),
        [(labels.PROXY_TRUE, MUTED)] + ([(cut, MUTED)] if len(shown) < len(every) else []),
        shapes=[rule(x, len(shown)) for x in (0, 0.5, 1)],
        annotations=[
            *(note(cell(x), x, -1, xanchor="center") for x in (0, 0.5, 1)),
            column(labels.PROXY, -1, 0),
            column(labels.TRUE, -1, 1),
            *(part for row, c in enumerate(shown) for part in _child_row(run, row, c)),
        ],
        xaxis={**HIDDEN_AXIS, "range": [-0.02, 1.04]},
        yaxis=rows(len(shown)),
    )


def _slots(shown: list[Child]) -> list[Drawn]:
    """Return the two traces of the children: a bar for the proxy, a mark for the true one."""
    at = list(range(len(shown)))
    data = [[c.token, c.kind, c.slot, c.proxy, c.true] for c in shown]
    colours = [MARKS[c.kind].colour for c in shown]
    rim = {"color": colours, "width": 1.75}
    bars = {
        "type": "bar",
        "name": "proxy",
        "orientation": "h",
        "x": [c.proxy for c in shown],
        "y": at,
        "width": 0.56,
        "marker": {
            "color": [c if s.kept else PAPER for c, s in zip(colours, shown, strict=True)],
            "line": {"color": colours, "width": 1},
        },
        "customdata": data,
        "hoverinfo": "skip",
    }
    marks = {
        "type": "scatter",
        "name": "true",
        "mode": "markers",
        "x": [c.true for c in shown],
        "y": at,
        "marker": {"symbol": "diamond", "size": 9, "color": PAPER, "line": rim},
        "cliponaxis": False,
        "customdata": data,
        "hoverinfo": "skip",
    }
    return [bars, marks]


def _child_row(run: Run, row: int, child: Child) -> list[dict]:
    ink = INK if child.kept else MUTED
    true = labels.UNKNOWN if child.true is None else cell(child.true)
    parts = label(run, row, child.token, child.kind, ink)
    parts += [column(cell(child.proxy), row, 0, ink), column(true, row, 1, ink)]
    if not child.kept:
        parts.append(note(labels.PRUNED, min(child.proxy, 0.8) + 0.02, row))
    return parts


def label(run: Run, row: int, token: int, kind: str | None, ink: str = INK) -> list[dict]:
    """Return a row's token in the left margin, behind the mark of its kind."""
    shown = left(escape(name(run, token, LABEL)), row, 36, ink)
    if kind is None:
        return [shown]
    mark = MARKS[kind]
    return [left(f"{mark.glyph} {mark.letter}", row, 8, mark.colour), shown]


class BarPair(NamedTuple):
    """A row of target against draft: p, the draft's probability, and what they share."""

    token: int | None  # None: all others
    kind: str | None  # of a kept child
    p: float
    q: float
    overlap: float


def target_draft(run: Run, round: Round, node: int, probe: int = 0) -> Drawn | None:
    """Return target p against what the probe was drawn from, by token; None if never visited.

    The overlap min(p, q-tilde) is what an accepted probe comes from, the target's excess is what a
    rejection leaves: the residual. Where deterministic children are tested first, p is r: what they
    leave of it, normalised. Without a probe slot the draft is q, at a leaf there is none.
    Traces "overlap", "target", "draft" are stacked; customdata rows are [token id, p, q].
    """
    visit = round.visit_of(node)
    if visit is None:
        return None
    tilde = probe < len(visit.q_tilde)
    q = visit.q_tilde[probe] if tilde else visit.q
    first = _tested_first(run, round, node) if tilde else ()
    pairs = _pairs(round, _without(visit, first), q)
    both = (labels.R if first else labels.P, labels.Q_TILDE if tilde else labels.Q)
    heads = both[: 2 if visit.ids else 1]
    overlaps, excess = [r.overlap for r in pairs], [r.p - r.overlap for r in pairs]
    traces = [
        _stack("overlap", pairs, [0.0] * len(pairs), overlaps),
        _stack("target", pairs, overlaps, excess),
        _stack("draft", pairs, [r.p for r in pairs], [r.q - r.overlap for r in pairs]),
    ]
    longest = max((pair.p + pair.q - pair.overlap for pair in pairs), default=1.0)
    return figure(
        traces,
        _HEAD + _ROW * len(pairs),
        _target_legend(pairs, heads),
        shapes=[rule(0, len(pairs))],
        annotations=[
            *(column(head, -1, i) for i, head in enumerate(heads)),
            *(part for row, r in enumerate(pairs) for part in _pair_row(run, row, r, len(heads))),
        ],
        **_axes(pairs, longest),
    )


def draft_alone(run: Run, round: Round, node: int) -> Drawn | None:
    """Return what is known of q at a node that the walk never visited; None where nothing is.

    The proxy of a deterministic child and of a filler is its q; the rest has the probe's in it.
    """
    known = [c for c in children(run, round, node) if c.kind != "probe"][:_TOKENS]
    if not known:
        return None
    pairs = [BarPair(c.token, c.kind, c.proxy, c.proxy, 0.0) for c in known]
    rest = max(0.0, 1 - math.fsum(child.proxy for child in known))
    pairs.append(BarPair(None, None, rest, rest, 0.0))
    return figure(
        [_stack("draft", pairs, [0.0] * len(pairs), [pair.q for pair in pairs])],
        _HEAD + _ROW * len(pairs),
        [(labels.DRAFT_ALONE, DRAFT)],
        shapes=[rule(0, len(pairs))],
        annotations=[
            column(labels.Q, -1, 0),
            *(part for row, pair in enumerate(pairs) for part in _pair_row(run, row, pair, 1)),
        ],
        **_axes(pairs, max(pair.q for pair in pairs)),
    )


def _tested_first(run: Run, round: Round, node: int) -> tuple[int, ...]:
    """Return the tokens of the children that the strategy tests before the probe."""
    if not strategy_fields(run.params.get("strategy")).tests_deterministic_first:
        return ()
    return tuple(n.token for n in round.children(node) if n.kind == "deterministic")


def _without(visit: Visit, tokens: tuple[int, ...]) -> Visit:
    """Return the visit with p as it is after these were rejected; p itself if nothing is left."""
    p = [0.0 if t in tokens else x for t, x in zip(visit.ids, visit.p, strict=True)]
    left = math.fsum([*p, *visit.outside_p, visit.rest])
    if not tokens or left <= 0:
        return visit
    outside = tuple(x / left for x in visit.outside_p)
    return replace(visit, p=tuple(x / left for x in p), outside_p=outside, rest=visit.rest / left)


def _pair_row(run: Run, row: int, pair: BarPair, columns: int) -> list[dict]:
    if pair.token is None:
        parts = [left(labels.OTHERS, row, 36, MUTED)]
    else:
        parts = label(run, row, pair.token, pair.kind)
    numbers = (pair.p, pair.q)[:columns]
    return parts + [column(cell(x), row, i, INK) for i, x in enumerate(numbers)]


def _pairs(round: Round, visit: Visit, q: tuple[float, ...]) -> list[BarPair]:
    """Return the tokens with the largest p or q, and all others in one row, never negative."""
    kinds = {n.token: n.kind for n in round.children(visit.node)}
    known = dict(zip(visit.ids, zip(visit.p, q, strict=True), strict=True))
    known |= {t: (p, 0.0) for t, p in zip(visit.outside_ids, visit.outside_p, strict=True)}
    order = sorted(known, key=lambda token: -max(known[token]))
    pairs = [
        BarPair(token, kinds.get(token), *known[token], min(known[token]))
        for token in order[:_TOKENS]
        if max(known[token]) > 0
    ]
    tail = [known[token] for token in order[_TOKENS:]]
    p = visit.rest + math.fsum(p for p, _ in tail)
    others = math.fsum(q for _, q in tail)
    if max(p, others) > 0:
        pairs.append(BarPair(None, None, p, others, math.fsum(map(min, tail))))
    return pairs


def _axes(pairs: list[BarPair], longest: float) -> Drawn:
    return {
        "xaxis": {**HIDDEN_AXIS, "range": [-0.02 * longest, 1.04 * longest]},
        "yaxis": rows(len(pairs)),
    }


def _stack(part: str, pairs: list[BarPair], base: list[float], length: list[float]) -> Drawn:
    hatch = {"shape": "/", "fgcolor": DRAFT, "bgcolor": PAPER, "size": 5, "solidity": 0.45}
    draft = part == "draft"
    colour = {"overlap": MUTED, "target": TARGET, "draft": DRAFT}[part]
    return {
        "type": "bar",
        "name": part,
        "orientation": "h",
        "x": length,
        "base": base,
        "y": list(range(len(pairs))),
        "width": 0.62,
        "marker": {
            "color": colour,
            "line": {"color": colour, "width": [0.75 if draft and x > 0 else 0 for x in length]},
            **({"pattern": hatch} if draft else {}),
        },
        "customdata": [[pair.token, pair.p, pair.q] for pair in pairs],
        "hoverinfo": "skip",
    }


def _target_legend(pairs: list[BarPair], heads: tuple[str, ...]) -> list[tuple[str, str]]:
    if len(heads) == 1:
        return [(labels.TARGET_ALONE, TARGET)]
    mass = math.fsum(pair.overlap for pair in pairs)
    return [
        (labels.OVERLAP.format(mass=cell(mass)), MUTED),
        (labels.TARGET_ONLY.format(p=heads[0]), TARGET),
        (labels.DRAFT_ONLY.format(q=heads[1]), DRAFT),
    ]
