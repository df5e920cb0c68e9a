"""What was seen on screenshots and would not be missed by any other test."""

import shutil

import pytest

from tests.browser.app_process import served
from visual.runtime import run_store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LINES = """() => {                       // whole lines of the text, and no mark cut off
  const box = document.querySelector('#viewer [data-role=transcript]');
  const line = parseFloat(getComputedStyle(box.querySelector('.transcript')).lineHeight);
  const rows = [...box.querySelectorAll('.token')].map((token) => token.getClientRects());
  const last = Math.max(...rows.flatMap((all) => [...all].map((row) => row.bottom)));
  box.scrollTop = box.scrollHeight;
  const scrolled = box.scrollTop;
  box.scrollTop = 0;
  const { bottom } = box.getBoundingClientRect();
  return { rest: box.clientHeight % line, cut: last - scrolled - bottom };
}"""
LETTERS = """() => [...document.querySelectorAll('#viewer .token[data-mark]')].map((token) => {
  const style = getComputedStyle(token, '::after'), own = getComputedStyle(token);
  // from the padding box's top: where the letter begins, and where the line under the token ends
  const line = parseFloat(own.borderBottomWidth);
  const high = Math.min(...[...token.getClientRects()].map((row) => row.height)) - line;
  return parseFloat(style.top) + parseFloat(style.marginTop) - high - line;
})"""
PLACE = """(name) => {
  const part = document.querySelector(`#viewer ${name}`).getBoundingClientRect();
  return [part.top, part.bottom];
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The app with one recorded run."""
    traces = tmp_path_factory.mktemp("looks")
    shutil.copy(run_store.TRACES / "first.json.gz", traces)
    with served(traces) as where:
        yield where


@pytest.fixture
def page(visit, address):
    page = visit(address)
    page.wait_for_function("window.rheoscope.held.open")
    page.wait_for_selector("#viewer .rheo-figures > .strip .annotation")
    return page


def test_the_text_shows_whole_lines(page):
    for high in (720, 1000):
        page.set_viewport_size({"width": 1280, "height": high})
        page.wait_for_timeout(200)
        seen = page.evaluate(LINES)
        assert seen["rest"] < 1 and seen["cut"] <= 0, (high, seen)
    page.evaluate("document.querySelector('#viewer [data-role=transcript]').style.height = '45px'")
    assert page.evaluate(LINES)["rest"] >= 1  # the check itself can fail


def test_no_line_runs_through_a_tokens_letter(page):
    below = page.evaluate(LETTERS)
    assert below and min(below) >= 0


def test_the_strip_stands_first_in_the_panel_and_above_the_fold(page):
    top, bottom = page.evaluate(PLACE, ".rheo-figures > .strip")
    assert top < bottom <= 720
    for later in (".rheo-panel > [data-role=note]", ".rheo-figures > :first-child"):
        assert bottom <= page.evaluate(PLACE, later)[0] + 1
    page.keyboard.press("Home")
    page.evaluate("document.querySelector('#viewer .rheo-panel').scrollTop = 400")
    page.keyboard.press("End")
    page.wait_for_selector("#viewer .rheo-panel[data-node]:not([data-node='0'])")
    assert page.evaluate("document.querySelector('#viewer .rheo-panel').scrollTop") == 0


def test_the_trees_name_tells_no_outcome_before_the_end(page):
    tree = page.locator("#viewer [data-role=tree]")
    told = tree.get_attribute("aria-label")
    assert "accepted" in told
    page.uncheck("#viewer [data-role=guessing]")
    page.keyboard.press("Home")
    said = tree.get_attribute("aria-label")
    assert told.startswith(said) and "accepted" not in said
    page.keyboard.press("End")
    assert tree.get_attribute("aria-label") == told


def test_the_drawer_holds_all_of_its_settings(page):
    page.keyboard.press("p")
    page.click("#share [data-role=settings]")
    box = page.locator("#rail").bounding_box()
    inside = page.locator("#rail button:visible, #rail summary:visible")
    assert inside.count() > 5
    for part in inside.all():
        at = part.bounding_box()
        assert at["x"] + at["width"] <= box["x"] + box["width"] + 1


def test_a_saved_picture_has_the_papers_colour_around_its_labels(page, tmp_path):
    page.click("#viewer .rheo-save summary")
    with page.expect_download() as download:
        page.click("#viewer [data-save=svg]")
    download.value.save_as(tmp_path / "tree.svg")
    text = (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert "paint-order" in text and 'class="textpoint"' in text
