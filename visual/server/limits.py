"""The limits of what one visitor may ask of this server, checked on every way in.

They are the one table of ranges (`rheo.ranges`), its rows narrowed by the server's settings: the
page's controls end at them, a link is read by them, and whoever calls the server directly gets a
sentence.
"""

from dataclasses import replace

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.ranges import FULL, RANGES, Range
from visual.server.settings import Settings, current
from visual.words import refusals

_BROWSER = 2**53 - 1  # what a browser can count to
_SETTINGS = {  # of a run -> of Settings
    "K": "K",
    "R": "R",
    "depth": "depth",
    "S": "S",
    "probes": "probes",
    "max_new_tokens": "new_tokens",
}


def allowed(name: str, settings: Settings | None = None) -> Range:
    """Return the row of a run's field as this server narrows it.

    >>> allowed("R").most, allowed("m").most, allowed("K").most
    (128, 31, 32)
    """
    settings, row = settings or current(), RANGES[name]
    most: float | None = min(row.most, _BROWSER)
    if name == "m":  # at most K - 1
        most = min(row.most, settings.K - 1)
    elif name in _SETTINGS:
        most = getattr(settings, _SETTINGS[name])
    full = row.full and most is None
    most = row.most if most is None else most
    return replace(row, most=most, full=full, default=min(row.default, most))


def check(pair: object, params: DecodeParams, settings: Settings | None = None) -> None:
    """Check a run's pair and parameters against the server's limits.

    Raises:
        RheoError: the first one that goes beyond them.

    >>> check("smollm2-135m", DecodeParams(R=300))
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: R = 300 is more than this server allows: choose at most 128.
    """
    settings = settings or current()
    if not isinstance(pair, str) or pair not in settings.pairs:
        raise RheoError(refusals.NO_SUCH_PAIR.format(names=", ".join(settings.pairs)))
    for name in RANGES:
        value, row = getattr(params, name), allowed(name, settings)
        if not row.holds(value):
            said = FULL if value is None else f"{value:,}"
            limit = f"{row.most:,}"
            raise RheoError(refusals.OVER_LIMIT.format(name=name, value=said, limit=limit))


def check_prompt(tokens: int, settings: Settings | None = None) -> None:
    """Raise RheoError for a prompt of more tokens than the server takes."""
    limit = (settings or current()).prompt_tokens
    if tokens > limit:
        raise RheoError(refusals.LONG_PROMPT.format(length=tokens, limit=limit))
