"""Hostile text in a real browser: nothing of it is executed, and the headers do not break the page.

`visit` fails a test whose page ran something (`window.__xss`) or wrote an error to its console, a
breach of the Content-Security-Policy among them.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.hostile import MARK, TEXTS
from tests.visitor import Visitor, run_values
from tests.visual import sample

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LONG = ("a megabyte", "lone surrogate")  # the first for the server's tests, the second for no page
PRESS = "document.querySelectorAll('#go, #send').forEach(it => it.click())"
SHOWN = [text for name, text in TEXTS.items() if name not in LONG]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Iterator[str]:
    """The app, opening with a run whose every token is hostile."""
    traces = tmp_path_factory.mktemp("hostile")
    made = sample.run(rounds=3, R=14, K=4, depth=3)
    tokens = {t: SHOWN[i % len(SHOWN)] for i, t in enumerate(made.tokens)}
    run = replace(made, tokens=tokens, prompt=" ".join(SHOWN), text="".join(SHOWN))
    io.save(run, traces / "first.json.gz")
    with served(traces) as where:
        yield where


def test_hostile_tokens_are_shown_as_text_in_every_view(visit, hostile):
    page = visit(hostile)
    for _ in range(2):
        page.keyboard.press("]")
        page.keyboard.press("Home")
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_timeout(1500)
    assert page.evaluate("window.__xss") is None
    made = "#viewer img, #viewer iframe, #viewer script, #viewer a[href^=java]"
    assert page.locator(made).count() == 0
    assert "onerror" in page.locator("#viewer").inner_text()


@pytest.mark.parametrize("texts", [SHOWN[:8], SHOWN[8:]], ids=["markup", "characters"])
def test_hostile_prompts_are_shown_as_text(visit, hostile, texts):
    page = visit(hostile)
    page.locator("#prompt textarea").fill("long " + " ".join(texts))
    page.locator("#run").click()
    page.wait_for_selector("[data-state=running]")
    page.locator("#stop").click()
    page.wait_for_selector("#viewer [data-state=done]")
    assert page.evaluate("window.__xss") is None


BROKEN_IN = {
    "handler": f"<img src=x onerror={MARK}>",
    "frame": "<iframe srcdoc='<script>parent.__xss=1</script>'></iframe>",
    "link": f"<a id=go href='javascript:{MARK}'>x</a>",
    "form": "<form action='https://evil.invalid/'><button id=send>x</button></form>",
    "object": "<object data='data:text/html,<script>parent.__xss=1</script>'></object>",
}


def test_the_policy_stops_what_a_view_would_let_through(browser, hostile):
    """The second wall, with the first one taken away: markup is put into the page as it is."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if "Content Security" in m.text else None)
    page.goto(hostile)
    page.wait_for_selector("[data-drawn]")
    for what, markup in BROKEN_IN.items():
        said.clear()
        page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", markup)
        page.evaluate(PRESS)
        page.wait_for_timeout(500)
        assert page.evaluate("window.__xss") is None and page.url.startswith(hostile), what
        assert said, f"the browser has to say that it stopped the {what}"
        page.evaluate("document.body.lastElementChild.remove()")
    made = "text => document.body.append(Object.assign(document.createElement('script'), {text}))"
    page.evaluate(made, MARK)
    assert page.evaluate("window.__xss") is None
    context.close()


def test_another_site_may_not_frame_the_page(browser, hostile):
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text))
    page.set_content(f"<iframe src='{hostile}'></iframe>")
    page.wait_for_timeout(3000)
    assert any("frame-ancestors" in text for text in said), said
    context.close()


def test_who_waits_reads_how_many_are_ahead(visit, hostile):
    """Two visitors before this one; each that leaves brings it one place nearer."""
    others = [Visitor(hostile) for _ in range(2)]
    for other in others:
        runs = other.decode(run_values("a long one"))
        next(runs)
        threading.Thread(target=lambda runs=runs: list(runs), daemon=True).start()
    page = visit(hostile)
    page.locator("#run").click()
    page.wait_for_selector("text=ahead of you")
    for other in others:
        other.call("stop", [None])
    page.wait_for_selector("[data-state=running], #viewer [data-state=done]")
