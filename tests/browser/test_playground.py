"""The Playground as a person meets it: first paint, rounds, nodes, runs, stops, themes, widths."""

import re
import urllib.request

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.browser.viewer import MARKS, VIEW, at_round, at_state, same_tree, state
from visual.round import fates
from visual.words import labels, sentences

pytestmark = pytest.mark.browser


def first_round(page):
    page.fill("[data-role=scrub]", "1")
    at_round(page, 0)


def test_a_recorded_run_is_there_at_once_and_every_node_of_every_round_is_drawn(
    visit, address, recorded
):
    page = visit(address)
    assert state(page, "state") == "recorded" and state(page, "rounds") == str(len(recorded.rounds))
    first_round(page)
    for k, round in enumerate(recorded.rounds):
        at_round(page, k)
        assert not same_tree(recorded, round, page.evaluate(MARKS))
        assert page.inner_text("[data-role=headline]") == sentences.headline(recorded, round)
        page.keyboard.press("]")
    changed = page.evaluate(MARKS)
    changed[5][7] = 0.987654  # the check itself can fail
    assert same_tree(recorded, recorded.rounds[-1], changed)


def test_keys_walk_and_the_panel_follows(visit, address, recorded):
    page = visit(address)
    page.uncheck("[data-role=guessing]")
    k = max(range(len(recorded.rounds)), key=lambda k: len(recorded.rounds[k].visits))
    round = recorded.rounds[k]
    page.fill("[data-role=scrub]", str(k + 1))
    at_round(page, k)
    page.focus("[data-role=frame]")
    page.keyboard.press("End")
    for visited in reversed(round.visits):
        node = visited.node
        page.wait_for_selector(f"[data-role=panel]:not(.late)[data-node='{node}']")
        shown = page.inner_text("[data-role=title]")
        assert shown == sentences.name(recorded, round.nodes[node].token)
        assert page.locator("[data-role=steps] li:visible").count() == len(visited.steps)
        plots = page.locator("[data-role=figures] .js-plotly-plot:visible")
        plots.nth(1).wait_for()
        for _ in visited.steps:
            page.keyboard.press("ArrowLeft")


def test_a_click_on_a_node_the_walk_never_visited_says_so(visit, address, recorded):
    page = visit(address)
    k = int(state(page, "round"))
    round = recorded.rounds[k]
    visited = {v.node for v in round.visits}
    node = next(
        i for i in range(len(round.nodes)) if i not in visited and round.nodes[i].depth == 1
    )
    box = page.evaluate(
        """(node) => {
          const plot = document.querySelector('[data-role=tree]'), layout = plot._fullLayout;
          const found = plot.data.flatMap((t) => (t.customdata || []).map((row, i) =>
            [row[0], t.x[i], t.y[i]])).find((mark) => mark[0] === node);
          const at = plot.getBoundingClientRect();
          return [at.x + layout.xaxis._offset + layout.xaxis.d2p(found[1]),
                  at.y + layout.yaxis._offset + layout.yaxis.d2p(found[2])];
        }""",
        node,
    )
    page.mouse.move(*box)
    page.mouse.click(*box)
    page.wait_for_selector(f"[data-role=panel]:not(.late)[data-node='{node}']")
    assert page.inner_text("[data-role=note]") == fates.of(recorded, round, node).sentence
    page.wait_for_timeout(250)  # the ring glides
    ring = page.locator("[data-role=ring]").bounding_box()
    middle = ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2
    assert middle == pytest.approx(box, abs=1.5)


def test_pruned_children_and_the_table_come_when_asked_for(visit, address, recorded):
    page = visit(address)
    round = recorded.rounds[int(state(page, "round"))]
    page.check("[data-role=ghosts]")
    ghosts = sum(len(node.ghosts) for node in round.nodes)
    page.wait_for_function(
        """(count) => document.querySelector('[data-role=tree]').data
          .filter((t) => t.name === 'ghost').flatMap((t) => t.x).length === count""",
        arg=ghosts,
    )
    page.click("[data-role=timeline-box] summary")
    page.wait_for_selector("[data-role=timeline] .main-svg")
    page.click("[data-role=table-box] summary")
    rows = page.locator("[data-role=table] tr")
    rows.nth(len(round.nodes)).wait_for()
    assert rows.count() == 1 + len(round.nodes) + 1  # head, nodes, the emitted token


def test_a_run_streams_and_stops_within_a_round(visit, address):
    page = visit(address)
    page.fill("#prompt textarea", "A long slow story about the sea")
    page.click("#run")
    at_state(page, "running")
    page.wait_for_function("document.querySelector('[data-role=root]').dataset.rounds >= 2")
    assert page.inner_text("[data-role=prompt]") == "A long slow story about the sea"
    page.click("#stop")
    at_state(page, "done")
    assert page.inner_text("[data-role=state]") == labels.STOPPED_RUN
    rounds = int(state(page, "rounds"))
    assert 2 <= rounds < 60
    assert page.locator("[data-role=transcript] .token.prefill").count() == 1
    first_round(page)
    page.wait_for_selector("[data-role=panel]:not(.late)")  # the server still knows the run


