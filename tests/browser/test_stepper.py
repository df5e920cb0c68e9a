"""The round stepper as a person uses it: frames, keys, play, guesses, the text, the tables."""

import pytest

from rheo.trace import io
from tests.browser.viewer import MARKS, PATIENCE, VIEW, at_round, same_tree, state, stay_inside
from visual.browser import messages
from visual.round import steps
from visual.tree import figure
from visual.words import labels, sentences

pytestmark = pytest.mark.browser

STANDING = """() => document.querySelector('[data-role=tree]').data
  .flatMap((trace, i) => trace.opacity > 0 ? [i] : [])"""
PAINTED = """() => {                        // names of traces that the page really shows
  const tree = document.querySelector('[data-role=tree]');
  return [...tree.querySelectorAll('.scatterlayer .trace')].flatMap((mark) =>
    getComputedStyle(mark).opacity > 0 ? [mark.__data__[0].trace.index] : []).sort((a, b) => a - b);
}"""
SHOWN_MARKS = MARKS.replace(
    "(trace.customdata || [])", "(trace.opacity ? trace.customdata || [] : [])"
)
HIDDEN = "(node) => getComputedStyle(node).visibility"


def to_round(page, k):
    page.evaluate(f"document.querySelector('[data-role=root]').parentElement.__rheo.show({k})")
    at_round(page, k)


def frame_of(page):
    return int(state(page, "frame"))


def press(page, key, times=1):
    for _ in range(times):
        page.keyboard.press(key)


def first_ask(told):
    return next(at for at, frame in enumerate(told) if frame["ask"])


def stop_clock(page):
    """From now on time passes by `page.clock.run_for` alone."""
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)


def longest(run):
    """The round with the most frames that can be guessed."""
    count = [sum(bool(f["ask"]) for f in steps.of(run, r)) for r in run.rounds]
    return max(range(len(count)), key=count.__getitem__)


def without_ring(run, round):
    """Traces of the tree in the order of the page; the host draws the ring itself."""
    return [t for t in figure.drawing(run, round)["data"] if t["name"] != "chosen"]


def stands(trace, at):
    since, until = trace.get("meta", (0, None))
    return since <= at and (until is None or at < until)


@pytest.fixture(scope="session")
def recorded(recorded, tmp_path_factory):
    """The run as the page reads it: a trace file keeps 9 digits."""
    path = tmp_path_factory.mktemp("read") / "run.json"
    io.save(recorded, path)
    return io.load(path)


@pytest.fixture(scope="module")
def opened(browser, address):
    """One page for most tests: opening it takes longer than they do."""
    wrong, context = [], browser.new_context(viewport={"width": 1280, "height": 720})
    stay_inside(context, wrong)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{address}/?__theme=light")
    page.wait_for_selector("[data-drawn]")
    yield page
    context.close()
    assert not wrong


@pytest.fixture
def page(opened):
    """The page as it opens: guesses on, a finished round, nothing unfolded, no focus."""
    opened.check("[data-role=guessing]")
    opened.evaluate("""() => {
      for (const box of document.querySelectorAll('.rheo-box[open]')) box.open = false;
      document.querySelector('dialog[open]')?.close();
      document.activeElement.blur();
      scrollTo(0, 0);
    }""")
    to_round(opened, 0)
    return opened


