"""What axe cannot tell: the outline, keys, focus, phones, a reader's own colours, paper."""

import io
from itertools import pairwise

import pytest
from PIL import Image

from tests.browser.test_access import ROOT, tab_to
from tests.browser.test_wcag import PHONE, READABLE, TABS, TARGETS, opened
from visual.words import labels, one_hot, sentences

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FRAME = "#viewer [data-role=frame]"
HERE = "#viewer [data-role=here]"
DILEMMA = "?page=dilemma&__theme=light"
NODE = "document.querySelector('#viewer [data-role=root]').parentElement.__rheo.view.node"


# Headings


def outline(page) -> list[tuple[int, str]]:
    """Level and text of every heading that is there to be read, in the page's order."""
    heads = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6",
        "all => all.filter((e) => e.checkVisibility()).map((e) => [+e.tagName[1], e.innerText])",
    )
    return [(level, text.strip()) for level, text in heads]


@pytest.mark.parametrize("query", ["?__theme=light", DILEMMA])
def test_the_headings_are_an_outline(visit, address, query):
    heads = outline(opened(visit, address, query))
    levels = [level for level, _ in heads]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    said = [text for _, text in heads]
    assert len(heads) >= 5 and all(said)
    wanted = (
        [one_hot.DILEMMA["title"], one_hot.DILEMMA["tab_draw"]]
        if query == DILEMMA
        else [labels.RAIL, labels.VIEWER["run_head"], labels.VIEWER["tree_head"]]
    )
    assert [text for text in said if text in wanted] == wanted


# Keys


def test_the_arrows_keep_to_a_level_and_to_the_family(visit, address, recorded):
    page = opened(visit, address)
    round = recorded.rounds[int(page.get_attribute(ROOT, "data-round"))]
    page.keyboard.press("End")
    step = page.get_attribute(ROOT, "data-frame")
    page.focus(FRAME)

    def at(key):
        page.keyboard.press(key)
        return page.evaluate(NODE)

    while at("Shift+ArrowLeft"):
        pass
    assert at("ArrowDown") == 0 and page.inner_text(HERE) == labels.BROWSER["alone"]
    first = at("Shift+ArrowRight")
    assert round.nodes[first].parent == 0
    deeper = at("Shift+ArrowRight")
    assert round.nodes[deeper].parent == first
    level = [node.depth for node in round.nodes]
    seen = [deeper, *(at("ArrowDown") for _ in range(12))]
    assert {level[node] for node in seen} == {2} and len(set(seen)) == 13
    assert at("ArrowUp") == seen[-2]
    assert at("Shift+ArrowLeft") == round.nodes[seen[-2]].parent
    assert page.get_attribute(ROOT, "data-frame") == step  # the round did not step


def test_letter_keys_can_be_switched_off(visit, address):
    page = opened(visit, address)
    at = page.get_attribute(ROOT, "data-round")
    page.keyboard.press("?")
    page.uncheck("#viewer [data-role=letters]")
    page.keyboard.press("Escape")
    for key in ("[", "p", "x", "?"):
        page.keyboard.press(key)
    assert page.get_attribute(ROOT, "data-round") == at
    assert not page.locator(".present, dialog[open]").count()
    page.keyboard.press("Home")  # no letter: it still acts
    page.wait_for_selector(f"{ROOT}[data-frame='0']")
    page.reload()
    page.wait_for_function("window.rheoscope?.held.open")
    page.keyboard.press("[")
    assert page.get_attribute(ROOT, "data-round") == at
    page.click("#viewer [data-role=help]")
    page.check("#viewer [data-role=letters]")
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    assert page.get_attribute(ROOT, "data-round") != at


def test_every_slider_says_its_value(visit, address):
    page = opened(visit, address, DILEMMA)
    said = "all => all.map((e) => e.ariaValueText)"
    values = page.eval_on_selector_all("#dilemma input[type=range]", said)
    assert len(values) > 20 and all(values)
    bar = page.locator("#dilemma .dl-p input[type=range]").first
    bar.focus()
    before = bar.evaluate("(e) => e.ariaValueText")
    page.keyboard.press("ArrowRight")
    after = bar.evaluate("(e) => e.ariaValueText")
    assert after != before and after.endswith(" %")
    assert float(after[:-2]) == pytest.approx(100 * float(bar.input_value()), abs=0.06)
    page.get_by_role("tab", name=labels.PAGES["playground"]).click()
    assert page.locator("#viewer [data-role=scrub]").evaluate(
        "(e) => e.ariaValueText"
    ) == labels.BROWSER["round"].format(at=int(page.get_attribute(ROOT, "data-round")) + 1, count=5)
    page.click("#viewer [data-role=first]")
    moment = page.locator("#viewer [data-role=moment]").evaluate("(e) => e.ariaValueText")
    assert moment == page.inner_text("#viewer [data-role=step]")


REACHABLE = """() => [...document.querySelectorAll('button, input, select, summary')]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0)
  .map((e) => { e.dataset.wanted = ''; return e; }).length"""
MISSED = "document.querySelectorAll('[data-wanted]').length"
ARRIVE = """() => { const at = document.activeElement, box = at.getBoundingClientRect();
  delete at.dataset.wanted;
  const over = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const style = getComputedStyle(at);
  const ring = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== 'none';
  const apart = over && !at.contains(over) && !over.contains(at);
  return [at.tagName, ring, Boolean(apart && over.closest('.rheo-bar, #rail'))]; }"""


