"""What each part of a link can be, as models: a field that a link lacks is not set.

A value that cannot be is a ValueError whose text ends a sentence: "it must be ...".
"""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.params import STRATEGIES
from rheo.ranges import RANGES, Range
from visual.pages.node_request import NODE_RULES, PLAYABLE, WORLD_SEEDS
from visual.runtime import run_settings
from visual.server import limits
from visual.server.settings import current
from visual.words import links

PLACES = 9_999  # rounds of a run, steps of a round
_DIGITS = r"[0-9]{1,16}"
_PERCENTS = r"[0-9]{1,3}(\.[0-9]{1,2})?(,[0-9]{1,3}(\.[0-9]{1,2})?){0,63}"
_NAME = r"[a-z0-9][a-z0-9._-]{0,39}"
TABS = ("draw", "plan", "cheat", "dial", "honest")


def _whole(text: str, low: float, high: float) -> int:
    if not re.fullmatch(_DIGITS, text) or not low <= int(text) <= high:
        values = Range("", low, high, low, "").values
        raise ValueError(links.WHY_RANGE.format(values=values))
    return int(text)


def _parsed(row: Range, text: str) -> float | str:
    try:
        return run_settings.control_value(row.name, row.parse(text))
    except RheoError:
        raise ValueError(links.WHY_RANGE.format(values=row.values)) from None


def _one_of(text: str, names: Iterable[str]) -> str:
    if text not in (known := tuple(names)):
        raise ValueError(links.WHY_CHOICE.format(names=", ".join(known)))
    return text


def _name(text: str) -> str:
    """Return what looks like a name; whether it is one is for others to know."""
    if not re.fullmatch(_NAME, text):
        raise ValueError(links.WHY_NAME)
    return text


def _between(low: int, high: int) -> BeforeValidator:
    """Take a whole number in ASCII digits."""
    return BeforeValidator(lambda text: _whole(text, low, high))


def _choice(names: Iterable[str]) -> BeforeValidator:
    return BeforeValidator(lambda text: _one_of(text, names))


def _allowed(name: str) -> BeforeValidator:
    """Take a value that a run's field can have on this server."""
    return BeforeValidator(lambda text: _parsed(limits.allowed(name), text))


def _table(name: str) -> BeforeValidator:
    """Take a value of the table, whatever this server allows of a run."""
    return BeforeValidator(lambda text: _parsed(RANGES[name], text))


def _percents(text: str) -> list[float]:
    """Return a distribution in percent, as the dilemma's bars are pulled: to two decimals."""
    if not re.fullmatch(_PERCENTS, text):
        raise ValueError(links.WHY_PERCENTS)
    hundredths = [round(100 * float(part)) for part in text.split(",")]
    if sum(hundredths) != 10_000:
        raise ValueError(links.WHY_PERCENTS)
    return [share / 100 for share in hundredths]


_Percents = Annotated[list[float], BeforeValidator(_percents)]
_Flag = Annotated[bool, BeforeValidator(lambda text: bool(_whole(text, 0, 1)))]


class LinkedSettings(BaseModel):
    """The settings of a run, in the order of a link. A field that a link lacks is not set."""

    pair: Annotated[str, BeforeValidator(lambda text: _one_of(text, current().pairs))] = ""
    prompt: str = ""
    strategy: Annotated[str, _choice(STRATEGIES)] = ""
    m: Annotated[int, _allowed("m")] = 0
    K: Annotated[int, _allowed("K")] = 0
    R: Annotated[int, _allowed("R")] = 0
    depth: Annotated[int, _allowed("depth")] = 0
    T: Annotated[float, _allowed("T")] = 0.0
    S: Annotated[int | str, _allowed("S")] = 0
    seed: Annotated[int, _allowed("seed")] = 0
    probes: Annotated[int, _allowed("probes")] = 0
    top_p: Annotated[float, _allowed("top_p")] = 0.0
    top_k: Annotated[int, _allowed("top_k")] = 0
    max_new_tokens: Annotated[int, _allowed("max_new_tokens")] = 0


class PlaygroundLink(LinkedSettings):
    """Settings, and the place in which run; rounds and steps count from 1."""

    trace: Annotated[str, BeforeValidator(_name)] = ""
    round: Annotated[int, _between(1, PLACES)] = 0
    step: Annotated[int, _between(1, PLACES)] = 0
    guess: _Flag = False
    present: _Flag = False


class DilemmaLink(BaseModel):
    """The other page's own: the node, with the bars that were pulled, and the small world."""

    scenario: Annotated[str, _choice(scenarios.names("node"))] = ""
    tab: Annotated[str, _choice(TABS)] = ""
    rule: Annotated[str, _choice(NODE_RULES)] = ""
    m: Annotated[int, _table("m")] = 0
    K: Annotated[int, _table("K")] = 0
    T: Annotated[float, _table("T")] = 0.0
    seed: Annotated[int, _between(0, WORLD_SEEDS)] = 0
    p: _Percents = []
    q: _Percents = []
    world: Annotated[int, _between(0, WORLD_SEEDS)] = 0
    world_m: Annotated[int, _table("m")] = 0
    world_T: Annotated[float, _table("T")] = 0.0
    world_R: Annotated[int, _table("R")] = 0
    left: Annotated[str, _choice(PLAYABLE)] = ""
    right: Annotated[str, _choice(PLAYABLE)] = ""
    present: _Flag = False


PAGE_MODELS: dict[str, type[BaseModel]] = {"playground": PlaygroundLink, "dilemma": DilemmaLink}
SETTINGS = LOCKABLE = tuple(LinkedSettings.model_fields)


class LinkedPage(BaseModel):
    """Which page a link is about."""

    page: Annotated[str, _choice(PAGE_MODELS)] = Field(default="playground")
