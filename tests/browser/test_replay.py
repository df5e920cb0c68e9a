"""Recorded runs, traces of one's own, and what is saved of a run: as a person does it."""

import base64
import csv
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from io import StringIO

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.browser.viewer import MARKS, VIEW, at_round, at_state, same_tree, state
from tests.visual import sample
from visual.pages import recorded_runs
from visual.round import round_table
from visual.tree import nodes
from visual.words import labels, recordings, sentences

pytestmark = pytest.mark.browser

DROP = """([name, data]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  for (const kind of ['dragenter', 'dragover', 'drop']) {
    const event = new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
    if (kind === 'dragover') window.seen = !document.querySelector('[data-role=drop]').hidden;
  }
}"""
ENTRIES = {"one": 1, "two": 2, "hostile": 0}  # name: round to open
HOSTILE = "</script><img src=x onerror=window.__xss=1>${window.__xss=1}"


@pytest.fixture(scope="module")
def runs():
    """What is shipped in this test."""
    made = {
        name: sample.run(rounds=3, R=24, K=4, depth=4, seed=9 + i) for i, name in enumerate(ENTRIES)
    }
    made = {name: replace(run, note=f"Round 2 of {name}.") for name, run in made.items()}
    tokens = {**made["hostile"].tokens, 4: HOSTILE}
    params = {**made["one"].params, "strategy": "topk", "T": 0.7, "m": 2, "S": 32}
    made["one"] = replace(made["one"], params=params, prompt="Of the first")
    made["hostile"] = replace(
        made["hostile"], tokens=tokens, prompt=HOSTILE, note=HOSTILE, pair=HOSTILE
    )
    return made


@pytest.fixture(scope="module")
def address(tmp_path_factory, recorded, runs):
    """The app with a gallery."""
    traces = tmp_path_factory.mktemp("gallery")
    io.save(recorded, traces / "first.json.gz")
    entries = []
    for name, run in runs.items():
        io.save(run, traces / f"{name}.json.gz")
        entries.append(
            {"name": name, "title": f"Title of {name}", "sentence": "<b>It is.</b> ${1}"}
        )
        entries[-1]["round"] = ENTRIES[name]
    (traces / "index.json").write_text(json.dumps(entries))
    with served(traces) as where:
        yield where


def open_item(page, name):
    if not page.locator("[data-role=items]").is_visible():
        page.click("[data-role=gallery] summary")
    page.click(f"[data-role=items] [data-name={name}]")
    page.wait_for_selector(f"[data-role=items] [data-name={name}][aria-current]")
    at_round(page, ENTRIES[name])


def said(page, sentence):
    page.wait_for_function(
        "(s) => document.querySelector('[data-role=state]').textContent.includes(s)", arg=sentence
    )


def drop(page, name, blob):
    page.evaluate(DROP, [name, base64.b64encode(blob).decode()])


def test_every_recorded_run_opens_at_its_round(visit, address, runs):
    page = visit(address)
    assert page.locator("[data-role=items] button").count() == len(runs)
    for name, run in runs.items():
        open_item(page, name)
        round = run.rounds[ENTRIES[name]]
        assert not same_tree(run, round, page.evaluate(MARKS))
        assert page.inner_text("[data-role=headline]")
        assert page.inner_text("[data-role=about]") == run.note
        assert page.text_content("[data-role=prompt]") == run.prompt
        assert page.locator("[data-role=items] [aria-current]").count() == 1
        page.keyboard.press("Escape")
    shown = page.locator("[data-role=items] button").first.inner_text()
    assert shown == "Title of one\n<b>It is.</b> ${1}"


@pytest.mark.parametrize("name", ENTRIES)
def test_a_link_to_a_recorded_run_keeps_its_round_and_step(visit, address, name):
    page = visit(address, f"?trace={name}&round=3&step=2&lock=seed")
    page.wait_for_function("window.rheoscope.held.open")
    page.wait_for_selector("[data-role=root][data-round='2'][data-frame='1']")
    page.wait_for_function("location.search.includes('step=2')")
    assert f"trace={name}" in page.url and "round=3" in page.url


def test_the_controls_take_the_settings_of_the_run(visit, address):
    page = visit(address)
    open_item(page, "one")
    page.wait_for_function("document.querySelector('#T input[type=number]').value === '0.7'")
    assert page.input_value("#prompt textarea") == "Of the first"
    assert page.input_value("#m input[type=number]") == "2"
    assert page.input_value("#strategy input") == labels.STRATEGY_NAMES["topk"]


def test_a_run_being_decoded_gives_way_to_the_one_opened(visit, address, runs):
    page = visit(address)
    page.fill("#prompt textarea", "a long run")
    page.click("#run")
    page.wait_for_function("document.querySelector('[data-role=root]').dataset.rounds >= 2")
    open_item(page, "two")
    page.wait_for_timeout(1500)  # rounds of the run that was left would come now
    assert (
        state(page, "rounds") == str(len(runs["two"].rounds)) and state(page, "state") == "recorded"
    )
    assert page.inner_text("[data-role=state]").startswith("Title of two. ")
    page.click("#run")
    at_state(page, "running")
    page.click("#stop")
    at_state(page, "done")


@pytest.mark.parametrize("packed", [True, False])
def test_a_trace_is_dropped_or_chosen(visit, address, packed):
    page = visit(address)
    run = sample.run(rounds=2, R=16, K=3, seed=40)
    blob, name = io.dumps(run, packed), "own.json.gz" if packed else "own.json"
    if packed:
        drop(page, name, blob)
        assert page.evaluate("window.seen") and not page.is_visible("[data-role=drop]")
    else:
        page.set_input_files("[data-role=file]", {"name": name, "mimeType": "", "buffer": blob})
    said(page, recordings.OPENED.format(pair="sample", stop=labels.STOPS[run.stop]))
    at_round(page, 0)
    assert not same_tree(run, run.rounds[0], page.evaluate(MARKS))
    page.keyboard.press("]")
    at_round(page, 1)
    page.wait_for_selector("[data-role=panel]:not(.late)")  # the server knows the run
    assert page.inner_text("[data-role=title]")


