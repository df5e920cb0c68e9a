"""The run's box, the sliders that teach, run again and flip, settings that give way."""

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.visual import by_hand
from visual.run import metrics, speedup
from visual.words import measures

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROOT = "#viewer [data-role=root]"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page opens with the run by hand; the scripted model runs everything else."""
    traces = tmp_path_factory.mktemp("by-hand")
    io.save(by_hand.run(), traces / "first.json.gz")
    with served(traces) as where:
        yield where


@pytest.fixture
def page(visit, address):
    opened = visit(address)
    opened.wait_for_selector("#status [data-state=ready]")
    return opened


def move(page, name: str, value: float) -> None:
    """A slider's number, as a person types it."""
    page.fill(f"#{name} input[type=number]", str(value))
    page.press(f"#{name} input[type=number]", "Tab")


def at_node(page, round: int, node: int) -> None:
    page.evaluate(
        "([k, n]) => { const { show, choose } = document.querySelector('#viewer [data-role=root]')"
        ".parentElement.__rheo; show(k); choose(n); }",
        [round, node],
    )
    page.wait_for_selector(f"[data-role=panel]:not(.late)[data-node='{node}']")


def row(page, name: str) -> str:
    return page.inner_text(f"[data-role=whatif] [data-row={name}] dd")


def test_the_box_tells_the_run_and_projects_it(page):
    run = by_hand.run()
    page.click("[data-role=timeline-box] summary")
    page.wait_for_selector("[data-role=timeline] .main-svg")
    shown = page.locator("[data-role=figures-of-run] dt").all_inner_texts()
    assert shown == [label for label, *_ in metrics.figures(run)]
    assert page.inner_text("[data-role=speed]") == speedup.speed(run, speedup.Machine())
    assert page.locator("[data-role=shares] .rm-bar i").count() == 4
    usual = metrics.projected(run.tau, 2)
    assert page.inner_text(".rm-ratio") == f"{usual:.2f}×"
    page.fill("[data-role=cost-draft]", "0.5")
    changed = metrics.projected(run.tau, 2, draft=0.5)
    assert page.inner_text(".rm-ratio") == f"{changed:.2f}×" and changed != usual
    assert f"(1 + 0.3 + 2 × 0.5) = {changed:.2f}×" in page.inner_text(".rm-formula")
    page.fill("[data-role=cost-draft]", "")
    assert page.inner_text(".rm-ratio") == f"{changed:.2f}×"  # what is no number changes nothing
    page.fill("[data-role=cost-overhead]", "1")
    page.keyboard.press("Tab")
    page.keyboard.press("]")  # the reader's costs are kept from round to round
    assert page.input_value("[data-role=cost-overhead]") == "1"


def test_a_bar_of_the_timeline_shows_its_round(page):
    page.click("[data-role=timeline-box] summary")
    page.wait_for_selector("[data-role=timeline] .barlayer .point")
    page.locator("[data-role=timeline-box]").scroll_into_view_if_needed()
    for k in (2, 0):
        box = page.evaluate(
            """(k) => { const plot = document.querySelector('[data-role=timeline]');
              const { xaxis, yaxis } = plot._fullLayout, at = plot.getBoundingClientRect();
              return [at.x + xaxis._offset + xaxis.d2p(k + 1),
                      at.y + yaxis._offset + yaxis.d2p(0.3)]; }""",
            k,
        )
        page.mouse.move(*box)
        page.mouse.click(*box)
        page.wait_for_selector(f"{ROOT}[data-drawn='{k}']")
        page.wait_for_timeout(400)  # plotly takes two clicks within 300 ms for a double click


