"""Links, the projector's mode, and runs that end: by hand, by another run, by a closed tab."""

import time
from itertools import pairwise
from urllib.parse import urlencode

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from visual.pages import url_state
from visual.words import labels, links, refusals

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = "#viewer [data-role=root]"
WANTED = {
    "prompt": "Why is the sky <b>blue</b>?", "strategy": "rheo-rrsw", "m": 3, "K": 12, "R": 40,
    "depth": 5, "T": 0.7, "S": 64, "seed": 7, "trace": "recorded", "round": 2, "step": 3,
}  # fmt: skip


SETTINGS = WANTED.keys() & set(url_state.SETTINGS)


def place(page):
    return page.evaluate(
        """() => { const { view } = document.querySelector('#viewer [data-role=root]')
          .parentElement.__rheo; return { key: view.key, at: view.at, frame: view.frame,
          node: view.node }; }"""
    )


def opened(page):
    """The link was read."""
    page.wait_for_function("window.rheoscope.held.open")
    return page


def slider(page, name):
    return float(page.input_value(f"#{name} input[type=number]"))


def address_is(page, query):
    page.wait_for_function("(q) => location.search === (q ? `?${q}` : '')", arg=query)


def values_in(page):
    values, wrong = url_state.parse(page.evaluate("location.search.slice(1)"))
    assert not wrong
    return values


def said(page):
    return page.inner_text(f"{ROOT} [data-role=state]")


def font_size(page, selector):
    return page.eval_on_selector(selector, "(e) => parseFloat(getComputedStyle(e).fontSize)")


def listen(page):
    """Keep every sentence of the viewer's state from now on."""
    page.evaluate(
        f"""() => {{ const state = document.querySelector('{ROOT} [data-role=state]');
          window.heard = [];
          new MutationObserver(() => window.heard.push(state.textContent)).observe(state,
            {{ childList: true, characterData: true, subtree: true }}); }}"""
    )


def runs(page, prompt):
    page.fill("#prompt textarea", prompt)
    page.click("#run")


def rounds(page, count):
    """So many of the run that goes on; the page may show another one still."""
    page.wait_for_function(
        f"""() => {{ const {{ state, rounds }} = document.querySelector('{ROOT}').dataset;
          return state === 'running' && rounds >= {count}; }}"""
    )


def test_a_link_sets_every_control_and_goes_to_its_place(visit, address):
    page = opened(visit(address, "?" + urlencode({**WANTED, "__theme": "light"})))
    page.wait_for_function(f"document.querySelector('{ROOT}').dataset.round === '1'")
    assert place(page)["at"] == 1 and place(page)["frame"] == 2
    assert page.input_value("#prompt textarea") == WANTED["prompt"]
    assert page.input_value("#strategy input") == labels.STRATEGY_NAMES["rheo-rrsw"]
    page.click("#more button")
    for name in ("m", "K", "R", "depth", "T"):
        assert slider(page, name) == WANTED[name], name
    assert page.input_value("#S input") == "64"
    assert page.input_value("#seed input") == "7"
    assert page.locator("#notice p").count() == 0
    page.click("#run")  # the controls themselves stand there, not only their picture
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    page.wait_for_timeout(600)
    values = values_in(page)
    assert {n: values.get(n) for n in SETTINGS} == {n: WANTED[n] for n in SETTINGS}
    assert "__theme=light" in page.url and "trace" not in page.url  # a run of these settings


