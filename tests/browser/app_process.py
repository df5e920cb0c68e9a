"""The app under test as a process of its own, with the scripted model of `served.py`."""

import os
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

ROOT = Path(__file__).parents[2]
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