def test_every_frame_of_every_round_shows_what_it_says(page, recorded):
    page.uncheck("[data-role=guessing]")
    page.add_style_tag(content="* { transition: none !important }")
    for k, round in enumerate(recorded.rounds):
        to_round(page, k)
        told, traces = steps.of(recorded, round), without_ring(recorded, round)
        verdicts = [
            (s.child, s.verdict) for v in round.visits for s in v.steps if s.child is not None
        ]
        page.keyboard.press("Home")
        for at, frame in enumerate(told):
            assert frame_of(page) == at
            right = [i for i, trace in enumerate(traces) if stands(trace, at)]
            assert page.evaluate(STANDING) == right
            drawn = {i for i in right if traces[i]["x"]}
            assert set(page.evaluate(PAINTED)) & drawn == drawn
            assert not set(page.evaluate(PAINTED)) - set(right)
            assert page.inner_text("[data-role=headline]") == frame["sentence"]
            decided = sum(f["phase"] in ("verdict", "end") for f in told[: at + 1])
            known = {
                (m[3], m[5]) for m in page.evaluate(SHOWN_MARKS) if m[5] in ("accept", "reject")
            }
            assert known == set(verdicts[:decided])
            page.keyboard.press("ArrowRight")
        assert frame_of(page) == len(told) - 1  # there is nothing behind the end
        marks = page.evaluate(SHOWN_MARKS)
        assert not same_tree(recorded, round, marks)
    marks[5][7] = 0.987654  # the check itself can fail
    assert same_tree(recorded, recorded.rounds[-1], marks)


def test_keys_move_by_frames_and_by_rounds(page, recorded):
    page.uncheck("[data-role=guessing]")
    to_round(page, 1)
    last = len(steps.of(recorded, recorded.rounds[1])) - 1
    assert (
        frame_of(page) == last
        and page.get_attribute("[data-role=ahead]", "aria-disabled") == "true"
    )
    press(page, "ArrowLeft", 2)
    assert frame_of(page) == last - 2
    page.keyboard.press("Home")
    assert frame_of(page) == 0 and page.get_attribute("[data-role=back]", "aria-disabled") == "true"
    press(page, "ArrowRight", 3)
    assert page.inner_text("[data-role=step]") == f"step 4 of {last + 1}"
    page.keyboard.press("End")
    assert frame_of(page) == last
    page.keyboard.press("[")
    at_round(page, 0)
    page.keyboard.press("]")
    at_round(page, 1)
    page.focus("#prompt textarea")
    press(page, "Home")
    page.keyboard.type("[a r? ]")
    assert state(page, "round") == "1" and frame_of(page) == last
    assert not page.evaluate("document.querySelector('dialog[open]')")
    page.fill("[data-role=moment]", "3")
    assert frame_of(page) == 2


def test_zoom_is_kept_while_stepping(page):
    page.uncheck("[data-role=guessing]")
    page.evaluate(
        "Plotly.relayout(document.querySelector('[data-role=tree]'), {'xaxis.range': [0, 2]})"
    )
    page.keyboard.press("Home")
    press(page, "ArrowRight", 4)
    ranges = "() => document.querySelector('[data-role=tree]')._fullLayout.xaxis.range"
    assert page.evaluate(ranges) == [0, 2]


def test_play_steps_and_stops_at_a_question_and_at_the_end(visit, address, recorded):
    page = visit(address)
    to_round(page, longest(recorded))
    stop_clock(page)
    told = steps.of(recorded, recorded.rounds[longest(recorded)])
    ask = first_ask(told)
    page.click("[data-role=play]")
    assert (
        frame_of(page) == 0
        and page.get_attribute("[data-role=play]", "aria-label") == labels.BROWSER["pause"]
    )
    page.clock.run_for(610)
    assert frame_of(page) == 1
    page.clock.run_for(600 * ask + 5000)
    assert frame_of(page) == ask and state(page, "asking") is not None
    assert state(page, "playing") is None
    page.keyboard.press("a")  # play goes on behind the answer
    page.clock.run_for(1300)
    assert frame_of(page) == ask and state(page, "playing") is not None
    page.clock.run_for(200)
    assert frame_of(page) == ask + 1
    page.keyboard.press("Home")  # a reader's own step ends it
    press(page, "ArrowRight", ask)
    page.keyboard.press("a")
    page.clock.run_for(5000)
    assert frame_of(page) == ask
    page.uncheck("[data-role=guessing]")
    page.click("[data-role=play]")
    page.clock.run_for(1300)
    assert frame_of(page) == ask
    page.clock.run_for(200)
    assert frame_of(page) == ask + 1
    page.focus("[data-role=frame]")
    page.keyboard.press(" ")
    page.clock.run_for(5000)
    assert frame_of(page) == ask + 1
    page.keyboard.press(" ")
    page.clock.run_for(1500 * len(told))
    assert frame_of(page) == len(told) - 1 and state(page, "playing") is None


