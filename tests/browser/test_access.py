"""The page without a mouse, without eyes, in the dark, small, enlarged, and without a network."""

from pathlib import Path

import pytest

from tests.browser.viewer import stay_inside
from visual.words import glossary, labels

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = "#viewer [data-role=root]"
READABLE = (Path(__file__).parent / "readable.js").read_text(encoding="utf-8")
HERE = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const ring = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== 'none';
  const box = at.getBoundingClientRect();
  const name = at.id || at.dataset.role || at.closest('.block')?.id || at.textContent.slice(0, 20);
  return { name,
    tag: at.tagName, ring, shown: box.width > 0 && box.height > 0, y: box.y + scrollY,
    inRail: Boolean(at.closest('#rail')), inView: Boolean(at.closest('#view')) };
}"""
NAMED = {
    "button", "checkbox", "combobox", "link", "listbox", "radio", "searchbox", "slider",
    "spinbutton", "switch", "tab", "textbox", "img", "dialog", "complementary", "region",
}  # fmt: skip


def playground(visit, address, query="?__theme=light", **options):
    page = visit(address, query, **options)
    page.wait_for_function("window.rheoscope.held.open")
    return page


def dilemma(visit, address, **options):
    page = playground(visit, address, "?page=dilemma&__theme=light", **options)
    page.wait_for_selector("#dilemma [data-drawn]")
    return page


def open_page(name, visit, address, **options):
    return (dilemma if name == "dilemma" else playground)(visit, address, **options)


# Without a mouse


def walk_by_tab(page, most=90):
    """What Tab comes to, from the top of the page to its end."""
    page.evaluate("document.activeElement.blur()")
    stops = []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(HERE)
        if here["tag"] in ("BODY", "HTML"):
            break
        stops.append(here)
    return stops


def test_tab_comes_to_every_control_in_order_with_a_ring(visit, address):
    page = playground(visit, address)
    stops = walk_by_tab(page)
    names = [stop["name"] for stop in stops]
    for wanted in ("copy", "present", "prompt", "run", "stop", "strategy", "m", "T", "R", "depth"):
        assert wanted in names, wanted
    for wanted in ("previous", "next", "scrub", "begin", "back", "play", "moment", "guessing"):
        assert wanted in names, wanted
    assert names.index("run") < names.index("m") < names.index("begin") < names.index("frame")
    rail = [i for i, stop in enumerate(stops) if stop["inRail"]]
    view = [i for i, stop in enumerate(stops) if stop["inView"]]
    assert rail == sorted(rail) and max(rail) < min(view)
    assert not [stop["name"] for stop in stops if not stop["ring"]]
    assert not [stop["name"] for stop in stops if not stop["shown"]]


def tab_to(page, name, most=90):
    for _ in range(most):
        if page.evaluate(HERE)["name"] == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {name}")


def test_a_run_is_made_stepped_through_and_read_without_a_mouse(visit, address):
    page = playground(visit, address)
    tab_to(page, "prompt")
    page.keyboard.press("Control+a")
    page.keyboard.type("short")
    tab_to(page, "run")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    tab_to(page, "begin")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{ROOT}[data-frame='0']")
    said = page.inner_text("[data-role=headline]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"{ROOT}[data-frame='1']")
    assert page.inner_text("[data-role=headline]") != said
    page.keyboard.press("End")
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "frame")
    node = page.evaluate("document.querySelector('#viewer').querySelector('.rheo').dataset.frame")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Shift+ArrowLeft", "Shift+ArrowRight"):
        before = page.inner_text("[data-role=here]")
        page.keyboard.press(key)
        page.wait_for_function(
            "(t) => document.querySelector('[data-role=here]').textContent !== t", arg=before
        )
    assert node == page.get_attribute(ROOT, "data-frame")  # the step stays
    page.wait_for_selector("[data-role=panel]:not(.late)")
    token = page.inner_text("[data-role=title]")
    assert page.inner_text("[data-role=here]").startswith(token.strip()[:3])
    page.keyboard.press("Enter")
    assert page.evaluate(HERE)["name"] == "panel"
    page.focus("[data-role=table-box] summary")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-role=table] tbody tr")


def test_the_walk_gives_no_verdict_away(visit, address):
    page = playground(visit, address)
    page.click("[data-role=begin]")
    page.focus("[data-role=frame]")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(300)
    heard = page.inner_text("[data-role=here]")
    assert not any(word in heard for word in ("accept", "reject", "unvisited"))


# Without eyes


def accessible(page):
    """(role, name) of everything a screen reader is told."""
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]


@pytest.mark.parametrize("name", ["playground", "dilemma"])
def test_a_screen_reader_is_told_names_and_landmarks(visit, address, name):
    page = open_page(name, visit, address)
    tree = accessible(page)
    assert not [role for role, said in tree if role in NAMED and not said.strip()]
    roles = [role for role, _ in tree]
    assert roles.count("main") == 1 and "tablist" in roles
    assert page.locator("h1:visible").count() == 1
    repeated = page.evaluate(
        """() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
          return ids.filter((id, i) => id && ids.indexOf(id) !== i); }"""
    )
    assert not repeated
    page.evaluate("document.body.append(document.createElement('button'))")
    assert ("button", "") in accessible(page)  # the check itself can fail


def test_what_changes_is_said(visit, address):
    page = playground(visit, address)
    live = page.locator("[data-role=headline]")
    assert live.get_attribute("aria-live") == "polite"
    page.click("[data-role=begin]")
    heard = [live.inner_text()]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        heard.append(live.inner_text())
    assert len(set(heard)) == 4 and all(len(sentence) > 10 for sentence in heard)


# Light and dark


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["playground", "dilemma"])
def test_every_text_can_be_read(visit, address, name, theme):
    page = playground(visit, address, f"?page={name}&__theme={theme}")
    page.wait_for_selector("#dilemma [data-drawn]" if name == "dilemma" else f"{ROOT}[data-drawn]")
    page.wait_for_timeout(1500)  # fades are over
    assert not page.evaluate(f"({READABLE})('.gradio-container')")
    page.evaluate(
        """(color) => { const p = document.createElement('p'); p.textContent = 'too pale';
          p.style.color = color; document.querySelector('.gradio-container').append(p); }""",
        {"light": "#8a8a8a", "dark": "#6a6a6a"}[theme],
    )
    bad = page.evaluate(f"({READABLE})('.gradio-container')")
    assert [line[1] for line in bad] == ["too pale"]


# Small and enlarged


@pytest.mark.parametrize(("width", "height"), [(390, 844), (640, 360), (320, 180)])
@pytest.mark.parametrize("name", ["playground", "dilemma"])
def test_a_small_page_scrolls_one_way_only(visit, address, name, width, height):
    page = open_page(name, visit, address, viewport={"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll('.gradio-container *')].filter((e) => {
          const box = e.getBoundingClientRect();
          const style = getComputedStyle(e);
          return box.width && box.right > width + 1 && e.checkVisibility()
            && style.position !== 'fixed' && !e.closest('[data-role=frame], .rheo-table, '
              + '.dl-scroll, .rheo-figures, .js-plotly-plot');
        }).map((e) => `${e.tagName}.${e.className} ${e.textContent.slice(0, 20)}`)""",
        width,
    )
    assert not wide
    if name == "playground":
        page.focus("[data-role=begin]")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{ROOT}[data-frame='0']")


