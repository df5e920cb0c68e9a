"""Hostile input over HTTP: nothing is executed or told, and the app stays up.

Every refusal that a person may read is one sentence without a path, a traceback or a line break.
"""

import contextlib
import json

import httpx
import pytest

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace import io
from tests.browser.app_process import LOG, served
from tests.hostile import GIVES_AWAY, NUMBERS, TEXTS, one_sentence
from tests.visitor import PAIR, Visitor, run_values
from tests.visual import sample
from visual.runtime import run_settings
from visual.server import limits

# Values of a run


@pytest.mark.parametrize("field", run_settings.FIELDS)
@pytest.mark.parametrize("value", NUMBERS, ids=lambda v: repr(v)[:12])
def test_a_value_out_of_range_is_one_sentence(field, value):
    good = DecodeParams()
    values = [getattr(good, name) for name in run_settings.FIELDS]
    values[run_settings.FIELDS.index(field)] = value
    try:
        limits.check(PAIR, run_settings.params(tuple(values)))
    except RheoError as error:
        one_sentence(str(error))
    else:
        taken = type(value) in (int, float) and 0 <= value <= 10**6
        assert taken or (field == "S" and value is None)  # None: the whole vocabulary


# Over HTTP


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    traces = tmp_path_factory.mktemp("traces")
    io.save(sample.run(rounds=3), traces / "first.json.gz")
    with served(traces, RHEO_MAX_BODY_KB="2048", RHEO_RATE="0", RHEO_ROUND_S="0.01") as where:
        yield where


@pytest.fixture
def visitor(address):
    """A visitor; afterwards the page must still answer another one."""
    yield Visitor(address)
    other = Visitor(address)
    assert other.http.get("/").status_code == 200
    assert other.said(run_values())


@pytest.mark.slow
def test_hostile_prompts_end_in_a_sentence(visitor):
    for name, text in TEXTS.items():
        if name != "lone surrogate":  # which no client can write: below
            assert visitor.said(run_values(text))


def test_a_lone_surrogate_over_the_wire(visitor):
    body = json.dumps(visitor.body("decode", [None, *run_values("@")]))
    for escape in (b'"\\ud800"', b'"a\xed\xa0\x80"'):
        answer = visitor.http.post(
            "/gradio_api/queue/join",
            content=body.encode().replace(b'"@"', escape),
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 200
        end = [m for m in visitor.messages() if m["msg"] == "process_completed"][-1]
        assert end["success"] and not any(word in json.dumps(end) for word in GIVES_AWAY)


def test_values_out_of_range_over_the_wire(visitor):
    tried = [("R", 4000), ("R", "x"), ("R", True), ("R", [1]), ("m", 1e9), ("T", "hot"), ("T", -1)]
    tried += [("depth", 13), ("max_new_tokens", 10**6), ("seed", -1), ("S", {}), ("K", 2.5)]
    tried += [("strategy", "<img>"), ("strategy", None), ("probes", 10**18)]
    for field, value in tried:
        one_sentence(visitor.said(run_values(**{field: value})))
    for pair in ("nothing", None, 3, ["x"], {"a": 1}, "../../etc", "<script>"):
        one_sentence(visitor.said(run_values(pair=pair)))


def test_numbers_that_json_has_not_are_refused(visitor):
    body = json.dumps(visitor.body("decode", [None, *run_values(R="@")]))
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000):
        answer = visitor.http.post(
            "/gradio_api/queue/join",
            content=body.replace('"@"', number),
            headers={"content-type": "application/json"},
        )
        assert answer.status_code in (200, 400, 422)
        if answer.status_code == 200:
            ends = [m for m in visitor.messages() if m["msg"] == "process_completed"]
            assert "must be a whole number" in json.dumps(ends)


def test_wrong_bodies_of_every_event(visitor):
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    odd = [[], [None] * 40, ["x"] * 3, [file], [file] * 13]
    for event in visitor.config["dependencies"]:
        for data in odd:
            body = {
                "data": data, "fn_index": event["id"], "session_hash": visitor.session,
                "event_data": {"run": ["x"], "round": -1, "node": 10**30, "what": {"a": 1}},
            }  # fmt: skip
            answer = visitor.http.post("/gradio_api/run/predict", json=body)
            assert not any(word in answer.text for word in GIVES_AWAY), answer.text[:300]
            assert "root:" not in answer.text


