"""A run saved as a page: all of it is in the file, and no text of a run can leave its place."""

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace

import pytest

from rheo.trace.schema import Run
from tests.visual import sample
from visual.browser import bundle, html_export, messages
from visual.round import fates
from visual.server import routes
from visual.words import recordings

HOSTILE = "</script><script>window.__xss=1</script><!--"
OUTSIDE = re.compile(r"https?:|//[a-z0-9-]+\.[a-z]|(?<!\w)url\(|@import|\bsrc=|\bhref=")


@pytest.fixture(scope="module")
def run() -> Run:
    """A run whose every text tries to end the element that it stands in."""
    made = sample.run(rounds=2, R=8, K=3)
    tokens = {**made.tokens, 0: HOSTILE, 4: f"${{window.__xss=1}} {HOSTILE}"}
    return replace(made, pair=HOSTILE, prompt=HOSTILE, note=HOSTILE, tokens=tokens)


@pytest.fixture(scope="module")
def payload(run) -> dict:
    return html_export.payload(run, 1)


@pytest.fixture(scope="module")
def parts(run, payload) -> tuple[str, str]:
    """The page before and behind plotly.js."""
    with pytest.MonkeyPatch.context() as patch:  # views are slow: they are made once
        patch.setattr(html_export, "payload", lambda run, show: payload)
        return html_export.page(run, 1)


@pytest.fixture(scope="module")
def page(parts) -> str:
    return "".join(parts)


def element(page: str, name: str) -> str:
    return re.search(rf'<script type="application/octet-stream" id="{name}">(.*?)</script>', page)[
        1
    ]


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text, validate=True))


def test_the_payload_comes_back_as_it_was(run, page, payload):
    got = json.loads(unpacked(element(page, "run")))
    assert got == json.loads(messages.dumps(payload))
    assert got["message"]["rounds"] == json.loads(
        messages.dumps([messages.a_round(run, r) for r in run.rounds])
    )
    assert got["message"]["show"] == 1 and got["message"]["note"] == HOSTILE


def test_every_view_that_a_step_asks_for_is_there(run, payload):
    answers = payload["answers"]
    for at, round in enumerate(run.rounds):
        walk = answers[f"run/{at}/0/walk"]
        assert set(walk) == {str(visit.node) for visit in round.visits}
        assert answers[f"run/{at}/0/table"]["rows"] and answers[f"run/{at}/0/ghosts"]["data"]
        others = set(range(len(round.nodes))) - {visit.node for visit in round.visits}
        assert {f"run/{at}/{node}/panel" for node in others} <= set(answers)


def test_a_large_run_leaves_out_what_is_farthest_from_the_walk(monkeypatch):
    monkeypatch.setattr(html_export, "_FIGURES", 3)
    run = sample.run(rounds=2, R=8, K=3)
    payload = html_export.payload(run, 0)
    panels = [key for key in payload["answers"] if key.endswith("/panel")]
    kept = [key for key in panels if "ghost" not in key]
    without = {key for key in kept if payload["answers"][key]["note"].endswith(recordings.ABSENT)}
    drawn = {key for key in kept if payload["answers"][key]["figures"]}
    assert len(drawn) <= 3 and without and not drawn & without
    for key in kept:
        _, at, node, _ = key.split("/")
        round, panel = run.rounds[int(at)], payload["answers"][key]
        assert panel["note"].startswith(fates.of(run, round, int(node)).sentence)
        if key in drawn:
            assert round.nodes[int(node)].parent in {visit.node for visit in round.visits}
    ghosts = sum(len(node.ghosts) for round in run.rounds for node in round.nodes)
    assert len(panels) - len(kept) == ghosts  # every pruned child has a panel too


def test_plotly_stands_between_the_two_parts(parts):
    before, behind = parts
    whole = before + html_export.library() + behind
    assert unpacked(element(whole, "library")) == routes.PLOTLY_JS.read_bytes()


def test_the_policy_lets_two_scripts_run_and_nothing_else(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    inline = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(inline) == 1
    digests = {
        base64.b64encode(hashlib.sha256(text).digest()).decode()
        for text in (inline[0].encode(), routes.PLOTLY_JS.read_bytes())
    }
    assert allowed == digests
    assert "unsafe-eval" not in policy and "script-src 'unsafe-inline'" not in policy


def test_nothing_in_the_file_leads_outside(page):
    assert OUTSIDE.search('<link href="https://x.org">')  # the check itself can fail
    assert not OUTSIDE.findall(page)


def test_a_hostile_text_stays_text(page, run):
    assert "__xss" not in page.replace("&lt;", "<").split("<main")[0].split("<title>")[0]
    tags = re.findall(r"</?script\b[^>]*>", page)
    assert tags == [
        '<script type="application/octet-stream" id="run">', "</script>",
        '<script type="application/octet-stream" id="library">', "</script>",
        "<script>", "</script>",
    ]  # fmt: skip
    broken = page.replace("&lt;/script&gt;", "</script>")
    assert len(re.findall(r"</?script\b[^>]*>", broken)) > 6  # unescaped, it would be seen


def test_what_needs_a_server_is_left_out(page):
    assert "history.replaceState" not in page
    online = {"page/address_link.js", "panel/what_if_panel.js", "panel/run_comparison.js"}
    assert online <= set(bundle.order("page/playground_page.js", bundle.sources()))
    assert not online & set(bundle.order(html_export.START, bundle.sources()))
