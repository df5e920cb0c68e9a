"""The limits of what one visitor may ask of this server, checked on every way in.

The page's sliders end at them; whoever calls the server directly gets a sentence.
"""

from rheo.errors import RheoError
from rheo.params import DecodeParams
from visual.server.settings import Settings, current
from visual.words import refusals

_FIELDS = {"max_new_tokens": "new_tokens", "R": "R", "depth": "depth"}  # of a run -> of Settings


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
    for name in _FIELDS:
        value, limit = getattr(params, name), highest(name, settings)
        if value > limit:
            raise RheoError(refusals.OVER_LIMIT.format(name=name, value=value, limit=limit))


def highest(name: str, settings: Settings | None = None) -> float:
    """Return the largest value of a run's field here; infinite where the server sets no limit."""
    return getattr(settings or current(), _FIELDS[name]) if name in _FIELDS else float("inf")


def check_prompt(tokens: int, settings: Settings | None = None) -> None:
    """Raise RheoError for a prompt of more tokens than the server takes."""
    limit = (settings or current()).prompt_tokens
    if tokens > limit:
        raise RheoError(refusals.LONG_PROMPT.format(length=tokens, limit=limit))
