"""A page under test: the app as a process of its own, one Chromium, and no way out to a network."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rheo.trace import io
from tests.visual import sample

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"^(https?|wss?)://(?!127\.0\.0\.1[:/])")
PATIENCE = 1000 * int(os.environ.get("RHEO_PATIENCE", "30"))  # ms until a page is given up
HARMLESS = (
    "AbortError",
    "Connection errored out",
)  # a page that is left in the middle of a request


LOG = Path(tempfile.gettempdir()) / f"rheoscope-served-{os.getpid()}.log"  # of the running app


@contextmanager
def served(traces: Path, **environment: str) -> Iterator[str]:
    """The address of a running app."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"GRADIO_TEMP_DIR": str(traces / "gradio"), "HF_HUB_OFFLINE": "1", "NO_PROXY": "*"}
    app = subprocess.Popen(
        [sys.executable, "-m", "tests.browser.served", str(traces), "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, **quiet, **environment},
        stdout=subprocess.DEVNULL,
        stderr=LOG.open("w"),
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, app)
        yield address
    finally:
        app.terminate()
        app.wait(20)


def _wait(address: str, app: subprocess.Popen) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(240):
        if app.poll() is not None:
            pytest.fail(f"the app ended: {LOG.read_text(errors='replace')[-2000:]}")
        try:
            opener.open(f"{address}/config", timeout=2).read(1)
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the app did not answer in two minutes")


@pytest.fixture(scope="session")
def recorded():
    """The run that the page opens with: hostile tokens among the others."""
    return sample.run(rounds=5)


@pytest.fixture(scope="session")
def address(tmp_path_factory, recorded) -> Iterator[str]:
    """The app with the scripted model."""
    traces = tmp_path_factory.mktemp("traces")
    io.save(recorded, traces / "first.json.gz")
    with served(traces) as where:
        yield where


@pytest.fixture(scope="module")
def browser():
    """One headless Chromium a module: while playwright's loop runs, no other test can have one."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        chromium = playwright.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()


def told(response) -> str:
    """An error of the server: which request, and the end of what the app has said since."""
    request = f"{response.status} {response.url} {(response.request.post_data or '')[:300]}"
    return f"{request}\n{LOG.read_text(errors='replace')[-3000:]}"


def stay_inside(context, wrong: list[str]) -> None:
    """Note in `wrong`, and refuse, every request to another machine."""

    def block(route):
        wrong.append(f"request to {route.request.url}")
        route.abort()

    context.route(OUTSIDE, block)


@pytest.fixture
def visit(browser):
    """Open a page; at the end nothing may have gone wrong in it or have left the machine."""
    contexts, wrong = [], []

    def open_page(address: str, query: str = "?__theme=light", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}, **options})
        contexts.append(context)
        stay_inside(context, wrong)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("response", lambda r: wrong.append(told(r)) if r.status >= 500 else None)
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.goto(f"{address}/{query}")
        page.locator("[data-drawn]:visible").first.wait_for()  # on whichever page it opens
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.__xss") is None, "text of a token was executed"
        context.close()
    assert not [message for message in wrong if not any(h in message for h in HARMLESS)]