def test_bad_values_are_sentences_and_the_rest_is_used(visit, address):
    hostile = "<img src=x onerror=window.__xss=1>${window.__xss=1}"
    query = {"m": "ninety", "R": 4000, "depth": 4, "strategy": hostile, "round": 0, "colour": "red"}
    page = opened(visit(address, "?" + urlencode(query)))
    page.wait_for_selector("#notice p.wrong")
    lines = page.locator("#notice p.wrong").all_inner_texts()
    assert [line.split(" = ")[0] for line in lines] == ["strategy", "m", "R", "round"]
    assert hostile[:20] in lines[0]
    page.wait_for_function("document.querySelector('#depth input[type=number]').value === '4'")
    assert slider(page, "m") == 1 and slider(page, "R") == 60
    page.wait_for_function("location.search.includes('trace=recorded')")
    values = values_in(page)  # the rest is what the shown run was made with
    assert values["depth"] == 4 and not {"m", "R", "strategy", "round"} & values.keys()


def test_a_hostile_prompt_is_only_text(visit, address):
    hostile = "`${window.__xss=1}`<img src=x onerror=window.__xss=1>{{x}}</textarea>"
    page = opened(visit(address, "?" + urlencode({"prompt": hostile})))
    page.wait_for_function(
        "(p) => document.querySelector('#prompt textarea').value === p", arg=hostile
    )
    page.click("#run")
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    assert page.inner_text("[data-role=prompt]") == hostile


def test_a_copied_link_restores_the_same_view(visit, address, browser):
    page = opened(visit(address, "", permissions=["clipboard-read", "clipboard-write"]))
    page.uncheck("[data-role=guessing]")
    page.fill("#m input[type=number]", "2")
    page.press("#m input[type=number]", "Tab")
    page.fill("[data-role=scrub]", "3")
    page.click("[data-role=begin]")
    before = page.evaluate("history.length")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("history.length") == before
    page.wait_for_function("window.rheoscope.held.settings.m === 2")
    page.click("#share [data-role=copy]")
    page.wait_for_function(
        "(s) => document.querySelector('#share [data-role=copied]').textContent === s",
        arg=links.LINK_WORDS["copied"],
    )
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url and "round=3&step=5" in link and "guess=0" in link
    other = opened(visit(address, "?" + link.split("?")[1]))
    other.wait_for_function(f"document.querySelector('{ROOT}').dataset.frame === '4'")
    assert place(other) == place(page) and slider(other, "m") == 2
    for part in ("headline", "card", "step", "transcript"):
        assert other.inner_html(f"[data-role={part}]") == page.inner_html(f"[data-role={part}]")
    assert not other.is_checked("[data-role=guessing]")


def test_the_bare_address_stays_bare_until_something_is_changed(visit, address):
    page = opened(visit(address, ""))
    page.wait_for_timeout(800)
    assert page.evaluate("location.search") == ""
    page.keyboard.press("[")
    page.wait_for_function("location.search.startsWith('?round=')")


def test_a_place_that_is_not_there_is_said_and_the_nearest_shown(visit, address, recorded):
    page = opened(visit(address, "?round=99&step=2"))
    page.wait_for_function(f"document.querySelector('{ROOT}').dataset.frame === '1'")
    assert place(page)["at"] == len(recorded.rounds) - 1
    assert said(page).startswith("The link asks for round 99, step 2")


def test_a_link_into_a_run_to_come_waits_for_it(visit, address):
    page = opened(visit(address, "?prompt=long&round=2&step=3&guess=0"))
    page.wait_for_selector("#notice p")
    assert "round 2, step 3" in page.inner_text("#notice")
    page.wait_for_function("location.search.includes('round=2&step=3')")
    values = values_in(page)
    assert (values["prompt"], values["guess"]) == ("long", False)
    page.click("#run")
    rounds(page, 4)
    assert place(page)["at"] == 1 and place(page)["frame"] == 2
    page.click("#stop")
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    page.wait_for_timeout(500)
    values = values_in(page)
    assert (values["round"], values["step"], values["trace"]) == (2, 3, "live")


