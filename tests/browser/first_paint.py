"""How long a person waits: `python -m tests.browser.first_paint [--visits N]`.

Seconds from `python app.py` and from opening the page to the first insight, a drawn round with its
sentence. The first visit begins with the app, so it is the slowest; the model loads meanwhile.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

APP = Path(__file__).parents[2]
INSIGHT = """() => document.querySelector('#viewer [data-role=root][data-drawn]') &&
  document.querySelector('#viewer [data-role=headline]').textContent.length > 20"""


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _answers(address: str, app: subprocess.Popen) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while app.poll() is None:
        try:
            opener.open(address, timeout=2).read(1)
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the app ended")


def _visit(browser, address: str) -> tuple[float, str]:
    """Seconds to the first insight in a browser that was never here, and the model's state then."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    began = time.monotonic()
    page.goto(address, timeout=300_000)
    page.wait_for_function(INSIGHT, timeout=300_000)
    took, model = time.monotonic() - began, page.inner_text("#status")
    context.close()
    return took, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=5)
    visits, port = parser.parse_args().visits, _port()
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        began = time.monotonic()
        app = subprocess.Popen(
            [sys.executable, "app.py", "--port", str(port)],
            cwd=APP,
            env={**os.environ, "GRADIO_TEMP_DIR": folder, "NO_PROXY": "*"},
            stdout=subprocess.DEVNULL,
        )
        try:
            _answers(f"http://127.0.0.1:{port}/", app)
            print(f"python app.py -> page answers: {time.monotonic() - began:.1f} s")
            took, model = _visit(browser, f"http://127.0.0.1:{port}/")
            print(f"python app.py -> first insight: {time.monotonic() - began:.1f} s ({model})")
            print(f"opening -> first insight: {took:.1f} s while the model loads")
            later = [_visit(browser, f"http://127.0.0.1:{port}/")[0] for _ in range(visits)]
            print("later visits:", ", ".join(f"{x:.1f} s" for x in later))
            print("load of this machine:", ", ".join(f"{x:.1f}" for x in os.getloadavg()))
        finally:
            app.terminate()
            app.wait(30)
            browser.close()


if __name__ == "__main__":
    main()