def test_nothing_is_given_away_before_the_guess(page, recorded):
    k = longest(recorded)
    told, round = steps.of(recorded, recorded.rounds[k]), recorded.rounds[k]
    to_round(page, k)
    page.click("[data-role=begin]")
    ask = first_ask(told)
    press(page, "ArrowRight", ask)
    asked = told[ask]["ask"]
    assert page.inner_text("[data-role=headline]").startswith(asked["question"])
    spoilers = page.locator("[data-role=card] .spoiler")
    assert spoilers.count() > 0
    assert {spoilers.nth(i).evaluate(HIDDEN) for i in range(spoilers.count())} == {"hidden"}
    assert labels.VERDICTS[asked["answer"]] not in page.inner_text("[data-role=card]")
    marks = page.evaluate(SHOWN_MARKS)
    assert not [m for m in marks if m[5] in ("accept", "reject")]
    tokens = page.locator("[data-role=transcript] .active")
    assert tokens.count() == len(round.emitted)
    assert {tokens.nth(i).evaluate(HIDDEN) for i in range(tokens.count())} == {"hidden"}
    page.wait_for_selector("[data-role=panel]:not(.late)")
    assert page.locator("[data-role=steps] li:visible").count() == 0
    page.click("[data-role=table-box] summary")
    page.wait_for_selector("[data-role=table] td")
    verdict = page.locator("[data-role=table] tbody tr", has_text=labels.VERDICTS["accept"][:6])
    assert {
        verdict.nth(i).locator(".spoiler").last.evaluate(HIDDEN) for i in range(verdict.count())
    } <= {"hidden"}
    page.keyboard.press("a" if asked["answer"] == "accept" else "r")
    assert {spoilers.nth(i).evaluate(HIDDEN) for i in range(spoilers.count())} == {"visible"}
    assert page.inner_text("[data-role=headline]") == told[ask]["sentence"]


@pytest.mark.parametrize("wrong", [set(), {0}, {0, 2}])
def test_guesses_are_scored(page, recorded, wrong):
    k = longest(recorded)
    told = steps.of(recorded, recorded.rounds[k])
    to_round(page, k)
    page.click("[data-role=begin]")
    right, count, likelier = 0, 0, 0.0
    for at, frame in enumerate(told):
        assert frame_of(page) == at
        if frame["ask"]:
            says = frame["ask"]["answer"]
            if count in wrong:
                says = {"accept": "reject", "reject": "accept"}[says]
            right += count not in wrong
            count += 1
            page.click(f"[data-role={says}]")
            outcome = page.inner_text("[data-role=outcome]")
            said = labels.BROWSER["right" if says == frame["ask"]["answer"] else "wrong"]
            verdict = labels.VERDICTS[frame["ask"]["answer"]]
            likelier += frame["ask"]["likelier"]
            odds = f"{likelier:.1f}"
            score = labels.BROWSER["score"].format(right=right, all=count, likelier=odds)
            assert outcome == f"{said.format(verdict=verdict)} {score}"
        page.keyboard.press("ArrowRight")
    assert page.inner_text("[data-role=outcome]") == score and right == count - len(
        wrong & set(range(count))
    )
    page.click("[data-role=first]")
    assert page.inner_text("[data-role=outcome]") == ""  # a new turn


