"""How long a step takes: `python -m tests.browser.latency [--steps N] [TRACE ...]`.

The real page in headless Chromium: from the key press (the event's own time stamp, so that waiting
for a busy page counts) to the frame being painted (`requestAnimationFrame`, then a task). On a busy
machine p10 and the processor time tell more than p50. Without traces: the shipped one at R = 60;
`python -m rheo generate --nodes 128 --trace run.json.gz` makes one at R = 128.
"""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rheo.trace import io
from rheo.trace.schema import Run
from tests.browser.app_process import ROOT, served
from tests.browser.viewer import PATIENCE

PAUSE_MS = 150  # between two key presses: a reader in a hurry
WATCH = """() => {
  window.steps = [];
  const root = document.querySelector('[data-role=root]'), { view } = root.parentElement.__rheo;
  addEventListener('keydown', ({ timeStamp }) => {
    const node = view.node;
    requestAnimationFrame(() => setTimeout(() =>
      steps.push([performance.now() - timeStamp, node !== view.node])));
  }, true);
}"""


def steps(page, run: Run, count: int) -> tuple[list[tuple[float, bool]], float]:
    """Milliseconds of `count` steps or more, and whether each went to another node's panel; and the
    milliseconds that the page's thread computed a step, all that follows it included."""
    page.uncheck("[data-role=guessing]")
    page.evaluate(WATCH)
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})
    every, k, busy = [], 0, 0.0
    while len(every) < count:
        page.evaluate(f"document.querySelector('[data-role=root]').parentElement.__rheo.show({k})")
        page.wait_for_selector(f"[data-role=root][data-drawn='{k}']")
        page.wait_for_timeout(800)  # the panels of the walk are there
        page.keyboard.press("Home")
        page.wait_for_timeout(400)
        page.evaluate("steps.length = 0")
        before = computed(meter)
        last = int(page.get_attribute("[data-role=moment]", "max")) - 1
        for at in range(1, last + 1):
            page.keyboard.press("ArrowRight")
            page.wait_for_function("(n) => steps.length === n", arg=at)
            page.wait_for_timeout(PAUSE_MS)
        every += page.evaluate("steps")
        busy += computed(meter) - before
        k = (k + 1) % len(run.rounds)
    return every, 1000 * busy / len(every)


def computed(meter) -> float:
    """Seconds of processor time that the page's thread has spent in tasks."""
    metrics = meter.send("Performance.getMetrics")["metrics"]
    return next(m["value"] for m in metrics if m["name"] == "TaskDuration")


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def row(name: str, times: list[float]) -> str:
    cells = [f"{quantile(times, share):.0f}" for share in (0.1, 0.5, 0.95)] + [f"{max(times):.0f}"]
    return f"| {name} | {len(times)} | " + " | ".join(cells) + " |"


def runs(paths: list[str]) -> list[Run]:
    if paths:
        return [io.load(path) for path in paths]
    return [io.load(ROOT / "assets" / "traces" / "first.json.gz")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="*", help="recorded runs (.json or .json.gz)")
    parser.add_argument("--steps", type=int, default=200, help="key presses a run, at least")
    asked = parser.parse_args()
    print(f"load average at the start: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    print("| run | steps | p10 ms | p50 ms | p95 ms | max ms |\n|---|---|---|---|---|---|")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))))
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for run in runs(asked.traces):
            name = f"{run.pair}, R = {run.params['R']}"
            with tempfile.TemporaryDirectory() as folder:
                io.save(run, Path(folder) / "first.json.gz")
                with served(Path(folder)) as address:
                    page = browser.new_page(viewport={"width": 1280, "height": 720})
                    page.set_default_timeout(PATIENCE)
                    page.goto(f"{address}/?__theme=light")
                    page.wait_for_selector("[data-drawn]")
                    every, busy = steps(page, run, asked.steps)
                    page.close()
            print(row(f"{name}: all steps", [ms for ms, _ in every]))
            moved = [ms for ms, other in every if other]
            print(row(f"{name}: to another node's panel", moved or [0.0]))
            print(
                f"{name}: {busy:.0f} ms of processor time a step in the page's thread", flush=True
            )
        browser.close()
    print(f"load average at the end: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