def test_less_motion_on_every_page(visit, address):
    page = dilemma(visit, address, reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0
    page.get_by_role("tab", name=labels.PAGES["playground"]).click()
    page.click("[data-role=begin]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.getAnimations().length") == 0


# Without a network


def test_no_page_asks_another_host(visit, address):
    page = dilemma(visit, address)  # `visit` refuses and fails
    page.click("#dl-tab-cheat")
    loaded = page.evaluate("performance.getEntriesByType('resource').map((r) => r.name)")
    assert loaded and all(name.startswith((address, "data:", "blob:")) for name in loaded)


def test_a_request_to_another_host_is_noticed(browser):
    context, wrong = browser.new_context(), []
    stay_inside(context, wrong)
    page = context.new_page()  # a blank one: a page of ours is stopped by its policy already
    page.evaluate("fetch('https://example.org/font.woff2').catch(() => null)")
    context.close()
    assert wrong == ["request to https://example.org/font.woff2"]


# The first question


@pytest.mark.parametrize("name", ["playground", "dilemma"])
def test_what_is_this_is_answered_on_every_page(visit, address, name):
    page = open_page(name, visit, address)
    page.click("#heading [data-role=what]")
    idea = page.locator("[data-role=idea]")
    told = idea.inner_text()
    assert all(paragraph in told for paragraph in glossary.PLAIN_WORDS)
    for term, meaning in (*glossary.TERMS, *labels.LEGEND_KINDS.items()):
        assert f"{term}\n{meaning}" in told
    assert idea.evaluate("(dialog) => dialog.scrollTop") == 0  # it begins with the idea
    page.keyboard.press("Escape")
    assert not idea.is_visible()
    page.click("#pages [role=tab] >> nth=1")  # nothing of the head lies over the pages' names
    page.wait_for_selector("#dilemma [data-drawn]")


def test_step_through_goes_on_and_begins_anew_at_the_end(visit, address):
    page = playground(visit, address, "?guess=0&__theme=light")
    frame = f"document.querySelector('{ROOT}').dataset.frame"
    last = int(page.evaluate(frame))
    for at in (*range(last + 1), 0):
        page.click("[data-role=begin]")
        page.wait_for_function(f"(at) => {frame} === String(at)", arg=at)