def test_a_question_can_be_passed_over_and_the_switch_is_remembered(visit, address, recorded):
    page = visit(address)
    k = longest(recorded)
    told = steps.of(recorded, recorded.rounds[k])
    ask = first_ask(told)
    to_round(page, k)
    page.keyboard.press("Home")
    press(page, "ArrowRight", ask + 1)
    assert frame_of(page) == ask and state(page, "asking") is None  # told, not left
    assert page.inner_text("[data-role=outcome]") == ""
    page.uncheck("[data-role=guessing]")
    page.keyboard.press("Home")
    press(page, "ArrowRight", ask)
    assert state(page, "asking") is None
    page.reload()
    page.wait_for_selector("[data-drawn]")
    assert not page.is_checked("[data-role=guessing]")


def test_the_text_grows_with_the_frames(page, recorded):
    page.uncheck("[data-role=guessing]")
    k = longest(recorded)
    to_round(page, k)
    page.keyboard.press("Home")
    for frame in steps.of(recorded, recorded.rounds[k]):
        assert (
            page.locator("[data-role=transcript] .active:not(.pending)").count() == frame["emitted"]
        )
        page.keyboard.press("ArrowRight")
    assert page.locator("[data-role=transcript] .pending").count() == 0


def test_a_token_shows_its_verdict_and_a_node_its_token(page, recorded):
    k = next(k for k, r in enumerate(recorded.rounds) if r.accepted)
    round = recorded.rounds[k]
    told = steps.of(recorded, round)
    to_round(page, (k + 1) % len(recorded.rounds))
    page.click(f"[data-role=transcript] [data-round='{round.index}'] >> nth=0")
    at_round(page, k)
    assert told[frame_of(page)]["emitted"] == 1 and told[frame_of(page) - 1]["emitted"] == 0
    node = round.emitted[0].node
    page.wait_for_selector(f"[data-role=panel]:not(.late)[data-node='{node}']")
    assert page.inner_text("[data-role=title]") == sentences.name(recorded, round.nodes[node].token)
    page.keyboard.press("End")
    call = "document.querySelector('[data-role=root]').parentElement.__rheo.choose(%d)"
    page.evaluate(call % node)
    assert page.get_attribute("[data-role=transcript] .chosen", "data-node") == str(node)
    assert frame_of(page) == len(told) - 1


def test_a_step_never_waits_for_the_server(page, recorded):
    k = longest(recorded)
    page.uncheck("[data-role=guessing]")
    to_round(page, k)
    page.wait_for_function(VIEW.replace("%s", f"view.answers.has(`${{view.key}}/{k}/0/walk`)"))
    page.keyboard.press("Home")
    for frame in steps.of(recorded, recorded.rounds[k]):
        panel = page.evaluate(
            "(({ dataset, className }) => [dataset.node, className])"
            "(document.querySelector('[data-role=panel]'))"
        )
        assert panel[0] == str(frame["node"]) and "late" not in panel[1]
        page.keyboard.press("ArrowRight")


def test_the_strip_is_told_as_far_as_the_frame_goes(page, recorded):
    page.uncheck("[data-role=guessing]")
    k = longest(recorded)
    to_round(page, k)
    page.wait_for_function(VIEW.replace("%s", f"view.answers.has(`${{view.key}}/{k}/0/walk`)"))
    page.keyboard.press("Home")
    for frame in steps.of(recorded, recorded.rounds[k])[:-1]:
        drawn = VIEW.replace(
            "%s", f"view.sheet === view.answers.get(`${{view.key}}/{k}/{frame['node']}/panel`)"
        )
        page.wait_for_function(drawn)
        page.wait_for_timeout(150)
        plots = page.locator("[data-role=figures] > div:not([hidden])")
        if frame["phase"] in ("verdict", "end"):
            shown = plots.last.bounding_box()["height"]
            assert shown == pytest.approx(
                min(frame["rows"] * messages.residual.PITCH, shown), abs=1
            )
        page.keyboard.press("ArrowRight")