def test_forged_events_and_sessions(visitor):
    body = visitor.body("decode", [None, *run_values()])
    for change in (
        {"fn_index": -1}, {"fn_index": 10**9}, {"fn_index": "x"}, {"fn_index": None}, {"data": "x"},
        {"data": {}}, {"session_hash": None}, {"session_hash": "x" * 10**5}, {"session_hash": {}},
        {"trigger_id": "x"}, {"event_data": "x"}, {"event_id": "forged"},
    ):  # fmt: skip
        answer = visitor.http.post(
            "/gradio_api/queue/join", json=body | change, headers={"connection": "close"}
        )
        assert not any(word in answer.text for word in GIVES_AWAY), answer.text[:300]
    for junk in (b"", b"{", b"[" * 100_000, b"\x00" * 1000, b"null"):
        answer = visitor.http.post(
            "/gradio_api/queue/join", content=junk, headers={"content-type": "application/json"}
        )
        assert 400 <= answer.status_code < 500
    told = b""
    with (
        contextlib.suppress(httpx.RemoteProtocolError),  # it hangs up on a session it does not know
        visitor.http.stream("GET", "/gradio_api/queue/data?session_hash=nobody") as stream,
    ):
        for chunk in stream.iter_bytes():
            told += chunk
    assert not any(word in told.decode() for word in GIVES_AWAY)


def test_a_run_belongs_to_its_visitor(visitor, address):
    """Its key is of no use to another session, and guesses of keys are of no use to anybody."""
    messages = list(visitor.decode(run_values()))
    key = next(m["key"] for m in messages if m.get("type") == "begin")
    ask = {"run": key, "round": 0, "node": 0, "what": "panel"}

    def answer(who: Visitor, asked: dict) -> object:
        sent = who.call("_ask", [None], asked)
        assert sent.status_code == 200
        return json.loads(sent.json()["data"][0]["props"]["reply"])["answer"]

    assert answer(visitor, ask) is not None
    assert answer(Visitor(address), ask) is None
    for run in ("", "recorded/..", "../first", ["recorded"], {"a": 1}, None, 10**30, "x" * 10**5):
        assert answer(visitor, ask | {"run": run}) is None


def test_an_answer_repeats_no_object(visitor):
    """Its key is made of what was asked for: text and whole numbers, nothing that Python shows."""
    for odd in ({"a": 1}, ["x"], 1.5, None, True, {"__class__": {}}):
        asked = dict.fromkeys(("run", "round", "node", "what"), odd)
        answer = visitor.call("_ask", [None], asked)
        assert " at 0x" not in answer.text
        assert json.loads(answer.json()["data"][0]["props"]["reply"])["key"] == "///"


PATHS = (
    "/gradio_api/file=/etc/passwd", "/gradio_api/file=app.py", "/gradio_api/file=../app.py",
    "/gradio_api/file=%2e%2e/app.py", "/gradio_api/file=/proc/self/environ",
    "/gradio_api/file=file:///etc/passwd", "/file=/etc/passwd", "/assets/../../../app.py",
    "/assets/..%2f..%2f..%2fapp.py", "/static/%2e%2e/%2e%2e/routes.py", "/static//etc/passwd",
    "/assets/....//....//app.py", "/static/..\\..\\app.py", "/theme.css/../config.py",
)  # fmt: skip


def test_paths_lead_nowhere(visitor, tmp_path):
    (tmp_path / "link.js").symlink_to("/etc/passwd")
    for path in (*PATHS, f"/gradio_api/file={tmp_path}/link.js"):
        raw = visitor.http.build_request("GET", "/")
        raw.url = raw.url.copy_with(raw_path=path.encode())
        answer = visitor.http.send(raw)
        assert answer.status_code in (403, 404), path
        assert "root:" not in answer.text and "import" not in answer.text


def test_uploads_are_closed(visitor):
    answer = visitor.http.post("/gradio_api/upload", files={"files": ("x.html", b"<script>")})
    assert answer.status_code == 404


def test_the_log_of_all_this_has_no_prompt_in_it(visitor):
    visitor.said(run_values("a very private prompt"))
    assert "very private" not in LOG.read_text(errors="replace")
