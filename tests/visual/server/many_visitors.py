"""How long visitors wait: `python -m tests.visual.server.many_visitors [--visitors 60] [ADDRESS]`.

All open the page at once, then three recorded runs each, with every round of them; without an
address a page is served for it. Prints seconds of an answer: the median, p95 and the slowest.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import httpx

from tests.browser.app_process import ROOT, served

RUNS = 3  # that each visitor opens


async def visit(address: str, number: int, times: dict[str, list[float]]) -> None:
    """One visitor, who keeps cookies and what the page holds."""
    limits = httpx.Limits(max_connections=6, keepalive_expiry=2)  # as a browser has
    options = {"timeout": 120, "trust_env": False, "verify": False}  # nothing to be made ready
    async with httpx.AsyncClient(base_url=address, limits=limits, **options) as http:

        async def timed(what: str, method: str, path: str, **sent) -> httpx.Response:
            began = time.monotonic()
            answer = await http.request(method, path, **sent)
            times[what].append(time.monotonic() - began)
            answer.raise_for_status()
            return answer

        page = (await timed("page", "GET", "/")).text
        config = json.loads(page.split("window.gradio_config = ", 1)[1].split(";</script>", 1)[0])
        event = next(d for d in config["dependencies"] if d["api_name"] == "opened")
        names = [path.name.removesuffix(".json.gz") for path in traces()]
        for at in range(RUNS):
            name = names[(number + at) % len(names)]
            body = {
                "data": [None], "fn_index": event["id"], "session_hash": f"v{number}",
                "event_data": {"key": f"gallery/{name}"}, "trigger_id": event["targets"][0][0],
            }  # fmt: skip
            answer = await timed("run", "POST", "/gradio_api/run/predict", json=body)
            message = json.loads(answer.json()["data"][0])
            if message.get("file"):
                await timed("run", "GET", f"/{message['file']}")


def traces() -> list[Path]:
    """The shipped runs."""
    return sorted((ROOT / "assets" / "traces").glob("*.json.gz"))


async def measure(address: str, visitors: int) -> dict[str, list[float]]:
    """Seconds of every answer, by what was asked for."""
    times: dict[str, list[float]] = {"page": [], "run": []}
    await asyncio.gather(*(visit(address, number, times) for number in range(visitors)))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", nargs="?")
    parser.add_argument("--visitors", type=int, default=60)
    asked = parser.parse_args()
    print(f"load average: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        if asked.address:
            report(asked.address, asked.visitors)
            return
        for path in (*traces(), ROOT / "assets" / "traces" / "index.json"):
            shutil.copy(path, folder)
        with served(Path(folder), RHEO_RATE="0") as address:
            report(address, asked.visitors)


def report(address: str, visitors: int) -> None:
    """Print the first crowd, for whom everything is made, and a second one."""
    for crowd in ("first", "second"):
        for what, seconds in asyncio.run(measure(address, visitors)).items():
            tail = statistics.quantiles(seconds, n=20)[-1]
            median = statistics.median(seconds)
            print(
                f"{crowd} crowd of {visitors}, {what}: median {median:.2f} s, p95 {tail:.2f} s, "
                f"slowest {max(seconds):.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
