"""Where a round's time goes, without making the device wait."""

import time

import torch

from rheo.trace.schema import Milliseconds

PARTS = ("draft", "target", "verify", "other")


class Clock:
    """Laps: all time since the last one counts for the part that has just ended.

    On CUDA a lap is an event in the stream, read once the round's results are on the host.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._last = self._now()
        self._laps: list[tuple[str, object, object]] = []

    def _now(self) -> object:
        if not self._cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def lap(self, part: str) -> None:
        """The time since the last lap was `part`'s."""
        now = self._now()
        self._laps.append((part, self._last, now))
        self._last = now

    def read(self) -> Milliseconds:
        """The parts so far; on CUDA it waits for the last lap."""
        if self._cuda:
            self._last.synchronize()
        total = dict.fromkeys(PARTS, 0.0)
        for part, start, end in self._laps:
            total[part] += start.elapsed_time(end) if self._cuda else (end - start) * 1e3
        return Milliseconds(**total)