def test_the_keys_are_listed_in_a_dialog(page):
    page.focus("[data-role=help]")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    listed = dialog.locator("dt").all_inner_texts()
    assert len(listed) >= len(labels.KEYS) and listed[0].split() == labels.KEYS[0][0].split()
    before = frame_of(page)
    page.keyboard.press("Home")
    assert frame_of(page) == before  # keys are the dialog's now
    page.keyboard.press("Escape")
    assert dialog.count() == 0
    assert page.evaluate("document.activeElement.dataset.role") == "help"
    page.focus("[data-role=frame]")
    page.keyboard.press("?")
    page.click("dialog[open] button")
    assert page.evaluate("document.activeElement.dataset.role") == "frame"


def test_tables_sort_and_the_nodes_row_is_marked(page, recorded):
    round = recorded.rounds[int(state(page, "round"))]
    page.click("[data-role=table-box] summary")
    column = list(labels.COLUMNS).index("proxy")
    cells = page.locator(f"[data-role=table] tbody td:nth-child({column + 1})")
    cells.first.wait_for()
    head = page.locator(f"[data-role=table] th:nth-child({column + 1})")
    head.locator("button").click()
    up = [float(t) for t in cells.all_inner_texts() if t]
    assert head.get_attribute("aria-sort") == "ascending"
    assert up == sorted(up) and up != sorted(up, reverse=True)
    head.locator("button").press("Enter")
    down = [float(t) for t in cells.all_inner_texts() if t]
    assert head.get_attribute("aria-sort") == "descending" and down == up[::-1]
    node = int(page.get_attribute("[data-role=panel]", "data-node"))
    here = page.locator("[data-role=table] tr.here td")
    assert here.nth(1).inner_text() == str(node)
    page.click("[data-role=ranking-box] summary")
    ranked = page.locator("[data-role=ranking] tbody tr")
    assert ranked.count() == len(messages.panel(recorded, round, node)["ranking"]["rows"])


def test_others_are_told_what_is_shown(page):
    page.evaluate("""() => {
      window.told = [];
      for (const what of ['round', 'frame', 'node', 'run'])
        document.addEventListener(`rheo:${what}`, ({ type, detail }) => told.push([type, detail]));
    }""")
    to_round(page, 1)
    page.keyboard.press("Home")
    page.evaluate("document.querySelector('[data-role=root]').parentElement.__rheo.choose(2)")
    told = page.evaluate("told")
    assert [what for what, _ in told] == ["rheo:frame", "rheo:round", "rheo:frame", "rheo:node"]
    assert told[-1][1] == {
        "key": page.evaluate(VIEW.replace("%s", "view.key")),
        "at": 1,
        "frame": 0,
        "node": 2,
    }


def test_less_motion_still_plays_without_a_tween(visit, address):
    page = visit(address, reduced_motion="reduce")
    stop_clock(page)
    page.keyboard.press("Home")
    page.click("[data-role=play]")
    page.clock.run_for(610)
    assert frame_of(page) == 1
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_touched_is_large_enough(visit, address, width):
    page = visit(address, viewport={"width": width, "height": 720})
    page.click("[data-role=begin]")
    for _ in range(30):
        if state(page, "asking") is not None:
            break
        page.keyboard.press("ArrowRight")
    buttons = page.locator(".rheo-bar button:visible, .rheo-guess button:visible")
    boxes = [buttons.nth(i).bounding_box() for i in range(buttons.count())]
    least = 40 if width < 821 else 36
    assert len(boxes) >= 11 and all(b["width"] >= least and b["height"] >= least for b in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = "(b) => b.ariaLabel || b.textContent.trim()"
    assert all(buttons.nth(i).evaluate(names) for i in range(buttons.count()))


def test_the_tree_is_seen_whole_while_stepping(page):
    page.click("[data-role=begin]")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        box = page.locator("[data-role=tree]").bounding_box()
        assert box["y"] + box["height"] <= 720
