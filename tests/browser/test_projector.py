"""Present: letters that are read from afar, and the node that is asked about always in sight."""

import shutil
from pathlib import Path

import pytest

from tests.browser.app_process import served
from visual.runtime import run_store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HERE = Path(__file__).parent
SMALL, ASKED = (
    (HERE / name).read_text("utf-8") for name in ("smallest_letters.js", "asked_in_sight.js")
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app with one recorded run."""
    traces = tmp_path_factory.mktemp("shipped")
    shutil.copy(run_store.TRACES / "first.json.gz", traces)
    with served(traces) as where:
        yield where


def smallest(page):
    """(pixels, text) of the smallest letters."""
    return page.evaluate(SMALL)


@pytest.mark.parametrize(("width", "height", "least"), [(1280, 720, 20), (1920, 1080, 30)])
def test_every_guess_is_in_sight_and_nothing_is_small(visit, address, width, height, least):
    viewport = {"width": width, "height": height}
    page = visit(address, "?present=1&__theme=light", viewport=viewport)
    page.wait_for_function("window.rheoscope.held.open")
    seen = page.evaluate(ASKED)
    assert seen["asked"] > 30 and not seen["wrong"]
    for act in ("Home", "ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(act)
        page.wait_for_timeout(400)
        assert not [found for found in smallest(page) if found[0] < least - 0.01]
    if width == 1280:
        page.check("[data-role=large]")  # the whole tree
        page.wait_for_timeout(400)
        assert not [found for found in smallest(page) if found[0] < least - 0.01]
        page.uncheck("[data-role=large]")
        page.click("#share [data-role=settings]")
        assert not [found for found in smallest(page) if found[0] < least - 0.01]
        page.keyboard.press("Escape")
        page.keyboard.press("p")
        page.wait_for_timeout(400)
        assert smallest(page)[0][0] < 14  # the check itself can fail


@pytest.mark.parametrize(("width", "height", "least"), [(1280, 720, 20), (1920, 1080, 30)])
def test_nothing_is_small_on_the_other_page(visit, address, width, height, least):
    viewport = {"width": width, "height": height}
    page = visit(address, "?page=dilemma&present=1&__theme=light", viewport=viewport)
    page.wait_for_selector("#dilemma [data-drawn]")
    assert not [found for found in smallest(page) if found[0] < least - 0.01]
    for tab in ("plan", "cheat", "dial", "honest", "draw"):
        page.click(f"#dl-tab-{tab}")
        page.wait_for_timeout(400)
        assert page.evaluate("scrollY") > 0 or width > 1280  # what the tab shows comes into sight
        assert not [found for found in smallest(page) if found[0] < least - 0.01], tab
    page.uncheck("#dl-draw [data-role=guessing]")
    page.click("#dl-draw [data-role=last]")
    page.wait_for_selector("#dl-draw .rs-plan h3")
    page.wait_for_selector("#dl-draw .rheo-figures .annotation >> text=/^p₁/")  # labels find room
    page.locator("#dl-draw .rs-plan").scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    assert not [found for found in smallest(page) if found[0] < least - 0.01]
    if width == 1280:
        wide = page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= width
        page.keyboard.press("p")
        page.wait_for_timeout(400)
        assert smallest(page)[0][0] < 14  # the check itself can fail
