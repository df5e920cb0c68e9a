"""Where a round's time goes, without making the device wait."""

import time
from itertools import pairwise

import torch

from rheo.trace.schema import Milliseconds

PARTS = ("draft", "target", "verify", "other")


class Clock:
    """Time by part: all time since the last lap belongs to the part that has just ended.

    On CUDA a lap is an event in the stream, read once the round's results are on the host.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._parts: list[str] = []
        self._seconds: list[float] = []  # the start, then each lap's end; or on CUDA:
        self._events: list[torch.cuda.Event] = []
        self._mark()

    def _mark(self) -> None:
        if self._cuda:
            self._events.append(torch.cuda.Event(enable_timing=True))
            self._events[-1].record()
        else:
            self._seconds.append(time.perf_counter())

    def lap(self, part: str) -> None:
        """Count the time since the last lap for `part`."""
        self._parts.append(part)
        self._mark()

    def read(self) -> Milliseconds:
        """Return the parts so far; on CUDA it waits for the last lap."""
        if self._cuda:
            self._events[-1].synchronize()
            laps = [start.elapsed_time(end) for start, end in pairwise(self._events)]
        else:
            laps = [(end - start) * 1e3 for start, end in pairwise(self._seconds)]
        total = dict.fromkeys(PARTS, 0.0)
        for part, milliseconds in zip(self._parts, laps, strict=True):
            total[part] += milliseconds
        return Milliseconds(**total)
