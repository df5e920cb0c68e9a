"""Queues of visitors, before the one model and before whatever opens a trace: first come, first
served, of a bounded length.

Gradio's own queue hides how long it is while a component shows no progress, and lets a full one
answer with an error; here a visitor who waits reads how many are ahead, and one too many reads why.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from rheo.counting import counted
from rheo.errors import RheoError
from visual.browser.messages import Message
from visual.server.settings import current
from visual.words import labels, refusals

_POLL = 0.5  # seconds between two looks at the queue


class Full(RheoError):
    """So many wait already."""


class VisitorQueue:
    """Tickets in the order they came. The first one has the model, the others wait.

    >>> queue = VisitorQueue()
    >>> with queue.ticket(most=1) as first, queue.ticket(most=1) as second:
    ...     queue.ahead(first), queue.ahead(second)
    (0, 1)
    """

    def __init__(self) -> None:
        self._tickets: list[object] = []
        self._moved = threading.Condition()

    @contextmanager
    def ticket(self, most: int) -> Iterator[object]:
        """Take a place at the end, given up when the block is left.

        Args:
            most: tickets that may wait, besides the one that has the model.

        Raises:
            Full: so many wait already.
        """
        mine = object()
        with self._moved:
            if len(self._tickets) > most:
                raise Full(
                    refusals.QUEUE_FULL.format(visitors=counted(most, refusals.VISITORS_WAIT))
                )
            self._tickets.append(mine)
        try:
            yield mine
        finally:
            with self._moved:
                self._tickets.remove(mine)
                self._moved.notify_all()

    def ahead(self, ticket: object) -> int:
        """Return how many come before this ticket."""
        with self._moved:
            return self._tickets.index(ticket)

    def wait(self, ticket: object, seconds: float) -> None:
        """Return when it is this ticket's turn, or after so many seconds."""
        with self._moved:
            self._moved.wait_for(lambda: self._tickets[0] is ticket, seconds)

    def places(self, ticket: object) -> Iterator[int]:
        """Yield how many come before this ticket, now and then, until none does."""
        while count := self.ahead(ticket):
            yield count
            self.wait(ticket, _POLL)

    def __len__(self) -> int:
        return len(self._tickets)


MODEL_QUEUE = VisitorQueue()  # of this process, as the model is
OPENING = VisitorQueue()  # before whatever reads and draws a visitor's trace, one at a time


def in_turn(
    over: Callable[[], bool], work: Generator[Message, None, None]
) -> Generator[Message, None, None]:
    """Yield the messages of `work` when it is its turn, and its place until then.

    Args:
        over: whether the visitor wants the work no longer.
        work: a generator that has not begun; closed at the end.

    Raises:
        RheoError: too many wait already; and whatever `work` raises.
    """
    with MODEL_QUEUE.ticket(current().queue) as ticket:
        while (count := MODEL_QUEUE.ahead(ticket)) and not over():
            said = refusals.AHEAD.format(count=count)
            yield {"type": "say", "sentence": said, "state": "waiting", "at": time.time()}
            MODEL_QUEUE.wait(ticket, _POLL)
        if over():
            yield {"type": "say", "sentence": labels.STOPPED_RUN, "state": "done"}
            return
        try:
            yield from work
        finally:
            work.close()
