"""The rate of requests that an address may send: a bucket of tokens each, in a bounded table."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from visual.server.settings import Settings

MOST = 4096  # addresses remembered; the one that was quiet for longest is forgotten first
BURST = 0.25  # of a minute's requests may come at once

Headers = Iterable[tuple[bytes, bytes]]


class Buckets:
    """A bucket an address, refilled evenly.

    Args:
        rate: requests a minute; 0 is no limit.
        clock: seconds.

    >>> now = [0.0]
    >>> buckets = Buckets(8, lambda: now[0])
    >>> [buckets.take("a") for _ in range(3)], buckets.take("b")
    ([True, True, False], True)
    >>> now[0] = 7.5
    >>> buckets.take("a")
    True
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate / 60, clock
        self._size = max(1.0, rate * BURST)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when

    def take(self, address: str) -> bool:
        """Tell whether one more request of this address is in order."""
        if not self._rate:
            return True
        now = self._clock()
        left, then = self._left.pop(address, (self._size, now))
        left = min(self._size, left + (now - then) * self._rate)
        self._left[address] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        return left >= 1

    def __len__(self) -> int:
        return len(self._left)


def address(client: tuple[str, int] | None, headers: Headers, settings: Settings) -> str:
    """Return the address of who sends a request.

    `X-Forwarded-For` is written by anybody, so it is read only where the settings say how many
    proxies of ours stand in front: each has added one entry, and the visitor's is that many from
    the end.
    """
    peer = client[0] if client else ""
    if not settings.proxies:
        return peer
    values = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    hops = [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]
    return hops[-settings.proxies][:64] if len(hops) >= settings.proxies else peer
