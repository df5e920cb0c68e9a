"""How much of a node each rule accepts: stacked bars, and the sentence that says it."""

import html

from rheo.counting import counted, ordinal
from rheo.exact.coupling import OneNode, Split
from visual.style.palette import MARKS
from visual.words import one_hot

STACK_ROWS = ("topk", "rheo-rrsw", "rheo")
_PARTS = ("deterministic", "probe", "filler", "missed")
_ROOM = 0.075  # share of a bar from which a part is labelled
_EVEN = 0.0005  # acceptances closer than this read as equal
_LEAST = 0.0005  # share from which a part is drawn: less says 0.0 %


def percent(x: float) -> str:
    r"""Return a probability in words.

    >>> percent(0.854)
    '85.4\xa0%'
    """
    return one_hot.NODE_PERCENT.format(value=100 * max(x, 0.0))


def stacks(node: OneNode) -> str:
    """Return stacked bars of the rules, then the optimum, as HTML."""
    rows = [_row(rule, node.couplings[rule].split) for rule in STACK_ROWS]
    best = percent(node.optimum)
    label = f"{one_hot.RULE_NAMES['optimum']}: {best}, {one_hot.STACK_OPTIMUM}"
    rows.append(
        f'<div class="dl-stack" data-rule="optimum"><span>{one_hot.RULE_NAMES["optimum"]}</span>'
        f'<span class="dl-bar" role="img" aria-label="{label}" title="{one_hot.STACK_OPTIMUM}">'
        f'<i class="dl-part best" style="width:{100 * node.optimum:.3f}%"></i></span>'
        f"<b>{best}</b></div>"
    )
    return "".join(rows)


def _row(rule: str, split: Split) -> str:
    masses = [(part, getattr(split, part)) for part in _PARTS]
    said = ", ".join(f"{one_hot.SPLIT[part]} {percent(x)}" for part, x in masses)
    name = html.escape(one_hot.RULE_NAMES[rule])
    label = one_hot.STACK_LABEL.format(rule=name, accepted=percent(split.accepted), parts=said)
    parts = "".join(_part(part, mass) for part, mass in masses if mass >= _LEAST)
    return (
        f'<div class="dl-stack" data-rule="{rule}"><span>{name}</span>'
        f'<span class="dl-bar" role="img" aria-label="{label}">{parts}</span>'
        f"<b>{percent(split.accepted)}</b></div>"
    )


def _part(part: str, mass: float) -> str:
    mark = MARKS.get(part)
    shown = f"{mark.letter if mark else '–'} {100 * mass:.1f}" if mass >= _ROOM else ""
    title = f"{one_hot.SPLIT[part]} {percent(mass)}"
    return f'<i class="dl-part {part}" style="width:{100 * mass:.3f}%" title="{title}">{shown}</i>'


def legend() -> str:
    """Return the parts of a bar: letter, colour, name."""
    return "".join(
        f'<span><i class="dl-part {part}"></i>{MARKS[part].letter if part in MARKS else "–"} '
        f"{one_hot.SPLIT[part]}</span>"
        for part in _PARTS
    )


def _places(K: int) -> dict[str, str]:
    """Return how the slots are spoken of."""
    return {
        "words": counted(K, one_hot.SAME_WORDS),
        "place": counted(K, one_hot.ONE_PLACE),
        "last": ordinal(K),
    }


def sentence(node: OneNode, paper: bool = False) -> str:
    """Return what happened at this node, in words and numbers.

    Args:
        paper: also say what the paper measured.
    """
    got = {rule: node.couplings[rule].split.accepted for rule in STACK_ROWS}
    said = {"rrsw": percent(got["rheo-rrsw"]), "optimum": percent(node.optimum)} | _places(node.K)
    said |= {"topk": percent(got["topk"]), "rheo": percent(got["rheo"])}
    gain = got["rheo"] - got["topk"]
    if abs(gain) < _EVEN:
        why = one_hot.EVEN_COLD if node.T < 0.3 else one_hot.EVEN_PLAIN
        first = one_hot.EVEN.format(**said, why=why)
    elif gain > 0:
        first = one_hot.NODE_AHEAD.format(**said, gain=f"{100 * gain:.1f}")
    else:
        first = one_hot.BEHIND.format(**said)
    second = one_hot.AGAINST.format(**said)
    if got["rheo-rrsw"] > got["rheo"] + _EVEN:
        second += one_hot.RRSW_AHEAD
    return first + second + (one_hot.PAPER_SENTENCE if paper else "")