def test_a_slider_shows_the_node_as_it_would_be(page):
    at_node(page, 0, 0)
    page.wait_for_selector(f"[data-role=whatif]:has-text('{measures.WHATIF['hint']}')")
    move(page, "m", 2)
    page.wait_for_selector("[data-role=whatif]:has-text('With m = 2, T = 1, K = 4')")
    assert row(page, "z") == "0.5 → 0.3" and row(page, "ratio") == "0.25 → 0.8"
    accepts = page.eval_on_selector_all(".wi b[data-accept]", "(b) => b.map((x) => x.innerText)")
    assert accepts == ["85.0 %", "96.0 %"]
    page.keyboard.press("]")  # another node, and back: the block follows
    at_node(page, 0, 1)  # the walk never came here
    page.wait_for_selector("[data-role=whatif]", state="hidden")
    at_node(page, 0, 3)
    page.wait_for_selector("[data-role=whatif] p:visible")
    at_node(page, 0, 0)
    move(page, "T", 0.5)
    page.wait_for_selector("[data-role=whatif]:has-text('T = 0.5')")
    assert "right to ±" in page.inner_text(".wi-note")
    move(page, "m", 1)
    move(page, "T", 1)
    page.wait_for_selector(f"[data-role=whatif]:has-text('{measures.WHATIF['hint']}')")
    latency = page.evaluate(
        "document.querySelector('#viewer [data-role=root]').parentElement.__rheo.whatif.latency"
    )
    assert len(latency) >= 3


def test_run_again_then_flip_between_the_two(page):
    at_node(page, 2, 0)
    move(page, "m", 2)
    page.click("#again")
    page.wait_for_selector(f"{ROOT}[data-state=done]")
    page.wait_for_selector("[data-role=flip]:not([hidden])")
    assert page.inner_text("[data-role=prompt]") == "Near"  # the run's prompt, not the box's
    said = page.inner_text("[data-role=compared]")
    assert "m 1 → 2" in said and "τ 2.00 →" in said and "seed" not in said
    assert page.get_attribute(ROOT, "data-rounds") == "8"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    page.keyboard.press("x")
    page.wait_for_selector(f"{ROOT}[data-rounds='3'][data-round='2']")  # the last there is
    assert page.get_attribute("[data-role=old]", "aria-pressed") == "true"
    page.keyboard.press("[")
    page.click("[data-role=new]")
    page.wait_for_selector(f"{ROOT}[data-rounds='8'][data-round='1']")  # the same round
    page.wait_for_selector("[data-role=panel]:not(.late)")
    page.click("#run")  # another run is no pair of these
    page.wait_for_selector("[data-role=flip]", state="hidden")


def test_settings_that_cannot_go_together_give_way_and_say_so(page):
    page.click("#more button")
    move(page, "m", 7)  # beyond the slider's end, for the opening run has few slots
    page.wait_for_selector("#notice p")
    page.fill("#S input", "128")
    page.press("#S input", "Enter")
    move(page, "K", 10)
    page.wait_for_function("document.querySelector('#m input[type=range]').max === '9'")
    move(page, "m", 5)
    page.wait_for_function("document.querySelector('#m input[type=range]').value === '5'")
    move(page, "K", 4)
    page.wait_for_function("document.querySelector('#m input[type=range]').value === '3'")
    assert page.inner_text("#notice") == measures.M_LOWERED.format(m=3, K=4)
    assert page.get_attribute("#m input[type=range]", "max") == "3"
    move(page, "K", 20)
    page.wait_for_function("document.querySelector('#m input[type=range]').max === '19'")
    page.wait_for_selector("#notice p", state="detached")
    page.fill("#S input", "16")
    page.press("#S input", "Enter")
    page.wait_for_function("document.querySelector('#K input[type=range]').value === '16'")
    assert page.inner_text("#notice") == measures.K_LOWERED.format(S=16, K=16)


def test_a_phone_sees_all_of_the_box(visit, address):
    page = visit(address, viewport={"width": 390, "height": 844})
    page.click("[data-role=timeline-box] summary")
    page.wait_for_selector("[data-role=timeline] .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    legend = page.locator("[data-role=timeline-legend]").bounding_box()
    for entry in page.locator("[data-role=timeline-legend] span").all():
        box = entry.bounding_box()
        assert box["x"] + box["width"] <= legend["x"] + legend["width"] + 1
    plot, shares = (page.locator(f"[data-role={n}]").bounding_box() for n in ("timeline", "shares"))
    assert plot["y"] + plot["height"] <= shares["y"]
