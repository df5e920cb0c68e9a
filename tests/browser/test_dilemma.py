"""The one-hot dilemma as a learner meets it: first paint, a pulled bar, a guessed draw, a cheat."""

import pytest

from rheo.exact import scenarios
from rheo.exact.coupling import OneNode
from rheo.exact.transport import node
from visual.dilemma import acceptance
from visual.words import one_hot

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEW = "document.querySelector('#dilemma [data-role=root]').parentElement.__dilemma"


@pytest.fixture
def page(visit, address):
    """The page, opened from the Playground."""
    made = visit(address)
    open_dilemma(made)
    return made


def open_dilemma(page):
    page.get_by_role("tab", name="One-hot dilemma").click()
    page.wait_for_selector("#dilemma [data-drawn]")


def part(name):
    return f"#dilemma [data-role='{name}']"


def accepted(page):
    """What the stacked bars say, by rule."""
    return page.eval_on_selector_all(
        "#dilemma .dl-stack",
        "all => all.map(s => [s.dataset.rule, s.querySelector('b').innerText])",
    )


def test_first_paint_is_the_shipped_result(page):
    known = OneNode.from_dict(scenarios.load("long-tail")["result"]["node"])
    assert page.inner_text(part("sentence")) == acceptance.sentence(known)
    got = dict(accepted(page))
    for rule in acceptance.STACK_ROWS:
        assert got[rule] == acceptance.percent(known.couplings[rule].split.accepted)


def test_a_pulled_bar_changes_everything_to_the_engines_numbers(page):
    page.click("#dilemma [data-name='multimodal']")
    page.wait_for_selector("#dilemma [data-drawn='multimodal']")
    bar = page.locator("#dilemma .dl-p input[type=range]").first
    bar.fill("0.45")
    page.wait_for_selector("#dilemma [data-answered]")
    page.wait_for_function(f"{VIEW}.asked === 0")
    p, q = page.evaluate(f"{VIEW}.p"), page.evaluate(f"{VIEW}.q")
    assert p[0] == pytest.approx(0.45) and sum(p) == pytest.approx(1.0)
    known = scenarios.load("multimodal")
    made = node(p, q, known["m"], known["K"], known["T"])
    assert page.inner_text(part("sentence")) == acceptance.sentence(made)
    number = page.locator("#dilemma .dl-q input[type=number]").nth(1)
    number.fill("50")
    number.press("Tab")
    page.wait_for_function(f"Math.abs({VIEW}.q[1] - 0.5) < 1e-9 && {VIEW}.asked === 0")
    made = node(page.evaluate(f"{VIEW}.p"), page.evaluate(f"{VIEW}.q"), known["m"], known["K"], 1.0)
    assert dict(accepted(page))["optimum"] == acceptance.percent(made.optimum)


def test_a_draw_is_guessed_step_by_step_with_the_keyboard(page):
    assert page.inner_text(part("seed")) == str(scenarios.load("long-tail")["seed"])
    page.focus("#dl-draw")
    page.keyboard.press("ArrowRight")
    root = page.locator("#dilemma [data-role=root]")
    assert root.get_attribute("data-step") == "1" and root.get_attribute("data-covered") == ""
    assert page.inner_text(part("say")) == ""
    page.keyboard.press("ArrowRight")  # it waits for the guess
    assert root.get_attribute("data-step") == "1"
    page.keyboard.press("r")
    assert "rejected" in page.inner_text(part("say"))
    assert page.inner_text(part("told")) == one_hot.DILEMMA["right"]
    page.keyboard.press("ArrowRight")
    assert page.locator("#dilemma .dl-left").count() == 8
    page.keyboard.press("ArrowRight")
    page.click("#dilemma [data-guess=reject]")
    assert page.inner_text(part("told")) == one_hot.DILEMMA["wrong"]
    page.uncheck(part("guess"))
    page.click(part("again"))
    page.wait_for_function(f"{VIEW}.at === 0 && {VIEW}.asked === 0")
    page.keyboard.press("Home")
    assert root.get_attribute("data-covered") is None


def test_a_cheat_leaves_the_band(page):
    page.click("#dl-tab-cheat")
    rows = page.locator("#dilemma .dl-verdicts tbody tr")
    assert rows.count() == 6 and page.locator("#dilemma .dl-verdicts tr.bad").count() == 3
    page.click(part("simulate"))
    page.wait_for_selector("#dilemma [data-play-over]", timeout=90_000)
    assert page.locator(".dl-band.good[data-rule=rheo]").count() == 1
    assert page.locator(".dl-band.bad[data-rule=naive]").count() == 1
    page.click(part("other"))
    page.wait_for_selector("#dilemma [data-survey-over]")
    assert rows.count() == 6
    page.click(part("simulate"))
    page.wait_for_selector("#dilemma .dl-band")
    page.click(part("stop"))
    page.wait_for_function("document.querySelector('#dilemma [data-role=stop]').disabled")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_hangs_over_the_side(visit, address, theme, width):
    page = visit(address, f"?__theme={theme}", viewport={"width": width, "height": 720})
    open_dilemma(page)
    for tab in ("draw", "plan", "cheat", "dial", "honest"):
        page.click(f"#dl-tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
