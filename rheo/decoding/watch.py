"""What watches a decoding: it may end it within a round, and times plain steps beside it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field


class RoundInterrupted(Exception):
    """A round was left before it was verified; nothing of it was committed."""


def _never() -> bool:
    return False


@dataclass
class Watch:
    """Asked and told while a decoding runs; it changes neither its text nor its trace.

    Attributes:
        over: asked before each draft level and before verification; once it answers True, the
            decoding ends with the rounds it has.
        times_plain: whether plain steps of the target are timed between rounds, so that they meet
            the machine as the run does.
        now: seconds of a clock.
        plain_ms: what each plain step took.
        seconds: what they took in all, that of the warm-up included.
        is_warm: whether one was taken already.
    """

    over: Callable[[], bool] = _never
    times_plain: bool = False
    now: Callable[[], float] = time.perf_counter
    plain_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0
    is_warm: bool = False

    def beside(self, index: int, step: Callable[[], None]) -> None:
        """Time `step` before round `index` if it is the turn of one; the first also warms up.

        >>> ticks = iter([0.0, 1.0, 1.0, 3.0])
        >>> watch = Watch(times_plain=True, now=lambda: next(ticks))
        >>> watch.beside(0, lambda: None), watch.beside(1, lambda: None)
        (None, None)
        >>> watch.plain_ms, watch.seconds
        ([2000.0], 3.0)
        """
        if not self.times_plain or not is_turn(index):
            return
        for _ in range(1 if self.is_warm else 2):
            start = self.now()
            step()
            took = self.now() - start
            self.seconds += took
        self.is_warm = True
        self.plain_ms.append(took * 1e3)


def is_turn(index: int) -> bool:
    """Tell whether a plain step comes before round `index`: ever more seldom, so that it costs
    little.

    >>> [i for i in range(30) if is_turn(i)]
    [1, 3, 6, 10, 15, 21, 28]
    """
    root = math.isqrt(8 * index + 1)
    return index > 0 and root * root == 8 * index + 1
