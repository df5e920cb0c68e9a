"""A page under test: the app as a process of its own, one Chromium, and no way out to a network."""

from collections.abc import Iterator

import pytest

from rheo.trace import io
from tests.browser.app_process import LOG, served
from tests.browser.viewer import PATIENCE, stay_inside
from tests.visual import sample

HARMLESS = (
    "AbortError",
    "Connection errored out",
)  # a page that is left in the middle of a request


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


def told(response) -> str:
    """An error of the server: which request, and the end of what the app has said since."""
    request = f"{response.status} {response.url} {(response.request.post_data or '')[:300]}"
    return f"{request}\n{LOG.read_text(errors='replace')[-3000:]}"


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
