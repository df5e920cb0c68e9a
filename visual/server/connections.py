"""What a connection may hold, and for how long: a head that comes in time, an answer that is taken,
a stream that somebody still uses, so many at once of one address."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
from starlette.types import Message, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from visual.server.calls import Refused
from visual.words import refusals

HEAD_S = 15.0  # seconds in which a request's head has to arrive
TAKE_S = 60.0  # in which a piece of an answer has to be taken
STREAM_S = 7200.0  # that a stream stays open; a page that is still used opens what it needs


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which hangs up on whoever sends half a head.

    uvicorn's own time limit begins after the first answer.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._come()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._come()
        elif self._late is None:
            self._wait()

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class OpenRequests:
    """Requests being answered, by address.

    >>> held = OpenRequests(1)
    >>> with held.one("a"), held.one("a"):
    ...     pass
    Traceback (most recent call last):
        ...
    visual.server.calls.Refused: Too many requests from this address: wait a few seconds.
    """

    def __init__(self, most: int) -> None:
        self._most, self._open = most, Counter[str]()

    @contextmanager
    def one(self, address: str) -> Iterator[None]:
        """Count a request while the block lasts. Raises Refused where there are too many; a `most`
        of 0 is no limit."""
        if self._most and self._open[address] >= self._most:
            raise Refused(429, refusals.TOO_MANY, {"retry-after": "5"})
        self._open[address] += 1
        try:
            yield
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


def taken(send: Send) -> Send:
    """Return `send` that gives up on whoever takes nothing: an OSError, as of a broken line."""

    async def patient(message: Message) -> None:
        try:
            async with asyncio.timeout(TAKE_S):
                await send(message)
        except TimeoutError:
            raise ConnectionAbortedError("nobody takes the answer") from None

    return patient
