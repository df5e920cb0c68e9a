"""What each pair needs, and what a pair of Hub ids that a visitor types would need: small HTML."""

import functools
import html
import re

from rheo.errors import RheoError
from rheo.models.hub.catalogue import PAIRS, Hub, Pair
from visual.server.settings import current
from visual.words import refusals

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_LONGEST = 96  # characters of a Hub id


def listing() -> str:
    """Return the pairs that a visitor may choose, with all that they need, as a list."""
    rows = "".join(_row(PAIRS[name]) for name in current().pairs)
    return (
        f'<details class="pair-needs"><summary>{refusals.PAIRS_HEAD}</summary>'
        f"<ul>{rows}</ul></details>"
    )


def _row(pair: Pair) -> str:
    said = [
        refusals.PAIR_SIZE.format(size=pair.size),
        memory(pair.gigabytes or 0.0),
        refusals.PAIR_LICENCE.format(licence=pair.licence),
        refusals.PAIR_GATED if pair.gated else refusals.PAIR_OPEN,
        refusals.PAIR_TRIED if pair.tested else refusals.PAIR_NEVER_TRIED,
    ]
    lines = "".join(f"<span>{html.escape(text)}</span>" for text in said)
    return f'<li data-pair="{pair.name}"><b>{html.escape(pair.label)}</b>{lines}</li>'


def memory(gigabytes: float) -> str:
    """Return what a pair's numbers take, given their gigabytes at two bytes each.

    >>> memory(17.0)
    'Memory: 17 GB on a GPU (bfloat16), 34 GB on a CPU (float32), and the cache'
    """
    return refusals.PAIR_MEMORY.format(half=f"{gigabytes:.3g}", full=f"{2 * gigabytes:.3g}")


def typed(target: object, draft: object) -> str:
    """Return what a typed pair would need, or one sentence on what is wrong with it, as HTML."""
    ids = [x.strip() if isinstance(x, str) else "" for x in (target, draft)]
    if not any(ids):
        return ""
    try:
        lines = [_half(x, is_target) for x, is_target in zip(ids, (True, False), strict=True) if x]
    except RheoError as error:
        lines = [f'<p class="wrong">{html.escape(str(error))}</p>']
    command = refusals.HUB_COMMAND.format(target=ids[0] or "…", draft=ids[1] or "…")
    return "".join(lines) + f"<p>{refusals.HUB_HOW} <code>{html.escape(command)}</code></p>"


def _half(name: str, is_target: bool) -> str:
    if len(name) > _LONGEST or not _HUB_ID.fullmatch(name):  # and never a folder of this machine
        raise RheoError(refusals.NO_HUB_ID.format(name=name[:_LONGEST]))
    needed = _needs(Hub(name), is_target)
    gated = refusals.PAIR_GATED if needed.gated else refusals.PAIR_OPEN
    size = refusals.PAIR_SIZE.format(size=f"{needed.gigabytes:.3g} GB")
    licence = refusals.PAIR_LICENCE.format(licence=needed.licence)
    said = " · ".join((size, licence, gated, refusals.PAIR_NEVER_TRIED))
    return f"<p><b>{html.escape(name)}</b> {html.escape(said)}</p>"


@functools.lru_cache(maxsize=256)
def _needs(half: Hub, tokenizer: bool):
    from rheo.models.hub.needs import needs  # torch is behind it, which no page waits for

    return needs(half, tokenizer)
