"""A visited node as optimal transport: what the rule's plan costs, the least, and the gap, as HTML.

It stands beside the residual strip. The numbers are `rheo.trace.probe_coupling`'s, before the draw
of the probe, so that they give no verdict away.
"""

import html

from rheo.counting import counted, ordinal
from rheo.params import strategy_fields
from rheo.trace.probe_coupling import PlanCost, plan_cost
from rheo.trace.schema import Round, Run
from visual.round.cards import bar, unit
from visual.words import measures, transport_words
from visual.words.sentences import number, ordered

LEAST_GAP = 5e-7  # a smaller one is a trace's rounding


def card(run: Run, round: Round, node: int) -> str:
    """Return the card of `node`; "" where the trace has no plan to tell of."""
    found = plan_cost(run, round, node)
    if found is None:
        return ""
    said = _with_probe(run, found) if found.probe else [_one_plan(found)]
    segments = [
        (label, getattr(found, part), part) for part, label in transport_words.BAR_PARTS.items()
    ]
    if found.probe:
        said.insert(1, unit(bar(segments)))
    title = html.escape(transport_words.PLAN_HEAD)
    return f'<div class="rs-card rs-plan"><h3>{title}</h3>{"".join(said)}</div>'


def _with_probe(run: Run, found: PlanCost) -> list[str]:
    """Return what is said of a plan, paragraph by paragraph."""
    same = found.gap < LEAST_GAP
    costs = [found.cost, found.cost if same else found.least]
    cost, least = ordered(costs)
    stays, moved, sure, drawn = map(number, (found.stays, found.moved, found.sure, found.drawn))
    first = strategy_fields(run.params.get("strategy")).tests_deterministic_first
    rule = transport_words.VERIFIERS[first]
    best = counted(found.kept - 1, transport_words.BEST) if found.kept > 1 else ""
    return [
        _paragraph(transport_words.PLAN_SAID.format(children=_children(found, "no kept child"))),
        _formula(transport_words.RULE_COST.format(stays=stays, moved=moved, cost=cost)),
        _formula(transport_words.LEAST_COST.format(sure=sure, drawn=drawn, least=least)),
        _paragraph(
            transport_words.WHERE.format(
                best=best or transport_words.EMPTY, next=ordinal(found.kept)
            )
        ),
        _paragraph(
            transport_words.NO_GAP.format(rule=rule)
            if same
            else transport_words.GAP.format(
                cost=cost, least=least, gap=number(found.gap), rule=rule
            )
        ),
    ]


def _one_plan(found: PlanCost) -> str:
    (cost,) = ordered([found.cost])
    return _paragraph(transport_words.ONE_PLAN.format(children=_children(found), cost=cost))


def _children(found: PlanCost, noun: str = "kept child") -> str:
    return counted(found.kept, measures.COUNTS[noun])


def _paragraph(said: str) -> str:
    return f"<p>{html.escape(said)}</p>"


def _formula(said: str) -> str:
    return f'<p class="rs-formula">{html.escape(said)}</p>'
