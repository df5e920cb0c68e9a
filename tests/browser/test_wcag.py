"""WCAG 2.2 A and AA as far as axe-core can tell, on every page and in every state of it.

What it cannot tell stands in `test_access.py` and `test_reach.py`.
"""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.visual import sample
from visual.browser import html_export

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPTIONS = {"runOnly": TAGS, "resultTypes": ["violations"]}
AXE = Axe()
READABLE = (Path(__file__).parent / "readable.js").read_text(encoding="utf-8")
TARGETS = (Path(__file__).parent / "targets.js").read_text(encoding="utf-8")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TABS = ("draw", "plan", "cheat", "dial", "honest")
PLANTED = """() => {
  const add = (tag, text, style) => {
    const made = Object.assign(document.createElement(tag), { textContent: text });
    made.style = style;
    document.querySelector('.gradio-container').append(made);
  };
  add('button', '', 'width: 40px; height: 40px');
  add('p', 'too pale', 'color: #a0a0a0; background: #fff');
  for (const name of ['a', 'b']) add('button', name, 'width: 9px; height: 9px; padding: 0');
  add('h6', 'deep', '');
}"""


def faults(page) -> list[str]:
    """What axe finds: the rule, the element, and why."""
    found = AXE.run(page, options=OPTIONS).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for rule in found
        for node in rule["nodes"]
    ]


def check(page, state: str) -> None:
    """Nothing that axe finds, no small target, no text that is hard to read."""
    page.wait_for_timeout(400)  # fades are over
    assert not faults(page), state
    assert not page.evaluate(TARGETS), state
    assert not page.evaluate(f"({READABLE})('body')"), state


def opened(visit, address, query="?__theme=light", **options):
    page = visit(address, query, **options)
    page.wait_for_function("window.rheoscope.held.open")
    page.wait_for_timeout(800)  # figures are drawn one at a time
    return page


def test_the_playground_in_every_state(visit, address):
    page = opened(visit, address)
    check(page, "opened")
    page.click("#more > button")
    page.click("#viewer [data-role=begin]")
    while not page.locator("#viewer [data-asking]").count():
        page.keyboard.press("ArrowRight")
    check(page, "a verdict is asked for, settings open")
    page.keyboard.press("End")
    page.focus("#viewer [data-role=frame]")
    page.keyboard.press("ArrowDown")
    page.eval_on_selector_all("#viewer details", "all => all.forEach((e) => { e.open = true; })")
    page.wait_for_selector("#viewer [data-role=table] tbody tr")
    page.wait_for_selector("#viewer .rm-projection input")
    check(page, "another node’s panel, every box open")
    page.eval_on_selector_all("#viewer details", "all => all.forEach((e) => { e.open = false; })")
    page.click("#viewer [data-role=help]")
    check(page, "keys")
    page.keyboard.press("Escape")
    page.click("#heading [data-role=what]")
    check(page, "what is this")
    page.keyboard.press("Escape")
    page.click("#share [data-role=present]")
    check(page, "presenting")
    page.click("#share [data-role=settings]")
    check(page, "presenting, settings open")


def test_the_dilemma_in_every_tab(visit, address):
    page = opened(visit, address, "?page=dilemma&__theme=light")
    for tab in TABS:
        page.click(f"#dl-tab-{tab}")
        check(page, tab)


@pytest.mark.parametrize("page", ["playground", "dilemma"])
def test_in_the_dark(visit, address, page):
    check(opened(visit, address, f"?page={page}&__theme=dark"), "dark")


def test_on_a_phone(visit, address):
    check(opened(visit, address, **PHONE), "playground")
    page = opened(visit, address, "?page=dilemma&__theme=light", **PHONE)
    for tab in TABS:
        page.click(f"#dl-tab-{tab}")
        check(page, tab)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page(browser, tmp_path, scheme):
    path = tmp_path / "saved.html"
    path.write_text(html_export.whole(sample.run(rounds=2), 1), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator("[data-drawn]").wait_for()
    check(page, "opened")
    page.click("[data-role=begin]")
    page.eval_on_selector_all("details", "all => all.forEach((e) => { e.open = true; })")
    page.wait_for_selector("[data-role=table] tbody tr")
    check(page, "stepping, every box open")
    context.close()


def test_planted_faults_are_found(visit, address):
    page = opened(visit, address)
    page.evaluate(PLANTED)
    ids = {fault.split(":")[0] for fault in faults(page)}
    assert {"button-name", "color-contrast", "heading-order", "target-size"} <= ids
    assert len(page.evaluate(TARGETS)) == 2
    assert [line[1] for line in page.evaluate(f"({READABLE})('body')")] == ["too pale"]
