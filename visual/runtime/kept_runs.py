"""Runs kept for visitors: packed, counted in bytes, the oldest forgotten first.

A run unpacked is many small objects, about seven times its packed size: few are held so, the ones
that were looked at last. Packed bytes never leave this process.
"""

import pickle
import secrets
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from rheo.trace.schema import Run
from visual.server.settings import current

RUNS = 3  # a visitor's last ones: two to compare, and one more
OWN_BYTES = 16 * 2**20  # of one visitor's runs, packed
UNPACKED_BYTES = 96 * 2**20  # of all runs that are held unpacked
_GROWTH = 5  # bytes of a run's objects for each byte of it pickled, as measured

_Place = tuple[str, str]  # whose it is, its key


class RunShelf:
    """The runs of all visitors of one server.

    Args:
        most: bytes of all packed runs.
    """

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._packed: OrderedDict[_Place, bytes] = OrderedDict()  # the oldest first
        self._unpacked: OrderedDict[_Place, tuple[Run, int]] = OrderedDict()
        self.bytes = 0  # of all packed runs
        self._unpacked_bytes = 0

    def put(self, place: _Place, run: Run) -> int:
        """Keep a run, forgetting the oldest of anybody's to make room; return its bytes."""
        plain = pickle.dumps(run, pickle.HIGHEST_PROTOCOL)
        packed = zlib.compress(plain, 1)
        with self._lock:
            self._drop(place)
            self._packed[place] = packed
            self.bytes += len(packed)
            while self.bytes > self._most() and len(self._packed) > 1:
                self._drop(next(iter(self._packed)))
            self._hold(place, run, _GROWTH * len(plain))
        return len(packed)

    def get(self, place: _Place) -> Run | None:
        """Return a run; None where it has been forgotten."""
        with self._lock:
            held, packed = self._unpacked.get(place), self._packed.get(place)
            if held is not None:
                self._unpacked.move_to_end(place)
                return held[0]
        if packed is None:
            return None
        plain = zlib.decompress(packed)
        run: Run = pickle.loads(plain)
        with self._lock:
            if place in self._packed:
                self._hold(place, run, _GROWTH * len(plain))
        return run

    def size(self, place: _Place) -> int:
        """Return a run's packed bytes, 0 where it has been forgotten."""
        return len(self._packed.get(place, b""))

    def drop(self, place: _Place) -> None:
        """Forget a run."""
        with self._lock:
            self._drop(place)

    def _drop(self, place: _Place) -> None:
        self.bytes -= len(self._packed.pop(place, b""))
        self._let_go(place)

    def _let_go(self, place: _Place) -> None:
        self._unpacked_bytes -= self._unpacked.pop(place, (None, 0))[1]

    def _hold(self, place: _Place, run: Run, size: int) -> None:
        self._let_go(place)
        self._unpacked[place] = (run, size)
        self._unpacked_bytes += size
        while self._unpacked_bytes > UNPACKED_BYTES and len(self._unpacked) > 1:
            self._let_go(next(iter(self._unpacked)))


SHELF = RunShelf(lambda: current().kept_mb * 2**20)  # of this process


class KeptRuns(Mapping[str, Run]):
    """One visitor's runs by key, the oldest first. A copy, as Gradio makes one of a page's state
    for each session, has none.
    """

    def __init__(self, shelf: RunShelf = SHELF) -> None:
        self._shelf, self._owner = shelf, secrets.token_hex(16)
        self._keys: list[str] = []
        self._growing: tuple[str, Run] | None = None
        # Gradio forgets the session that was quiet for longest without a word
        weakref.finalize(self, _forget, shelf, self._owner, self._keys)

    def grow(self, key: str, run: Run) -> None:
        """Hold a run that is being decoded, as far as it has come."""
        self._growing = (key, run)

    def keep(self, key: str, run: Run) -> None:
        """Put a run under its key; the oldest of too many, or of too many bytes, is forgotten."""
        self._growing = None
        self._shelf.put((self._owner, key), run)
        self._keys[:] = [*(k for k in self._keys if k != key), key]
        while len(self._keys) > RUNS or (self._bytes() > OWN_BYTES and len(self._keys) > 1):
            self._shelf.drop((self._owner, self._keys.pop(0)))

    def clear(self) -> None:
        """Forget all of them."""
        self._growing = None
        _forget(self._shelf, self._owner, self._keys)
        self._keys.clear()

    def _bytes(self) -> int:
        return sum(self._shelf.size((self._owner, key)) for key in self._keys)

    def _find(self, key: str) -> Run | None:
        growing = self._growing
        if growing is not None and growing[0] == key:
            return growing[1]
        return self._shelf.get((self._owner, key)) if key in self._keys else None

    def __getitem__(self, key: str) -> Run:
        run = self._find(key)
        if run is None:
            raise KeyError(key)
        return run

    def __iter__(self) -> Iterator[str]:
        there = [k for k in self._keys if self._shelf.size((self._owner, k))]
        growing = self._growing
        return iter(there if growing is None else [*there, growing[0]])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __deepcopy__(self, memo: Any) -> Self:
        return type(self)(self._shelf)


def _forget(shelf: RunShelf, owner: str, keys: list[str]) -> None:
    for key in list(keys):
        shelf.drop((owner, key))
