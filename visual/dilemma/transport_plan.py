"""The transport plan of a rule as a heat map: where the mass of every probe draw ends."""

import html

from rheo.exact.coupling import Coupling, OneNode
from visual.dilemma.acceptance import percent
from visual.style.palette import MARKS
from visual.words import one_hot

PLAN_RULES = ("rheo-rrsw", "rheo")
SHOWN = 0.004  # mass from which a cell has a number
DARKEST = 0.7  # share of ink in the fullest cell


def plans(node: OneNode, tokens: list[str]) -> str:
    """Return two heat maps in the same shades, RRSw and RheoSampling."""
    fullest = max(x for rule in PLAN_RULES for row in node.couplings[rule].plan for x in row)
    return "".join(_plan(node, rule, tokens, fullest) for rule in PLAN_RULES)


def _plan(node: OneNode, rule: str, tokens: list[str], fullest: float) -> str:
    coupling, names = node.couplings[rule], [html.escape(token) for token in tokens]
    head = f"<th>{one_hot.PLAN_PROBE}</th>" + "".join(f"<th>{name}</th>" for name in names)
    order = sorted(range(len(coupling.probes)), key=lambda i: -sum(coupling.plan[i]))
    body = "".join(_line(coupling, i, names, fullest) for i in order)
    foot = f"<th>{one_hot.PLAN_TARGET}</th>" + "".join(f"<td>{100 * x:.1f}</td>" for x in node.p)
    title = one_hot.PLAN_TITLE.format(rule=html.escape(one_hot.RULE_NAMES[rule]))
    return (
        f'<figure class="dl-plan" data-rule="{rule}"><figcaption><b>{title}</b></figcaption>'
        f'<div class="dl-scroll" tabindex="0" role="group" aria-label="{title}">'
        f"<table><thead><tr>{head}<th>{one_hot.PLAN_SUM}</th></tr></thead>"
        f"<tbody>{body}</tbody><tfoot><tr>{foot}<td></td></tr></tfoot></table></div>"
        f"<p>{note(coupling)}</p></figure>"
    )


def _line(coupling: Coupling, i: int, names: list[str], fullest: float) -> str:
    probe, masses, kinds = coupling.probes[i], coupling.plan[i], coupling.kinds[i]
    first = names[probe] if probe is not None else "–"
    cells = []
    for token, (mass, kind) in enumerate(zip(masses, kinds, strict=True)):
        how = kind or one_hot.MISSED
        said = one_hot.PLAN_CELL.format(
            probe=first, token=names[token], mass=percent(mass), how=how
        )
        shade = DARKEST * mass / fullest
        own = " own" if token == probe else ""
        letter = f"<sup>{MARKS[kind].letter}</sup>" if kind else ""
        shown = f"{100 * mass:.1f}{letter}" if mass >= SHOWN else ""
        cells.append(
            f'<td class="{kind or "missed"}{own}" style="--shade:{100 * shade:.1f}%" '
            f'title="{said}">{shown}</td>'
        )
    return f"<tr><th>{first}</th>{''.join(cells)}<td>{100 * sum(masses):.1f}</td></tr>"


def note(coupling: Coupling) -> str:
    """Return how much of the mass moved, and where to."""
    missed, moved = coupling.split.missed, coupling.moved
    return one_hot.PLAN_NOTE.format(
        stays=percent(1 - moved),
        moved=percent(moved),
        accepted=percent(max(moved - missed, 0.0)),
        missed=percent(missed),
    )
