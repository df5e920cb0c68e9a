"""The local ranking of a node's children: why the probe stands where it stands."""

import math

from rheo.params import strategy_fields
from rheo.trace.schema import Round, Run
from visual.round import bars
from visual.style.plotly_base import Drawn
from visual.words import labels, sentences, verdicts
from visual.words.sentences import number

_RULED_OUT = -1e8  # a score below it: the draft gives the token no probability at all


def table(run: Run, round: Round, node: int) -> Drawn:
    """Return {"head", "rows", "note"}: the children of `node` by score, kept and pruned.

    Ties stand by slot, as in growing and pruning. The note says what places the probe, and where
    pruning cut.
    """
    scored = [(score(round, node, child.proxy), child) for child in bars.children(run, round, node)]
    scored.sort(key=lambda pair: (-pair[0], pair[1].slot))
    rows = [
        [
            str(rank),
            str(child.slot),
            sentences.name(run, child.token),
            labels.ORIGINS[child.kind],
            number(child.proxy),
            shown(points),
            verdicts.KEPT if child.kept else verdicts.PRUNED_TO,
        ]
        for rank, (points, child) in enumerate(scored, start=1)
    ]
    return {"head": list(verdicts.RANKING), "rows": rows, "note": _note(run, round, node)}


def score(round: Round, parent: int, proxy: float) -> float:
    """Return the score of a child of `parent` with a proxy, in nats."""
    return round.nodes[parent].score + math.log(proxy) if proxy > 0 else -math.inf


def _note(run: Run, round: Round, node: int) -> str:
    children = bars.children(run, round, node)
    if not children and not round.nodes[node].expanded:
        return verdicts.NOT_EXPANDED
    cut = shown(min((n.score for n in round.nodes[1:]), default=-math.inf))
    if not children:
        return verdicts.ALL_DROPPED.format(cut=cut)
    probes = [child for child in children if child.kind == "probe"]
    if not probes:
        why = verdicts.RANK_FIXED
    elif not strategy_fields(run.params.get("strategy")).uses_proxy:
        why = verdicts.RANK_NAIVE
    else:
        why = verdicts.RANK_PROBE if int(run.params.get("m", 1)) else verdicts.RANK_PROBE_FIRST
    proxy = number(probes[0].proxy) if probes else ""
    return why.format(proxy=proxy) + verdicts.TEXT_CUT.format(cut=cut)


def shown(score: float) -> str:
    """Return a score in words."""
    return f"{score:.2f}" if score > _RULED_OUT else verdicts.RULED_OUT