def test_a_second_run_ends_the_first_and_takes_its_place(visit, address):
    page = visit(address)
    page.fill("#prompt textarea", "a long first run")
    page.click("#run")
    page.wait_for_function("document.querySelector('[data-role=root]').dataset.rounds >= 2")
    first = page.evaluate(VIEW.replace("%s", "view.key"))
    page.fill("#prompt textarea", "second")
    page.click("#run")
    page.wait_for_function("document.querySelector('[data-role=prompt]').textContent === 'second'")
    at_state(page, "done")
    assert page.evaluate(VIEW.replace("%s", "view.key")) != first
    assert state(page, "rounds") == "8"
    page.wait_for_selector("[data-role=root][data-drawn='7']")  # it followed the last round


def test_an_error_of_the_engine_is_one_sentence(visit, address):
    page = visit(address)
    page.fill("#prompt textarea", "fail")
    page.click("#run")
    at_state(page, "wrong")
    assert page.inner_text("[data-role=state]").startswith("The prompt has 9,999 tokens")
    page.fill("#prompt textarea", " ")
    page.click("#run")
    page.wait_for_function(
        "(s) => document.querySelector('[data-role=state]').textContent === s",
        arg=labels.PROMPT_EMPTY,
    )


def test_the_biased_strategy_is_labelled(visit, address):
    page = visit(address)
    page.click("#strategy input")
    page.click(f"#strategy [role=option]:has-text('{labels.STRATEGY_NAMES['naive'][:5]}')")
    assert page.wait_for_selector("#notice p").inner_text() == labels.BIASED_NOTE
    assert "biased" in labels.STRATEGY_NAMES["naive"].lower()


def test_dark_mode_redraws_in_its_own_colours(visit, address):
    page = visit(address, "?__theme=dark")
    colours = "() => document.querySelector('[data-role=tree]').layout.font.color"
    assert page.evaluate(colours) == "#f1f2f4"
    page.evaluate("document.body.classList.remove('dark')")
    page.wait_for_function(f"({colours})() === '#1b1c1e'")


def test_a_phone_needs_no_sideways_scrolling(visit, address):
    page = visit(address, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#run").bounding_box()["height"] >= 36


def test_the_tree_is_seen_whole_on_a_projector(visit, address):
    page = visit(address)
    box = page.locator("[data-role=tree]").bounding_box()
    assert box["y"] + box["height"] <= 720


def test_less_motion_if_asked_for(visit, address):
    page = visit(address, reduced_motion="reduce")
    moving = page.evaluate("document.getAnimations().length")
    assert moving == 0


def test_the_plot_has_a_text_for_who_does_not_see_it(visit, address, recorded):
    page = visit(address)
    label = page.get_attribute("[data-role=tree]", "aria-label")
    assert label.startswith(f"Draft tree of round {int(state(page, 'round')) + 1}")
    assert page.get_attribute("[data-role=headline]", "aria-live") == "polite"


def test_no_endpoint_is_offered_to_the_public(address):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    told = opener.open(f"{address}/gradio_api/info").read().decode()
    assert re.search(r'"named_endpoints":\s*\{\}', told)


@pytest.mark.embedded
def test_the_embedded_pair_decodes_a_prompt(embedded_folder, tmp_path, recorded, visit):
    io.save(recorded, tmp_path / "first.json.gz")
    with served(tmp_path, RHEO_REAL="1") as where:
        page = visit(where)
        page.wait_for_function("window.rheoscope.held.open")  # the page is awake
        page.set_default_timeout(120_000)
        page.click("#more button")
        held = page.locator("#max_new_tokens [type=range]")
        for _ in range(40):  # a page that is still busy may redraw the field over what was typed
            page.fill("#max_new_tokens input[type=number]", "16")
            page.press("#max_new_tokens input[type=number]", "Tab")
            page.wait_for_timeout(500)
            if held.input_value() == "16":
                break
        assert held.input_value() == "16"
        page.click("#run")
        page.wait_for_selector("[data-role=root][data-state=done]")
        rounds = int(state(page, "rounds"))
        at_round(page, rounds - 1)
        assert page.locator("[data-role=transcript] .token").count() == 16
        seen = page.evaluate(VIEW.replace("%s", "view.rounds.map((r) => r.tree.data)"))
        kinds = {trace["name"] for trace in seen[0]}
        assert {"root", "deterministic", "probe", "filler"} <= kinds
        nodes = [row[0] for t in seen[0] for row in t.get("customdata", ())]
        assert {n for n in nodes if isinstance(n, int)} == set(range(61))
        first_round(page)
        page.wait_for_selector("[data-role=panel]:not(.late)")
        page.close()  # before the app ends, whose open streams it would miss