def test_the_projector_fits_and_can_be_left(visit, address):
    page = opened(visit(address, "?present=1&round=2&step=4&R=5000"))
    size = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert size[0] <= 1280 and size[1] <= 720
    page.wait_for_selector("#share [data-role=said]:not(:empty)")  # the rail is away: said here
    for part in ("frame", "card", "back", "ahead", "play", "moment", "headline"):
        box = page.locator(f"{ROOT} [data-role={part}]").bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 720, part
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1280, part
    parts = [f"{ROOT} [data-role={name}]" for name in ("headline", "step", "begin", "accept")]
    sizes = [font_size(page, part) for part in (*parts, f"{ROOT} .token")]
    assert min(sizes) >= 20
    assert not page.locator("#run").is_visible()
    page.click("#share [data-role=settings]")
    assert page.locator("#run").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#run").is_visible()
    page.keyboard.press("p")
    assert page.locator("#run").is_visible()
    page.wait_for_function("!location.search.includes('present')")
    page.click("#share [data-role=present]")
    page.wait_for_function("location.search.includes('present=1')")


MARKS = """() => { const plot = document.querySelector('#viewer [data-role=tree]');
  return plot.data.filter((t) => t.customdata).flatMap((t) => t.customdata.map((row, i) => ({
    node: row[0], verdict: row[2], x: t.x[i], y: t.y[i], text: t.text[i],
    side: [t.textposition].flat()[i % [t.textposition].flat().length],
    letters: plot._fullLayout.font.size, pixels: plot._fullLayout.yaxis._length
      / Math.abs(plot._fullLayout.yaxis.range[0] - plot._fullLayout.yaxis.range[1]) }))); }"""


def test_the_tree_can_be_read_from_afar(visit, address, recorded):
    page = opened(visit(address, "?present=1&round=1&guess=0"))
    page.wait_for_selector(f"{ROOT}[data-drawn='0']")
    page.check("[data-role=large]")  # the whole tree
    whole = len(recorded.rounds[0].nodes) + 1
    page.wait_for_function(f"(count) => ({MARKS})().length === count", arg=whole)
    marks = {mark["node"]: mark for mark in page.evaluate(MARKS)}
    nodes = recorded.rounds[0].nodes
    assert set(marks) == {*range(len(nodes)), "emit"}  # nothing is left out for it
    came = {visit.node for visit in recorded.rounds[0].visits}
    near = [m for i, m in marks.items() if i == "emit" or i == 0 or nodes[i].parent in came]
    assert len(near) > 6 and all(mark["letters"] >= 20 for mark in near)
    assert all(mark["text"] for mark in near)
    columns = {}
    for mark in near:
        columns.setdefault((mark["x"], mark["side"]), []).append(mark["y"] * mark["pixels"])
    for rows in map(sorted, columns.values()):
        assert all(b - a >= 20 for a, b in pairwise(rows))  # no label stands on another
    page.keyboard.press("p")
    page.wait_for_function(f"({MARKS})().every((mark) => mark.letters < 14)")  # the control


def test_locked_controls_are_greyed_and_named(visit, address):
    page = opened(visit(address, "?m=2&lock=m,R,prompt,banana"))
    page.wait_for_selector("#notice p:not(.wrong)")
    for field in ("#m input[type=range]", "#R input[type=range]", "#prompt textarea"):
        page.wait_for_selector(f"{field}:disabled")
        assert page.is_visible(field), field
    assert page.is_enabled("#T input[type=range]")
    shown = page.inner_text("#notice")
    assert links.LOCKED.format(names="m, R, Prompt") in shown and "banana" in shown
    page.click("#run")  # what is locked still counts
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    page.wait_for_function(
        "location.search.includes('m=2') && location.search.includes('lock=m,R,prompt')"
    )


