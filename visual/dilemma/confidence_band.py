"""A simulation against the target: how far each word pair is off, and a confidence band."""

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from rheo.counting import counted
from visual.dilemma.acceptance import percent
from visual.dilemma.binomial import bounds
from visual.words import one_hot

HIGH = 3  # half bands in half a chart
LOOKS = 40  # at one simulation
FALSE_ALARMS = (
    0.01  # with at most this probability a lossless run leaves the band, at any look and pair
)


class TokenPair(NamedTuple):
    """A word pair: its share in the target's distribution, the share seen, and its band's ends."""

    target: float
    seen: float
    low: float
    high: float

    @property
    def outside(self) -> bool:
        """Return whether it left the band."""
        return not self.low <= self.seen <= self.high


def pairs(counts: Sequence[int], target: Sequence[float]) -> list[TokenPair]:
    """Return counts of word pairs beside the target's distribution of them.

    The error is divided evenly among all pairs and all looks, so that it holds whatever the counts'
    dependence and whenever one stops.

    >>> [p.outside for p in pairs([5100, 4900], [0.5, 0.5])]
    [False, False]
    >>> [p.outside for p in pairs([5300, 4700], [0.5, 0.5])]
    [True, True]
    """
    rounds, error = max(sum(counts), 1), FALSE_ALARMS / (LOOKS * len(target))
    made = []
    for count, p in zip(counts, target, strict=True):
        low, high = bounds(rounds, p, error)
        made.append(TokenPair(p, count / rounds, low / rounds, high / rounds))
    return made


def chart(rule: str, counts: Sequence[int], target: Sequence[float]) -> str:
    """Return the deviations as columns under a sentence, three bands high: it zooms in itself."""
    made, words = pairs(counts, target), one_hot.WORLD_WORDS
    V, reach = math.isqrt(len(target)), HIGH * max(max(_ends(pair)) for pair in made)
    columns = "".join(
        _column(pair, f"{words[i // V]} {words[i % V]}", reach) for i, pair in enumerate(made)
    )
    said = sentence(rule, made, sum(counts))
    state = "bad" if any(pair.outside for pair in made) else "good"
    edge = f"{100 * reach:.2g}"
    return (
        f'<figure class="dl-band {state}" data-rule="{rule}"><figcaption>{said}</figcaption>'
        f'<div class="dl-columns" role="img" aria-label="{said}"><s>+{edge}</s><s>−{edge}</s>'
        f"{columns}</div></figure>"
    )


def sentence(rule: str, made: list[TokenPair], rounds: int) -> str:
    """Return whether all pairs are inside, in words."""
    out = sum(pair.outside for pair in made)
    template = one_hot.BAND_OUT if out else one_hot.BAND_IN
    name = html.escape(one_hot.RULE_NAMES[rule])
    many = counted(out, one_hot.PAIRS_OUT).format(pairs=len(made))
    return template.format(rule=name, out=many, pairs=len(made), rounds=rounds)


def _ends(pair: TokenPair) -> tuple[float, float]:
    """Return how far the band goes below the target and above."""
    return pair.target - pair.low, pair.high - pair.target


def _column(pair: TokenPair, name: str, reach: float) -> str:
    """Return one pair: its band, and a dot; what lies beyond the edge is an arrow there."""
    below, above = (50 * end / reach for end in _ends(pair))
    off = (pair.seen - pair.target) / reach
    said = one_hot.BAND_CELL.format(pair=name, seen=percent(pair.seen), target=percent(pair.target))
    look = "in" if not pair.outside else "out" if abs(off) <= 1 else "up" if off > 0 else "down"
    top = 50 - 50 * max(-1.0, min(1.0, off))
    return (
        f'<span title="{said}"><i style="top:{50 - above:.2f}%;height:{below + above:.2f}%"></i>'
        f'<b class="{look}" style="top:{top:.2f}%"></b><u>{name.replace(" ", "")}</u></span>'
    )
