"""Two viewers on one page, without a server: each keeps its own place, and no name is shared."""

import pytest

from tests.browser.viewer import stay_inside
from tests.visual import sample
from visual.browser import bundle, component, messages
from visual.server import routes

pytestmark = [pytest.mark.browser, pytest.mark.slow]

START = "two.js"
ENTRY = (
    "import { Viewer } from './viewer/viewer.js';\n"
    "export function startTwo(components) {\n"
    "  for (const one of components) new Viewer(one).start();\n"
    "}\n"
)
COMPONENTS = """[...document.querySelectorAll('main')].map((element, i) => ({
  element, trigger: () => {}, watch: () => {},
  props: { common: window.given.common, value: window.given.values[i], reply: '' } }))"""
PLACES = """() => [...document.querySelectorAll('main')].map((element) => {
  const { view } = element.__rheo, tree = element.querySelector('[data-role=tree]');
  return [view.key, view.at, view.frame, tree.data.length]; })"""


def test_two_viewers_keep_their_own_places(browser):
    runs = [sample.run(rounds=3, R=8, K=3), sample.run(rounds=2, R=8, K=3, seed=5)]
    values = [messages.dumps(messages.whole(f"run{i}", run)) for i, run in enumerate(runs)]
    context, wrong = browser.new_context(), []
    stay_inside(context, wrong)
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content(f"<main>{component.template()}</main>" * 2)
    page.add_script_tag(path=routes.PLOTLY_JS)
    before = set(page.evaluate("Object.keys(window)"))
    page.evaluate(
        "given => { window.given = given; }",
        {"common": messages.dumps(messages.common()), "values": values},
    )
    page.evaluate(bundle.bundle(START, COMPONENTS, {**bundle.sources(), START: ENTRY}))
    for i, run in enumerate(runs):
        last = len(run.rounds) - 1
        page.wait_for_selector(f"main >> nth={i} >> [data-role=root][data-drawn='{last}']")
    page.locator("[data-role=previous]").first.click()
    page.locator("[data-role=first]").nth(1).click()
    page.wait_for_selector("main >> nth=0 >> [data-role=root][data-drawn='1']")
    (key, at, frame, drawn), (other, at_other, first, drawn_other) = page.evaluate(PLACES)
    assert (key, at) == ("run0", 1) and (other, at_other, first) == ("run1", 1, 0)
    assert frame > 0 and drawn and drawn_other
    assert set(page.evaluate("Object.keys(window)")) - before == {"given"}
    assert not wrong
    context.close()