def test_the_other_page_has_links_too(visit, address):
    page = opened(visit(address, "?page=dilemma&scenario=multimodal&tab=plan&m=2&T=0.5"))
    page.wait_for_selector("#dilemma [data-drawn=multimodal][data-answered]")
    assert page.get_attribute("#dl-tab-plan", "aria-selected") == "true"
    assert page.input_value("#dilemma [data-role=m]") == "2"
    assert page.input_value("#dilemma [data-role=T]") == "0.5"
    page.click("#dl-tab-draw")
    page.fill("#dilemma [data-role=m]", "0")
    address_is(page, "page=dilemma&scenario=multimodal&m=0&T=0.5")
    page.get_by_role("tab", name=labels.PAGES["playground"]).click()
    address_is(page, "")


# Runs that end


def test_stop_is_answered_at_once_and_obeyed_within_a_round(visit, address):
    page = opened(visit(address))
    runs(page, "a long slow run")
    rounds(page, 1)
    listen(page)
    page.click("#stop")
    page.wait_for_function("(s) => window.heard.includes(s)", arg=links.STOPPING)
    count = int(page.get_attribute(ROOT, "data-rounds"))
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    assert said(page) == labels.STOPPED_RUN
    assert int(page.get_attribute(ROOT, "data-rounds")) <= count + 1


def test_stop_before_anything_runs_says_nothing(visit, address):
    page = opened(visit(address))
    before = said(page)
    page.click("#stop")
    page.wait_for_timeout(700)
    assert said(page) == before and page.get_attribute(ROOT, "data-state") == "recorded"


def test_a_second_run_never_shows_the_end_of_the_first(visit, address):
    page = opened(visit(address))
    listen(page)
    runs(page, "a long first run")
    rounds(page, 2)
    runs(page, "second")
    page.wait_for_function("document.querySelector('[data-role=prompt]').textContent === 'second'")
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    assert page.get_attribute(ROOT, "data-rounds") == "8"
    assert labels.STOPPED_RUN not in page.evaluate("window.heard")


def test_a_prompt_that_is_too_long_is_cut_and_said(visit, address):
    page = opened(visit(address))
    runs(page, " ".join(f"word{i}" for i in range(150)))
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    assert said(page).startswith(links.CUT_TOKENS.format(kept=100, length=150))
    shown = page.inner_text("[data-role=prompt]")
    assert shown.startswith("word50 ") and shown.endswith(" word149")


def test_a_visitor_who_waits_can_stop_and_one_who_leaves_frees_the_model(visit, address):
    first, second = opened(visit(address)), opened(visit(address))
    runs(first, "a long slow run")  # two minutes, if nobody ends it
    rounds(first, 1)
    runs(second, "short")
    ahead = refusals.AHEAD.format(count=1)
    second.wait_for_function(
        f"(s) => document.querySelector('{ROOT} [data-role=state]').textContent === s", arg=ahead
    )
    second.click("#stop")
    second.wait_for_selector(f"{ROOT}[data-state=done]")
    assert said(second) == labels.STOPPED_RUN
    runs(second, "short")
    second.wait_for_function(
        f"(s) => document.querySelector('{ROOT} [data-role=state]').textContent === s", arg=ahead
    )
    first.close()
    left = time.monotonic()
    second.wait_for_selector(f"{ROOT}[data-state=running]")
    assert time.monotonic() - left < 60  # a round of two seconds, on a machine however busy
    second.wait_for_selector(f"{ROOT}[data-state=done]")


def test_the_page_paints_while_the_model_still_loads(visit, recorded, tmp_path):
    io.save(recorded, tmp_path / "first.json.gz")
    gate = tmp_path / "gate"
    with served(tmp_path, RHEO_GATE=str(gate)) as where:
        page = opened(visit(where))
        assert page.inner_text("[data-role=headline]")
        page.wait_for_function("document.querySelector('#status p').textContent.includes('40 %')")
        assert page.get_attribute("#status p", "data-state") == "loading"
        page.click("[data-role=begin]")
        page.wait_for_selector(f"{ROOT}[data-frame='0']")
        gate.touch()
        page.wait_for_selector("#status p[data-state=ready]")
        page.close()  # before the app ends, whose open streams it would miss
