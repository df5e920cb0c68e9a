"""How much of a node each rule accepts: stacked bars, and the sentence that says it."""

import html

from rheo.node import Node, Split
from visual import strings_dilemma as strings
from visual.palette import MARKS

ROWS = ("topk", "rheo-rrsw", "rheo")
PARTS = ("deterministic", "probe", "filler", "missed")
ROOM = 0.075  # share of a bar from which a part is labelled
EVEN = 0.0005  # acceptances closer than this read as equal


def percent(x: float) -> str:
    r"""A probability in words.

    >>> percent(0.854)
    '85.4\xa0%'
    """
    return strings.PERCENT.format(value=100 * max(x, 0.0))


def stacks(node: Node) -> str:
    """Stacked bars of the rules, then the optimum, as HTML."""
    rows = [_row(rule, node.couplings[rule].split) for rule in ROWS]
    best = percent(node.optimum)
    label = f"{strings.RULES['optimum']}: {best}, {strings.STACK_OPTIMUM}"
    rows.append(
        f'<div class="dl-stack" data-rule="optimum"><span>{strings.RULES["optimum"]}</span>'
        f'<span class="dl-bar" role="img" aria-label="{label}" title="{strings.STACK_OPTIMUM}">'
        f'<i class="dl-part best" style="width:{100 * node.optimum:.3f}%"></i></span>'
        f"<b>{best}</b></div>"
    )
    return "".join(rows)


def _row(rule: str, split: Split) -> str:
    masses = [(part, getattr(split, part)) for part in PARTS]
    said = ", ".join(f"{strings.SPLIT[part]} {percent(x)}" for part, x in masses)
    name = html.escape(strings.RULES[rule])
    label = strings.STACK_LABEL.format(rule=name, accepted=percent(split.accepted), parts=said)
    parts = "".join(_part(part, mass) for part, mass in masses if mass > 1e-9)
    return (
        f'<div class="dl-stack" data-rule="{rule}"><span>{name}</span>'
        f'<span class="dl-bar" role="img" aria-label="{label}">{parts}</span>'
        f"<b>{percent(split.accepted)}</b></div>"
    )


def _part(part: str, mass: float) -> str:
    mark = MARKS.get(part)
    shown = f"{mark.letter if mark else '–'} {100 * mass:.1f}" if mass >= ROOM else ""
    title = f"{strings.SPLIT[part]} {percent(mass)}"
    return f'<i class="dl-part {part}" style="width:{100 * mass:.3f}%" title="{title}">{shown}</i>'


def legend() -> str:
    """The parts of a bar: letter, colour, name."""
    return "".join(
        f'<span><i class="dl-part {part}"></i>{MARKS[part].letter if part in MARKS else "–"} '
        f"{strings.SPLIT[part]}</span>"
        for part in PARTS
    )


def sentence(node: Node, paper: bool = False) -> str:
    """What happened at this node, in words and numbers.

    Args:
        paper: also say what the paper measured.
    """
    got = {rule: node.couplings[rule].split.accepted for rule in ROWS}
    said = {"rrsw": percent(got["rheo-rrsw"]), "optimum": percent(node.optimum), "K": node.K}
    said |= {"topk": percent(got["topk"]), "rheo": percent(got["rheo"])}
    gain = got["rheo"] - got["topk"]
    if abs(gain) < EVEN:
        why = strings.EVEN_COLD if node.T < 0.3 else strings.EVEN_PLAIN
        first = strings.EVEN.format(**said, why=why)
    elif gain > 0:
        first = strings.AHEAD.format(**said, gain=f"{100 * gain:.1f}")
    else:
        first = strings.BEHIND.format(**said)
    second = strings.AGAINST.format(**said)
    if got["rheo-rrsw"] > got["rheo"] + EVEN:
        second += strings.RRSW_AHEAD
    return first + second + (strings.PAPER if paper else "")
