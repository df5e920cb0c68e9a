"""The one-hot dilemma as a learner meets it: first paint, a pulled bar, a guessed draw, a cheat."""

import pytest

from rheo.exact import scenarios
from rheo.exact.coupling import OneNode
from rheo.exact.transport import node, one_draw
from visual.dilemma import acceptance
from visual.round import slots
from visual.words import labels, sentences

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


def in_viewer(name):
    """A part of the viewer that shows the draw."""
    return f"#dilemma [data-role=viewer] [data-role={name}]"


def test_a_draw_is_guessed_step_by_step_with_the_keyboard(page):
    known = scenarios.load("long-tail")
    run = scenarios.shipped_draw(known, "rheo")
    round, mine = run.rounds[0], page.locator(in_viewer("root"))
    assert page.inner_text(part("seed")) == str(known["seed"])
    assert page.inner_text(in_viewer("headline")) == slots.sentence(run, round)
    other = "document.querySelector('#viewer [data-role=root]').dataset.frame"
    playground = page.evaluate(other)
    page.focus("#dl-draw")
    page.keyboard.press("ArrowRight")  # pruning, which keeps all
    page.keyboard.press("ArrowRight")
    assert mine.get_attribute("data-frame") == "3" and mine.get_attribute("data-asking") == ""
    assert page.inner_text(in_viewer("headline")).startswith("Will the probe")
    tick = page.locator(f"{in_viewer('card')} .rs-tick")
    assert tick.evaluate("(e) => getComputedStyle(e).visibility") == "hidden"
    page.keyboard.press("r")
    assert "rejected" in page.inner_text(in_viewer("headline"))
    right = labels.BROWSER["right"].format(verdict=labels.VERDICTS["reject"])
    assert page.inner_text(in_viewer("outcome")).startswith(right)
    strip = page.locator(f"{in_viewer('figures')} > div").last
    assert strip.bounding_box()["height"] > 0
    page.keyboard.press("ArrowRight")
    page.click(in_viewer("reject"))
    wrong = labels.BROWSER["wrong"].format(verdict=labels.VERDICTS["accept"])
    assert page.inner_text(in_viewer("outcome")).startswith(wrong)
    assert "1 of 2" in page.inner_text(in_viewer("outcome"))
    page.uncheck(in_viewer("guessing"))
    page.click(part("again"))
    page.wait_for_function(f"{VIEW}.asked === 0")
    assert mine.get_attribute("data-frame") == "1"  # another draw begins anew
    page.keyboard.press("End")
    assert mine.get_attribute("data-asking") is None
    assert page.evaluate(other) == playground  # the other viewer's keys are its own


def test_a_figure_keeps_its_height_when_the_window_changes_between_two_steps(page):
    strip = page.locator(f"{in_viewer('figures')} .js-plotly-plot").last
    page.focus("#dl-draw")
    for key in ("ArrowRight", "ArrowRight", "r"):
        page.keyboard.press(key)
    height = strip.evaluate("(e) => e._fullLayout.height")
    box = page.locator(f"{in_viewer('figures')} > div").last
    assert box.bounding_box()["height"] < height  # the next verdict's rows are not told yet
    page.set_viewport_size({"width": 1280, "height": 640})
    page.wait_for_timeout(500)  # plotly's own answer to the window
    assert strip.evaluate("(e) => e._fullLayout.height") == height


PROBE = """(e) => {
  const { xaxis: x, yaxis: y } = e._fullLayout;
  const { x: [across], y: [down] } = e.data.find((t) => t.customdata && t.name === 'probe');
  return [x._offset + x.d2p(across), y._offset + y.d2p(down)]; }"""


def test_nothing_is_said_of_a_node_that_the_trees_edge_cuts_off(page):
    page.click("#dilemma [data-name='rrsw-ahead']")
    page.wait_for_selector("#dilemma [data-drawn='rrsw-ahead']")
    page.uncheck(in_viewer("guessing"))
    page.focus("#dl-draw")
    page.keyboard.press("End")  # then the most is known of a node
    tree = page.locator(in_viewer("tree"))
    edge, place = tree.bounding_box(), tree.evaluate(PROBE)
    x, y = edge["x"] + place[0], edge["y"] + place[1]
    page.mouse.move(x - 6, y)
    page.mouse.move(x, y, steps=4)
    said = page.locator(f"{in_viewer('tree')} .hoverlayer .hovertext")
    said.first.wait_for(state="attached")
    seen = [label.bounding_box()["x"] for label in said.all() if label.is_visible()]
    assert all(left >= edge["x"] for left in seen)


