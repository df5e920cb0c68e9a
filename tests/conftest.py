"""What every room's tests share: the embedded weights, no Hub, and which tests need what.

`RHEO_REQUIRE=embedded,browser` turns "skipped, because it is not here" into a failure.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before the Hub's client is imported: it reads this once
if "PYTEST_XDIST_WORKER" in os.environ:  # two processes at a time: one core each
    os.environ["OMP_NUM_THREADS"] = "1"

import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS, SMOLLM2_135M
from rheo.models.hub.fetch import console_progress, ensure_source
from tests.decoding.tiny_runs import tiny_pair
from tests.needs import skip_unless_required

TESTS = Path(__file__).parent
LONGEST_ROOMS = ("browser", "decoding", "trace", "models", "training", "house", "cli", "bench")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def embedded_folder() -> Path:
    """The converted folder of the embedded pair's target, fetched if it is not here yet."""
    try:
        return ensure_source(SMOLLM2_135M, console_progress())
    except RheoError as error:
        skip_unless_required("embedded", str(error))


@pytest.fixture(scope="session")
def starter_head() -> Path:
    """The head that the reference vectors were computed with."""
    kept = TESTS / "vectors" / "starter"
    return kept if kept.is_dir() else ASSETS / "eagle3-smollm2-135m"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the rooms with the longest files first: the processes then end together."""
    rooms = {TESTS / room: place for place, room in enumerate(LONGEST_ROOMS)}
    items.sort(key=lambda item: min(rooms.get(p, len(rooms)) for p in item.path.parents))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("browser") is None:
        return
    if not any(map(shutil.which, BROWSERS)) or importlib.util.find_spec("playwright") is None:
        skip_unless_required("browser", "no Chromium or no playwright on this machine")


@pytest.fixture(scope="session")
def once_a_run(tmp_path_factory) -> Callable[[str, Callable[[], Any]], Any]:
    """Return a function (name, make) that makes something once, whichever process asks first.

    What `make` returns goes to the other processes of the run as JSON.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # the run's own: each process has a folder below it

    def once(name: str, make: Callable[[], Any]) -> Any:
        path = folder / f"{name}.json"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                path.write_text(json.dumps(make()), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return once


@pytest.fixture(scope="session")
def models() -> tuple:
    """Two tiny random models, target and draft, that resemble each other; nobody changes them."""
    return tiny_pair()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small tensors: a second thread costs more than it brings."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def browser():
    """One headless Chromium a module: while playwright's loop runs, no other test can have one."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        chromium = playwright.chromium.launch(executable_path=path, args=flags)
        yield chromium
        chromium.close()
