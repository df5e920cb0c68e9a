"""The page behind nginx, under a path of its own: everything arrives and nothing goes astray."""

import shutil
import socket
import subprocess
import time
from pathlib import Path
from string import Template

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.needs import skip_unless_required
from tests.visual import sample

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CONFIG = Path(__file__).with_name("nginx.conf")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """The address under nginx of an app that was told its root path."""
    if NGINX is None:
        skip_unless_required("nginx", "nginx is not installed on this machine")
    folder, traces = tmp_path_factory.mktemp("nginx"), tmp_path_factory.mktemp("traces")
    io.save(sample.run(rounds=5), traces / "first.json.gz")
    with served(traces, RHEO_ROOT_PATH="/rheo") as app:
        port = free_port()
        names = {"folder": folder, "port": port, "app": app.rsplit(":", 1)[1]}
        filled = Template(CONFIG.read_text(encoding="utf-8")).substitute(names)
        (folder / "nginx.conf").write_text(filled, encoding="utf-8")
        command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        nginx = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            _wait(port, nginx)
            yield f"http://127.0.0.1:{port}/rheo"
        finally:
            nginx.terminate()
            nginx.wait(10)


def _wait(port: int, nginx: subprocess.Popen) -> None:
    for _ in range(100):
        if nginx.poll() is not None:
            pytest.fail(f"nginx ended: {nginx.stderr.read().decode()[-1000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("nginx did not listen in ten seconds")


def test_the_page_lives_under_its_path(proxied, browser):
    from playwright.sync_api import expect

    page = browser.new_page()
    page.set_default_timeout(120_000)
    wrong: list[str] = []
    asked: list[tuple[str, int]] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("response", lambda answer: asked.append((answer.url, answer.status)))
    page.goto(f"{proxied}/?__theme=light")
    page.wait_for_selector("[data-drawn]")
    assert page.evaluate("typeof Plotly") == "object"
    page.locator("#prompt textarea").fill("Why is the sky blue?")
    page.locator("#run").click()
    state = page.locator("[data-role=state]")
    expect(state).to_contain_text("Stopped", timeout=120_000)  # the run came over the event stream
    page.get_by_role("tab", name="One-hot dilemma").click()
    page.wait_for_selector("#dilemma [data-drawn]")
    page.close()
    own = (proxied, "data:", "blob:", proxied.replace("/rheo", "/favicon.ico"))
    assert not [url for url, _ in asked if not url.startswith(own)]
    assert not [(url, status) for url, status in asked if status >= 400] and not wrong
    assert any("queue/data" in url for url, _ in asked)
    assert any("plotly" in url for url, _ in asked)
