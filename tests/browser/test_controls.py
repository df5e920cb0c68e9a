"""The controls beside what is shown: the run's own settings, links that make it again, hints,
locks, the help, and a note that waits for the guess.
"""

import pytest

from rheo.trace.io import load
from tests.browser.app_process import ROOT as REPOSITORY
from tests.browser.app_process import served
from visual.words import glossary, labels

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = "#viewer [data-role=root]"
TRACES = REPOSITORY / "assets" / "traces"
STAGE = f"document.querySelector('{ROOT} [data-role=stage]').getBoundingClientRect().top"


@pytest.fixture(scope="session")
def address():
    """The app with the shipped runs."""
    with served(TRACES) as where:
        yield where


def opened(page):
    page.wait_for_function("window.rheoscope.held.open")
    return page


def held(page, names=("prompt", "seed", "max_new_tokens", "m", "R", "K")):
    """What the controls stand at."""
    page.evaluate("document.querySelector('#more:not(:has(#seed)) > button')?.click()")
    page.wait_for_selector("#seed input")
    fields = "(n) => document.querySelector(`#${n} :is(textarea, input[type=number])`).value"
    return {name: page.evaluate(fields, name) for name in names}


def finished(page):
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    return page.inner_text(f"{ROOT} [data-role=transcript]")


def link(page):
    page.wait_for_timeout(600)  # the address is written a moment later
    return page.evaluate("location.search")


def test_the_controls_show_the_run_and_its_link_makes_it_again(visit, address):
    run = load(TRACES / "first.json.gz")
    page = opened(visit(address))
    shown = held(page)
    assert shown["prompt"] == run.prompt
    for name in ("seed", "max_new_tokens", "m", "R", "K"):
        assert shown[name] == str(run.params[name]), name
    page.click("#run")
    first = finished(page)
    there = opened(visit(address, link(page)))
    assert held(there) == shown
    there.click("#run")
    assert finished(there) == first
    page.fill("#m input[type=range]", "3")
    page.click("#again")  # the prompt and the seed stay, and so do the tokens asked for
    page.wait_for_selector(f"{ROOT} [data-role=flip]:not([hidden])")
    second = finished(page)
    assert second != first and held(page) == {**shown, "m": "3"}
    other = opened(visit(address, link(page)))
    other.click("#run")
    assert finished(other) == second  # the link of a second run
    tops = {page.evaluate(STAGE)}
    page.keyboard.press("x")
    page.wait_for_function("document.querySelector('#m input[type=number]').value === '1'")
    assert held(page) == shown and "m=3" not in link(page)  # the controls follow the flip
    tops.add(page.evaluate(STAGE))
    assert len(tops) == 1  # nothing jumps


def test_a_run_under_its_note_flips_without_a_jump(visit, address):
    page = opened(visit(address))
    page.fill("#m input[type=range]", "2")
    page.click("#again")
    page.wait_for_selector(f"{ROOT} [data-role=flip]:not([hidden])")
    tops = [page.evaluate(STAGE)]
    for wanted in ("1", "2"):
        page.keyboard.press("x")
        page.wait_for_function(
            "(m) => document.querySelector('#m input[type=number]').value === m", arg=wanted
        )
        tops.append(page.evaluate(STAGE))
    assert max(tops) - min(tops) < 1


def test_what_a_link_locks_is_shown_greyed_and_stays(visit, address):
    page = opened(visit(address, "?m=2&seed=5&lock=prompt,m,seed"))
    page.wait_for_selector("#prompt textarea:disabled")
    before = held(page)
    assert (before["m"], before["seed"]) == ("2", "5")
    for field in ("#m input[type=range]", "#seed input"):
        assert page.is_visible(field) and page.is_disabled(field), field
    for example in page.locator("#examples button").all():
        assert example.is_disabled()
    page.click("#recorded summary")
    page.click("#recorded [data-name=several-probes]")
    page.wait_for_function("document.querySelector('#K input[type=number]').value !== '0'")
    page.wait_for_selector("#recorded [data-name=several-probes][aria-current]")
    after = held(page)
    assert {n: after[n] for n in ("prompt", "m", "seed")} == {
        n: before[n] for n in ("prompt", "m", "seed")
    }
    assert after["max_new_tokens"] != before["max_new_tokens"]  # the others follow the run


