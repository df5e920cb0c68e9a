"""A class in front of one server: `python -m tests.space.load [--minutes 5]`.

On loopback only, and it ends by itself: first one quiet client alone, then thirty clients that open
the page and look at rounds of its recorded trace, five generations at a time, two real browsers
that step. The model is the scripted one of the browser tests, so what is loaded is the server.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import psutil

from rheo.trace import io
from tests.browser.app_process import served
from tests.visitor import Visitor
from tests.visual import sample

CLIENTS, RUNNERS, BROWSERS = 30, 5, 2
PAUSE = 8.0  # seconds between two looks of a client: stepping itself asks the server nothing
ALONE = 0.5  # the same of the quiet client, for enough looks in a short time
QUIET = 0.2  # of the time, before the load
ROUNDS = 5


class Seen:
    """What all threads report to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.memory: list[tuple[float, float]] = []  # (minutes, MB)
        self.errors: Counter[str] = Counter()

    def timed(self, what: str, act: Callable[[], object]) -> None:
        began = time.perf_counter()
        act()
        with self._lock:
            self.seconds[what].append(time.perf_counter() - began)

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1


def client(visitor: Visitor, seen: Seen, over: threading.Event, pause: float, start: int) -> None:
    """Open the page, look at rounds, again and again. Number 0 is the quiet one."""
    phase, step = "loaded" if start else "idle", start
    over.wait(pause * start / CLIENTS)
    while not over.is_set():
        seen.timed(f"page {phase}", lambda: visitor.http.get("/").raise_for_status())
        for _ in range(4):
            step += 1
            at = {"run": "recorded", "round": step % ROUNDS, "node": 0, "what": "panel"}
            seen.timed(f"trace {phase}", lambda at=at: _look(visitor, at))
            if over.wait(pause):
                return


def _look(visitor: Visitor, at: dict) -> None:
    answered = visitor.call("_ask", [None], at)
    answered.raise_for_status()
    if r"\"answer\":{" not in answered.text:  # JSON in JSON
        raise ValueError(answered.text[:200])


def runner(address: str, seen: Seen, over: threading.Event) -> None:
    """Press Run until the end; each run is finished, or refused with a word on the line."""
    visitor = Visitor(address)
    values = _values(visitor)
    while not over.is_set():
        messages = list(visitor.decode(["Why is the sky blue?", *values]))
        waited = any("ahead of you" in str(m.get("sentence")) for m in messages)
        last = messages[-1]
        said = str(last.get("sentence"))
        kind = "finished" if last.get("state") == "done" else "refused" if "wait" in said else said
        seen.count(kind)
        if waited:
            seen.count("told their position")


def _values(visitor: Visitor) -> list:
    """The page's own values of a run: the pair, then its fields."""
    components = {c["id"]: c["props"] for c in visitor.config["components"]}
    inputs = visitor.event("decode")["inputs"][2:]
    return [components[i].get("value") for i in inputs]


def browsers(address: str, seen: Seen, over: threading.Event) -> None:
    """Two pages that step through the recorded run, in one thread as playwright wants it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        pages = [chromium.new_page() for _ in range(BROWSERS)]
        for page in pages:
            page.on("pageerror", lambda error: seen.errors.update([f"browser: {error}"]))
            page.goto(address)
            page.wait_for_selector("[data-drawn]", timeout=120_000)
        while not over.wait(0.5):
            for page in pages:
                seen.timed("step", lambda page=page: page.keyboard.press("ArrowRight"))
        chromium.close()


def _guarded(seen: Seen, act: Callable, *arguments) -> threading.Thread:
    def run() -> None:
        try:
            act(*arguments)
        except Exception as error:
            seen.errors[f"{act.__name__}: {type(error).__name__}: {str(error)[:120]}"] += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def measure(minutes: float, folder: Path, pause: float = PAUSE) -> Seen:
    """The quiet part and the loaded part, one after the other; `pause` is the crowd's."""
    seen = Seen()
    io.save(sample.run(rounds=ROUNDS), folder / "first.json.gz")
    with served(folder, RHEO_RATE="0") as address:
        app = next(p for p in psutil.Process().children() if "tests.browser.served" in p.cmdline())
        quiet, over = threading.Event(), threading.Event()
        alone = _guarded(seen, client, Visitor(address), seen, quiet, ALONE, 0)
        time.sleep(60 * minutes * QUIET)
        quiet.set()
        alone.join()
        crowd = [
            _guarded(seen, client, Visitor(address), seen, over, pause, 1 + i)
            for i in range(CLIENTS)
        ]
        crowd += [_guarded(seen, runner, address, seen, over) for _ in range(RUNNERS)]
        crowd.append(_guarded(seen, browsers, address, seen, over))
        end = time.monotonic() + 60 * minutes * (1 - QUIET)
        while time.monotonic() < end:
            seen.memory.append((time.monotonic() / 60, app.memory_info().rss / 1e6))
            time.sleep(1)
        over.set()
        for thread in crowd:
            thread.join(120)
    return seen


def percentile(values: list[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else float("nan")


def slope(memory: list[tuple[float, float]]) -> float:
    """MB a minute over the second half, when all that is loaded once has been loaded.

    >>> slope([(0, 5), (1, 100), (2, 102), (3, 104)])
    2.0
    """
    late = memory[len(memory) // 2 :]
    return statistics.linear_regression(*zip(*late, strict=True)).slope


def table(seen: Seen) -> str:
    rows = ["| what | times | p50 ms | p95 ms | p95 to idle |", "|---|---|---|---|---|"]
    for what, values in sorted(seen.seconds.items()):
        p50, p95 = (1000 * percentile(values, share) for share in (0.5, 0.95))
        idle = 1000 * percentile(seen.seconds.get(what.replace("loaded", "idle"), []), 0.95)
        rows.append(f"| {what} | {len(values)} | {p50:.0f} | {p95:.0f} | {p95 / idle:.2f} |")
    rows.append(f"\ngenerations: {dict(seen.counts)}; errors: {dict(seen.errors) or 'none'}")
    every = [f"{mb:.0f}" for _, mb in seen.memory[::30]]
    rows.append(f"resident MB every half minute: {' '.join(every)}; {slope(seen.memory):+.2f}/min")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds between two looks")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = measure(asked.minutes, Path(folder), asked.pause)
    print(table(seen))
    return 1 if seen.errors else 0


if __name__ == "__main__":
    sys.exit(main())
