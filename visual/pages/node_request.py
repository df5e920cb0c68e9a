"""What a browser may ask of the dilemma page, as models: anybody can send anything.

A field that is missing or wrong is one sentence, `words.one_hot.WRONG`'s.
"""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rheo.errors import RheoError
from rheo.ranges import RANGES
from visual.words import one_hot

_NodeRule = Literal["rheo", "rheo-rrsw", "topk"]
_Playable = Literal["rheo", "rheo-rrsw", "topk", "naive", "token-ties", "fillers-first"]
NODE_RULES, PLAYABLE = get_args(_NodeRule), get_args(_Playable)

_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Field(strict=True)]  # a bool is no number
WORLD_SEEDS = 1_000_000
_Seed = Annotated[_Whole, Field(ge=0, le=WORLD_SEEDS)]


def _within(name: str, least: float | None = None, most: float | None = None) -> Any:
    """Return the bounds of a row of the one table, here perhaps narrower."""
    row = RANGES[name]
    low, high = row.least if least is None else least, row.most if most is None else most
    return Field(ge=low, le=high)


class _Request(BaseModel):
    """A message of the page, read from an event's attributes."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    @classmethod
    def read(cls, event: Any) -> Self:
        """Return the request that an event carries.

        Raises:
            RheoError: a field of it is missing or wrong.
        """
        try:
            return cls.model_validate(event)
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            raise RheoError(one_hot.WRONG[field]) from None


class NodeRequest(_Request):
    """A learner's own node, and the draw to play there."""

    p: list[_Number]
    q: list[_Number]
    m: Annotated[_Whole, _within("m")]
    K: Annotated[_Whole, _within("K")]
    T: Annotated[_Number, _within("T")]
    seed: _Seed
    rule: _NodeRule


class WorldRequest(_Request):
    """A small world: the shipped one under other parameters, or one of a seed."""

    m: Annotated[_Whole, _within("m")]
    R: Annotated[_Whole, _within("R", most=64)]
    T: Annotated[_Number, _within("T", least=0.05)]
    seed: _Seed | None = None


class PlayRequest(WorldRequest):
    """Two strategies to play in a small world."""

    left: _Playable
    right: _Playable