@pytest.mark.slow
def test_what_is_no_trace_is_one_sentence_and_the_shown_run_stays(visit, address, runs):
    page = visit(address)
    open_item(page, "two")
    good = io.dumps(runs["one"], packed=True)
    huge = b'{"schema": "rheoscope-trace", "x": "' + b" " * (recorded_runs.PLAIN + 10)
    for blob, part in (
        (b"hello", "not a trace"),
        (b"", "not a trace"),
        (good[: len(good) // 2], "trace"),
        (HOSTILE.encode(), "not a trace"),
        (huge, "larger than the 16.0 MB"),
        (
            io.dumps(runs["one"], packed=False).replace(b'"note":"', b'"odd":1,"note":"'),
            "odd",
        ),
    ):
        drop(page, "own.json", blob)
        said(page, part)
        sentence = page.inner_text("[data-role=state]")
        assert state(page, "state") == "wrong" and sentence.endswith(".") and len(sentence) < 160
        assert state(page, "rounds") == "3" and state(page, "round") == str(ENTRIES["two"])
    page.keyboard.press("[")
    at_round(page, 1)


def saved(page, what, folder):
    if not page.locator(f"[data-save={what}]").is_visible():
        page.click("[data-role=save] summary")
    with page.expect_download() as waiting:
        page.click(f"[data-save={what}]")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    page.wait_for_function(
        "(s) => document.querySelector('[data-role=saved]').textContent === s",
        arg=recordings.SAVING["saved"].replace("{name}", path.name),
    )
    return path


def test_the_run_is_saved_as_trace_table_and_pictures(visit, address, runs, tmp_path):
    page = visit(address)
    open_item(page, "one")
    run, round = runs["one"], runs["one"].rounds[1]
    path = saved(page, "json", tmp_path)
    assert path.name == "rheoscope-gallery-one.json.gz"
    assert io.load(path) == io.loads(io.dumps(run, packed=True))
    path = saved(page, "csv", tmp_path)
    assert path.name == "rheoscope-gallery-one-round-2.csv"
    back = list(csv.DictReader(StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    rows = round_table.rows(run, round)
    for got, wanted in zip(back, rows, strict=True):
        assert got[labels.COLUMNS["token"]] == wanted["token"]
        assert got[labels.COLUMNS["verdict"]] == (wanted["verdict"] or "")
    picture = ET.fromstring(saved(page, "svg", tmp_path).read_text(encoding="utf-8"))
    drawn = "".join(picture.itertext())
    assert picture.tag.endswith("}svg") and sentences.name(run, round.root, nodes.GLYPHS) in drawn
    title = recordings.SAVING["picture"].format(at=2, count=len(run.rounds))
    for told in (title, run.prompt, "T = 0.7", labels.ORIGINS["probe"], labels.ORIGINS["bonus"]):
        assert told in drawn, told  # the picture says by itself what it shows
    size = [float(picture.get(side)) for side in ("width", "height")]
    png = saved(page, "png", tmp_path).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found = [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)]
    assert found == pytest.approx([2 * side for side in size], abs=2)


def test_the_saved_page_steps_without_a_server(visit, address, browser, runs, tmp_path):
    page = visit(address)
    open_item(page, "hostile")
    live = page.evaluate(MARKS)
    path = saved(page, "html", tmp_path)
    assert path.stat().st_size < 4_000_000
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720})
    away, asked, wrong = context.new_page(), [], []
    away.on("request", lambda request: asked.append(request.url))
    away.on("pageerror", lambda error: wrong.append(str(error)))
    away.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    away.set_default_timeout(60_000)
    away.goto(path.as_uri())
    at_round(away, 0)
    run = runs["hostile"]
    assert away.evaluate(MARKS) == live and not same_tree(run, run.rounds[0], live)
    steps = away.evaluate(VIEW.replace("%s", "view.rounds.map((round) => round.frames.length)"))
    away.uncheck("[data-role=guessing]")
    for at, count in enumerate(steps):
        away.keyboard.press("Home")
        assert state(away, "frame") == "0"
        for _ in range(count - 1):
            away.keyboard.press("ArrowRight")
        assert state(away, "frame") == str(count - 1)
        away.wait_for_selector("[data-role=panel]:not(.late)")
        assert not same_tree(run, run.rounds[at], away.evaluate(MARKS))
        away.keyboard.press("]")
        at_round(away, min(at + 1, len(steps) - 1))
    away.click("[data-role=table-box] summary")
    away.wait_for_selector("[data-role=table] td")
    assert away.text_content("[data-role=about]") == HOSTILE
    assert away.evaluate("window.__xss") is None and not wrong
    outside = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
    assert asked[0] == path.as_uri() and not outside
    context.close()


def test_the_menu_works_by_keyboard(visit, address, tmp_path):
    page = visit(address)
    page.focus("[data-role=save] summary")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.save") == "json"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.save") == "png"
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename.endswith(".png")
    page.keyboard.press("Escape")
    assert not page.is_visible("[data-save=png]")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_nothing_hangs_over_the_side_of_a_phone(visit, address):
    page = visit(address, viewport={"width": 390, "height": 844})
    open_item(page, "one")
    page.click("[data-role=save] summary")
    box = page.locator(".rheo-files").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