@pytest.mark.parametrize("query", [DILEMMA, "?present=1&__theme=light"])
def test_tab_reaches_everything_and_nothing_lies_over_it(visit, address, query):
    page = opened(visit, address, query)
    assert page.evaluate(REACHABLE) > 5
    page.evaluate("document.activeElement.blur()")
    for _ in range(90):
        page.keyboard.press("Tab")
        tag, ring, covered = page.evaluate(ARRIVE)
        if tag in ("BODY", "HTML"):
            break
        assert ring and not covered, tag
    assert page.evaluate(MISSED) == 0


# Phones


def test_a_phone_shows_all_tabs_and_cuts_no_name(visit, address):
    page = opened(visit, address, DILEMMA, **PHONE)
    for tab in TABS:
        box = page.locator(f"#dl-tab-{tab}").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 40
    cut = (
        """all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)"""
    )
    names = ".dl-stack > span:first-child, .dl-rows tbody th, .dl-dials label, .dl-tabs button"
    assert not page.eval_on_selector_all(f"#dilemma :is({names})", cut)
    half = """all => all.flatMap((e) => { const range = document.createRange();
      range.selectNodeContents(e);
      const text = range.getBoundingClientRect(), box = e.getBoundingClientRect();
      const seen = text.width && text.top < box.bottom - 1;
      const cut = text.left < box.left - 1 || text.right > box.right + 1;
      return seen && cut ? [e.textContent] : [];
    })"""
    assert not page.eval_on_selector_all(":is(.dl-stack .dl-part, .rs-unit > i):visible", half)


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_fits_at_400_percent(visit, address, tab):
    page = opened(visit, address, DILEMMA, viewport={"width": 320, "height": 256})
    page.click(f"#dl-tab-{tab}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for name in TABS:
        box = page.locator(f"#dl-tab-{name}").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 320


# A reader's own colours


def inks(locator) -> int:
    """How many colours an element shows in quantity."""
    shot = Image.open(io.BytesIO(locator.screenshot())).convert("RGB")
    counts = shot.getcolors(shot.width * shot.height)
    return sum(count >= 0.02 * shot.width * shot.height for count, _ in counts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_hide_nothing(visit, address, scheme):
    own = {"forced_colors": "active", "color_scheme": scheme}
    page = opened(visit, address, **own)
    sliders = page.locator("#rail input[type=range]:visible, #viewer input[type=range]:visible")
    assert sliders.count() >= 6 and all(inks(slider) >= 2 for slider in sliders.all())
    box = page.locator("#viewer [data-role=guessing]")
    box.check()
    on = box.screenshot()
    box.uncheck()
    assert box.screenshot() != on
    assert not page.evaluate(f"({READABLE})('[data-role=tree]')" if scheme == "light" else "[]")
    dark = page.eval_on_selector("#viewer [data-role=tree] text", "(e) => getComputedStyle(e).fill")
    light = max(int(x) for x in dark[4:-1].split(",")) > 128
    assert light == (scheme == "dark")  # the tree is drawn in the colours of the reader's ground
    page.get_by_role("tab", name=labels.PAGES["dilemma"]).click()
    page.wait_for_selector("#dilemma [data-drawn]")
    for part in (".dl-hold", ".dl-bar", ".dl-dials input"):
        assert all(inks(bar) >= 2 for bar in page.locator(f"#dilemma {part}").all()), part
    chosen, other = page.locator("#dilemma .dl-presets button").all()[:2]
    ground = "(e) => getComputedStyle(e).backgroundColor"
    assert chosen.evaluate(ground) != other.evaluate(ground)


# Paper


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_run_prints_as_its_tree_its_sentences_and_its_numbers(visit, address, recorded, theme):
    page = opened(visit, address, f"?__theme={theme}")
    at = int(page.get_attribute(ROOT, "data-round"))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.wait_for_timeout(500)
    pressed = page.eval_on_selector_all(
        "button, input, select, textarea, summary",
        "all => all.filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 90))",
    )
    assert not pressed
    told = page.locator("#viewer [data-role=sentences] li").all_inner_texts()
    steps = sentences.sentences(recorded, recorded.rounds[at])
    assert len(told) >= len(steps)
    for step, line in zip(reversed(steps), reversed(told), strict=False):
        assert line.startswith(step.removesuffix(".")[:60])
    assert page.locator("#viewer [data-role=tree] .main-svg").first.is_visible()
    assert page.locator("#viewer [data-role=metrics]").is_visible()
    assert page.locator("#viewer [data-role=figures] .main-svg").first.is_visible()
    assert page.inner_text("#viewer [data-role=address]").startswith(address)
    assert not page.evaluate("document.body.classList.contains('dark')")
    assert not page.evaluate(f"({READABLE})('#viewer')")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")


def test_a_question_is_not_answered_on_paper(visit, address):
    page = opened(visit, address)
    page.click("#viewer [data-role=begin]")
    while not page.locator("#viewer [data-asking]").count():
        page.keyboard.press("ArrowRight")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    told = page.locator("#viewer [data-role=sentences] li").all_text_contents()
    assert len(told) == int(page.get_attribute(ROOT, "data-frame"))
    assert not any(word in line for line in told for word in labels.VERDICTS.values())
    tab_to(page, "accept")


def test_the_dilemma_prints_its_bars(visit, address):
    page = opened(visit, address, DILEMMA)
    page.emulate_media(media="print")
    bars = page.locator("#dilemma .dl-stack .dl-part")
    exact = "all => all.map((e) => getComputedStyle(e).printColorAdjust)"
    assert set(bars.evaluate_all(exact)) == {"exact"}
    assert not page.locator("#dilemma button:visible").count()
    assert not page.evaluate(TARGETS) or page.locator("#dilemma .dl-hold").first.is_visible()
