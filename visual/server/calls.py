"""The calls of the page's functions: a body is read, checked, and written anew for Gradio.

Gradio answers a call that no page makes (a function that is not there, values that are too few,
an event without its data) with an error of Python and a traceback in the log. So what a call looks
like is checked before; what its values mean, each function checks itself.
"""

import asyncio
import inspect
import json
from dataclasses import dataclass
from typing import Annotated, Any

import gradio as gr
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Message, Receive

from visual.server.sessions import NAME
from visual.words import refusals

BODY_S = 30.0  # seconds in which a request has to arrive whole

_Whole = Annotated[int, Field(strict=True, ge=0, lt=2**31)]


class Refused(Exception):
    """A request that is answered with a status and one sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}


@dataclass(frozen=True)
class Shape:
    """What a call of one function looks like."""

    inputs: int
    event: bool  # it takes the data of an event
    queued: bool


class _Call(BaseModel):
    """The body of a call; whatever else a client may say is left out."""

    model_config = ConfigDict(frozen=True)

    data: list[Any]
    fn_index: _Whole
    session_hash: Annotated[str, Field(strict=True, pattern=rf"^{NAME}$")]
    event_data: dict[str, Any] | None = None
    trigger_id: _Whole | None = None


def shapes(blocks: gr.Blocks) -> dict[int, Shape]:
    """Return the functions of a page that can be called, by index."""
    return {
        index: Shape(len(known.inputs), _takes_event(known.fn), bool(known.queue))
        for index, known in blocks.fns.items()
        if known.fn is not None
    }


def _takes_event(function: Any) -> bool:
    notes = (p.annotation for p in inspect.signature(function).parameters.values())
    return any(isinstance(note, type) and issubclass(note, gr.EventData) for note in notes)


async def read(receive: Receive, most: int, limit: str) -> bytes:
    """Return the body of a request.

    Args:
        most: bytes.
        limit: the same, for a person.

    Raises:
        Refused: it is too large, or does not come in time.
    """
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(BODY_S):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, refusals.BAD_REQUEST)
                body += message.get("body", b"")
                more = bool(message.get("more_body"))
                if len(body) > most:
                    raise Refused(413, refusals.TOO_LARGE.format(limit=limit))
    except TimeoutError:
        raise Refused(408, refusals.TOO_SLOW) from None
    return bytes(body)


def parse(body: bytes, known: dict[int, Shape], queued: bool) -> dict[str, Any]:
    """Return the call in a body.

    Args:
        known: of `shapes`.
        queued: it was sent to the queue, which takes every function; else only quick ones.

    Raises:
        Refused: no page makes such a call.

    >>> parse(b'{"data": [], "fn_index": -1, "session_hash": "a"}', {}, True)
    Traceback (most recent call last):
        ...
    visual.server.calls.Refused: This request cannot be read.
    """
    try:
        call = _Call.model_validate(json.loads(body, parse_constant=_no_constant))
        shape = known[call.fn_index]
    except (ValueError, RecursionError, ValidationError, KeyError):
        raise Refused(400, refusals.BAD_REQUEST) from None
    fits = len(call.data) == shape.inputs and (call.event_data is not None or not shape.event)
    if not fits or (shape.queued and not queued):
        raise Refused(400, refusals.BAD_REQUEST)
    return call.model_dump()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def replay(call: dict[str, Any], receive: Receive) -> tuple[Receive, int]:
    """Return a `receive` that gives the call as its body, then what comes after it, and the body's
    length."""
    body: bytes | None = json.dumps(call).encode()
    length = len(body)

    async def again() -> Message:
        nonlocal body
        if body is None:
            return await receive()
        whole, body = body, None
        return {"type": "http.request", "body": whole, "more_body": False}

    return again, length