def test_both_viewers_guess_first_or_neither(page):
    other = page.locator("#viewer [data-role=guessing]")
    assert other.is_checked()
    page.uncheck(in_viewer("guessing"))
    assert not other.is_checked()
    page.get_by_role("tab", name="Playground").click()
    page.click("#viewer [data-role=first]")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        assert page.get_attribute("#viewer [data-role=root]", "data-asking") is None
    other.check()
    assert page.locator(in_viewer("guessing")).is_checked()


def test_a_question_in_another_viewer_is_told_when_it_is_switched_off(page):
    page.get_by_role("tab", name="Playground").click()
    page.click("#viewer [data-role=first]")
    asked = page.locator("#viewer [data-role=root][data-asking]")
    while not asked.count():
        page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="One-hot dilemma").click()
    page.uncheck(in_viewer("guessing"))
    assert asked.count() == 0


LISTEN = """() => {
  window.opened = [];
  const fetch = window.fetch;
  window.fetch = async (...all) => {      // answers that take a while
    await new Promise((go) => { setTimeout(go, 400); });
    return fetch(...all);
  };
  document.querySelector('#dilemma [data-role=viewer] [data-role=root]')
    .addEventListener('rheo:run', () => opened.push(document.querySelector(
      '#dilemma .dl-p input[type=range]').value)); }"""


def test_a_dragged_nodes_draw_is_drawn_once_at_rest(page):
    page.evaluate(LISTEN)
    page.evaluate("""async () => {
      const bar = document.querySelector('#dilemma .dl-p input[type=range]');
      for (let i = 0; i < 10; i += 1) {
        bar.value = 0.1 + 0.01 * i;
        bar.dispatchEvent(new Event('input', { bubbles: true }));
        await new Promise((go) => { setTimeout(go, 200); });
      } }""")
    page.wait_for_function("opened.length > 0")
    page.wait_for_timeout(600)
    assert page.evaluate("opened") == ["0.19"]


def test_the_draw_that_is_asked_for_last_is_shown_at_once_and_alone(page):
    page.evaluate(LISTEN)
    page.locator(part("again")).evaluate("(button) => { button.click(); button.click(); }")
    page.wait_for_function(f"{VIEW}.asked === 0")
    known, seed = scenarios.load("long-tail"), page.evaluate(f"{VIEW}.seed")
    run = one_draw(
        *(known[name] for name in "pqmKT"), "rheo", scenarios.uniforms(seed), known["tokens"]
    )
    assert page.inner_text(in_viewer("headline")) == slots.sentence(run, run.rounds[0])
    assert page.evaluate("opened.length") == 1


@pytest.mark.parametrize("rule", ["topk", "rheo-rrsw"])
def test_another_rule_draws_another_round(page, rule):
    known = scenarios.load("long-tail")
    drawn = scenarios.shipped_draw(known, rule)
    page.select_option(part("rule"), rule)
    page.wait_for_function(f"{VIEW}.rule === '{rule}' && {VIEW}.asked === 0")
    assert page.inner_text(in_viewer("headline")) == slots.sentence(drawn, drawn.rounds[0])
    page.uncheck(in_viewer("guessing"))
    page.focus("#dl-draw")
    page.keyboard.press("End")
    assert page.inner_text(in_viewer("headline")) == sentences.headline(drawn, drawn.rounds[0])


def test_the_curves_are_drawn_when_they_are_looked_at(page):
    charts = page.locator("#dilemma .dl-curves .js-line")
    assert charts.count() == 0
    page.click("#dl-tab-dial")
    page.wait_for_function(
        "document.querySelectorAll('#dilemma .dl-curves .js-line').length === 24"
    )
    keys = page.eval_on_selector_all(
        ".dl-lines .dl-line",
        "all => all.map((e) => { const { backgroundImage, borderTop } = getComputedStyle(e);"
        " return backgroundImage + borderTop.split('rgb')[0]; })",
    )
    assert len(set(keys)) == 4 and not any("dashed" in key for key in keys)  # no two look alike


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