def test_one_hint_at_a_time(visit, address):
    page = opened(visit(address))
    held(page)
    hints = "[...document.querySelectorAll('#rail .info-text')].filter((e) => e.checkVisibility())"
    for name in ("T", "K", "max_new_tokens", "seed"):
        page.hover(f"#{name}")
        ids = page.evaluate(f"{hints}.map((e) => e.closest('[id]').id)")
        assert ids == [name]


@pytest.mark.parametrize("width", [390, 821, 1000, 1260, 1400])
def test_the_help_is_always_there(visit, address, width):
    page = opened(visit(address, viewport={"width": width, "height": 720}))
    for _ in range(2):  # and on a projector
        button = page.get_by_role("button", name=glossary.WHAT)
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        button.click()
        page.wait_for_selector("[data-role=idea][open]")
        page.keyboard.press("Escape")
        page.keyboard.press("p")


def test_a_saved_page_has_the_help_and_lists_no_dead_key(visit, address, tmp_path):
    page = opened(visit(address))
    page.click("[data-role=save] summary")
    with page.expect_download() as saving:
        page.click("[data-save=html]")
    saving.value.save_as(tmp_path / "run.html")
    saved = page.context.new_page()
    saved.goto((tmp_path / "run.html").as_uri())
    saved.wait_for_selector("[data-drawn]")
    saved.click("[data-role=what]")
    assert saved.is_visible("[data-role=idea]")
    saved.keyboard.press("Escape")
    saved.click("[data-role=help]")
    keys = saved.locator("[data-role=keys] kbd").all_inner_texts()
    assert "?" in keys and not {"X", "P"} & set(keys)


def test_settings_are_no_button_where_there_are_none(visit, address):
    page = opened(visit(address, "?present=1"))
    assert page.is_visible("#share [data-role=settings]")
    page.get_by_role("tab", name=labels.PAGES["dilemma"]).click()
    page.wait_for_selector("#dilemma [data-drawn]")
    assert not page.is_visible("#share [data-role=settings]")


def test_the_note_waits_for_the_guess(visit, address):
    page = opened(visit(address))
    about = f"{ROOT} [data-role=about]"
    hidden = "(e) => getComputedStyle(e).visibility"
    assert page.inner_text(about) and page.eval_on_selector(about, hidden) == "visible"
    page.keyboard.press("Home")
    assert page.eval_on_selector(about, hidden) == "hidden"
    page.uncheck("[data-role=guessing]")
    assert page.eval_on_selector(about, hidden) == "visible"
    page.check("[data-role=guessing]")
    page.keyboard.press("End")
    if page.get_attribute(ROOT, "data-asking") is not None:
        page.keyboard.press("ArrowRight")
    assert page.eval_on_selector(about, hidden) == "visible"


def test_a_long_error_neither_pushes_the_page_nor_runs_off_it(visit, address):
    page = opened(visit(address))
    before = page.evaluate(STAGE)
    page.evaluate(
        f"""() => document.querySelector('{ROOT}').parentElement.__rheo
          .say('Qwen/Qwen3-8B is not on this machine yet. '.repeat(5), 'wrong')"""
    )
    box = page.locator(f"{ROOT} [data-role=state]").bounding_box()
    assert page.evaluate(STAGE) == before
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["height"] > 20


def test_a_link_holds_the_pulled_bars_and_the_small_world(visit, address):
    page = visit(address, "?page=dilemma")
    page.wait_for_selector("#dilemma [data-drawn]")
    page.fill("#dilemma [data-role=rows] tr:nth-child(2) .dl-p input[type=number]", "41.27")
    page.keyboard.press("Tab")
    page.wait_for_selector("#dilemma [data-answered]")
    page.click("#dl-tab-cheat")
    page.click("#dilemma [data-role=other]")
    page.select_option("#dilemma [data-role=left]", "topk")
    page.wait_for_function("location.search.includes('left=topk')")
    there = visit(address, link(page))
    there.wait_for_selector("#dilemma [data-answered]")
    state = "(({ p, q, world }) => JSON.stringify([p, q, world]))"
    state += "(document.querySelector('#dilemma [data-role=root]').parentElement.__dilemma)"
    assert there.evaluate(state) == page.evaluate(state)
    assert there.input_value("#dilemma [data-role=left]") == "topk"
    drawn = "#dilemma [data-role=stacks]"
    there.wait_for_function(
        "(t) => document.querySelector('#dilemma [data-role=stacks]').innerText === t",
        arg=page.inner_text(drawn),
    )
    assert link(there) == link(page)
