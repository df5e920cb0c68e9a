"""Who may ask for what under which name, whose session it is, and what a mistake costs."""

import asyncio
import json
import logging

import pytest

from tests.visual.server.test_server import KNOWN, a_call, ask, guarded
from visual.server import calls, connections, routes, sessions, settings
from visual.server.calls import Refused
from visual.server.hosts import Hosts
from visual.words import refusals

JOIN, PREDICT = "/gradio_api/queue/join", "/gradio_api/run/predict"
ANSWERED = ("content-security-policy", "x-content-type-options", "permissions-policy")


async def echo(scope, receive, send):
    """What reached the application: path, query, headers and body, as JSON."""
    body = (await receive()).get("body", b"") if scope["method"] == "POST" else b""
    told = {
        "path": scope["path"],
        "query": scope["query_string"].decode(),
        "headers": [[k.decode("latin-1"), v.decode("latin-1")] for k, v in scope["headers"]],
        "body": json.loads(body or b"null"),
    }
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


# Names


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("127.0.0.1:7860", True), ("localhost", True), ("[::1]:7860", True), ("127.9.9.9", True),
        ("LOCALHOST.:80", True), ("evil.org", False), ("localhost.evil.org", False),
        ("192.168.1.5:7860", False), ("", False), ("a b", False), ("localhost:99999", False),
        ("localhost\\@evil.org", False), ("[::1", False), ("127.0.0.1.nip.io", False),
    ],
)  # fmt: skip
def test_another_name_is_refused(host, good):
    answer = ask("GET", "/config", guarded(echo), headers={"host": host})
    assert answer.status_code == (200 if good else 421)
    assert good or answer.text == refusals.WRONG_HOST
    assert all(name in answer.headers for name in ANSWERED)


def test_a_teacher_gives_the_address_of_this_machine_to_a_class():
    hosts = Hosts(settings.read({"RHEO_HOST": "0.0.0.0"}))
    assert hosts.known("192.168.1.5:8000", own="192.168.1.5")
    assert hosts.known("[fe80::1]:8000", own="fe80::1")
    assert hosts.known("192.168.1.5:8000", own="::ffff:192.168.1.5")
    assert not hosts.known("192.168.1.6:8000", own="192.168.1.5")


def test_names_are_configured():
    hosts = Hosts(settings.read({"RHEO_HOSTS": "rheo.example.org, *.class.net"}))
    assert hosts.known("rheo.example.org:443") and hosts.known("a.b.class.net")
    assert not hosts.known("class.net") and not hosts.known("x.rheo.example.org")
    assert Hosts(settings.read({"RHEO_HOSTS": "*"})).known("any.thing")
    assert Hosts(settings.read({"RHEO_ROOT_PATH": "https://a.org/rheo"})).known("a.org")


def test_nobody_says_where_a_request_comes_from():
    """Unless a proxy of ours does; and it too can say a name of ours alone."""
    said = {
        "x-forwarded-host": "evil.org", "x-forwarded-proto": "https", "x-gradio-server": "evil.org",
        "x-forwarded-for": "6.6.6.6", "forwarded": "host=evil.org", "origin": "https://evil.org",
    }  # fmt: skip
    assert "evil" not in ask("GET", "/config", guarded(echo), headers=said).text
    behind = guarded(echo, RHEO_PROXIES="1", RHEO_HOSTS="rheo.org")
    assert ask("GET", "/config", behind, headers=said).status_code == 421
    good = dict(
        ask("GET", "/config", behind, headers=said | {"x-forwarded-host": "rheo.org"}).json()[
            "headers"
        ]
    )
    assert (good["x-forwarded-host"], good["x-forwarded-proto"]) == ("rheo.org", "https")
    assert "x-gradio-server" not in good and "x-forwarded-for" not in good


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200), ("http://test", 200), ("https://rheo.org", 200), ("http://test:81", 403),
        ("http://evil.org", 403), ("null", 403), ("", 403), ("http://test.evil.org", 403),
        ("file://", 403), ("http://127.0.0.1", 403), ("http://test:x", 403),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [JOIN, PREDICT])
def test_another_sites_page_changes_nothing(path, origin, status):
    headers = {} if origin is None else {"origin": origin}
    answer = ask("POST", path, guarded(echo, RHEO_HOSTS="rheo.org"), headers=headers)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


# Sessions


def test_a_session_is_kept_under_a_secret():
    guard = guarded(echo)

    def reached(who: str | None, path: str = JOIN) -> str:
        headers = {} if who is None else {"cookie": f"a=b; {sessions.COOKIE}={who}"}
        told = ask("POST" if path == JOIN else "GET", path, guard, headers=headers).json()
        if path == JOIN:
            return told["body"]["session_hash"]
        return (told["query"] or told["path"]).replace("/", "=").rsplit("=", 1)[1]

    a, b = "a" * 32, "b" * 32
    assert reached(a) == reached(a) != reached(b)
    assert reached(None) not in (reached(a), reached(b), "abc")
    for stream in ("/gradio_api/heartbeat/abc", "/gradio_api/queue/data?session_hash=abc"):
        assert reached(a, stream) == reached(a) and reached(b, stream) == reached(b)
    assert reached("forged") == reached(None)


def test_a_browser_gets_its_secret_once():
    first = ask("GET", "/", guarded(echo))
    given = first.headers["set-cookie"]
    assert "HttpOnly" in given and "SameSite=Lax" in given
    again = ask("GET", "/", guarded(echo), headers={"cookie": given.split(";")[0]})
    assert "set-cookie" not in again.headers
    framed = guarded(echo, RHEO_FRAMES="https://huggingface.co", RHEO_PROXIES="1")
    sent = ask("GET", "/", framed, headers={"x-forwarded-proto": "https"}).headers["set-cookie"]
    assert "SameSite=None" in sent and "Secure" in sent and "Partitioned" in sent


# Calls


@pytest.mark.parametrize(
    "change",
    [
        {"fn_index": -1}, {"fn_index": 9}, {"fn_index": None}, {"fn_index": "7"}, {"fn_index": 7.5},
        {"fn_index": True}, {"data": []}, {"data": [1, 2]}, {"data": "x"}, {"data": None},
        {"session_hash": None}, {"session_hash": "x" * 65}, {"session_hash": "a b"},
        {"session_hash": {}}, {"session_hash": "é"}, {"event_data": "x"}, {"event_data": [1]},
        {"trigger_id": "x"}, {"trigger_id": -1}, {"fn_index": 8, "event_data": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_call_that_no_page_makes(change):
    answer = ask("POST", JOIN, guarded(echo), json=a_call(**change))
    assert (answer.status_code, answer.text) == (400, refusals.BAD_REQUEST)
    assert all(name in answer.headers for name in ANSWERED)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 99_999, b"\0" * 99, b"null", b"[]", b'{"data": NaN}', b"9" * 9999]
)
def test_a_body_that_is_no_call(body):
    answer = ask("POST", JOIN, guarded(echo), content=body)
    assert (answer.status_code, answer.text) == (400, refusals.BAD_REQUEST)


def test_what_waits_in_the_queue_is_not_called_beside_it():
    assert ask("POST", PREDICT, guarded(echo), json=a_call()).status_code == 400
    assert calls.parse(json.dumps(a_call()).encode(), KNOWN, queued=True)["fn_index"] == 7


def test_what_else_a_call_says_goes_nowhere():
    sent = a_call(batched=True, event_id="x", oauth_token="x", simple_format=True, request={})
    body = ask("POST", JOIN, guarded(echo), json=sent).json()["body"]
    assert set(body) == {"data", "fn_index", "session_hash", "event_data", "trigger_id"}


# Errors


async def raises(scope, receive, send):
    raise OSError("secret detail")


async def says_and_raises(scope, receive, send):
    head = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 500, "headers": head})
    await send({"type": "http.response.body", "body": b"Traceback secret detail"})
    raise OSError("secret detail")


@pytest.mark.parametrize("app", [raises, says_and_raises])
@pytest.mark.parametrize("path", ["/", "/robots.txt", "/gradio_api/heartbeat/a", "/config"])
def test_an_error_of_gradios_is_one_sentence(app, path, caplog):
    with caplog.at_level(logging.DEBUG):
        answer = ask("GET", path, guarded(app))
    assert (answer.status_code, answer.text) == (500, refusals.FAILED)
    assert all(name in answer.headers for name in ANSWERED)
    assert "secret" not in caplog.text and "Traceback" not in caplog.text


def test_long_names_of_files_are_no_files():
    for path in (f"/static/{'a' * 300}", "/assets" + "/a" * 300, "/static/" + "a/" * 9):
        assert ask("GET", path, guarded(raises)).status_code == 404


# Time and number


def test_half_a_body_is_given_up(monkeypatch):
    monkeypatch.setattr(calls, "BODY_S", 0.05)

    async def never():
        await asyncio.sleep(5)

    with pytest.raises(Refused) as caught:
        asyncio.run(calls.read(never, 99, "99"))
    assert (caught.value.status, caught.value.sentence) == (408, refusals.TOO_SLOW)


def test_a_stream_that_nobody_takes_and_one_that_never_ends(monkeypatch):
    monkeypatch.setattr(connections, "TAKE_S", 0.05)
    monkeypatch.setattr(connections, "STREAM_S", 0.05)
    ended = []

    async def stream(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
                await asyncio.sleep(0.01)
        finally:
            ended.append(scope["path"])

    async def slow(message):
        await asyncio.sleep(5)

    async def quick(message):
        pass

    scope = {
        "type": "http", "method": "GET", "path": "/gradio_api/heartbeat/a", "headers": [],
        "query_string": b"",
    }  # fmt: skip
    for send in (slow, quick):
        asyncio.run(asyncio.wait_for(guarded(stream)(scope, None, send), 3))
    assert len(ended) == 2


def test_one_address_cannot_hold_every_connection():
    guard = guarded(echo, RHEO_CONNECTIONS="2")
    with guard.open.one("127.0.0.1"), guard.open.one("127.0.0.1"):
        assert ask("GET", "/config", guard).status_code == 429
    assert ask("GET", "/config", guard).status_code == 200


# The same for everybody


def test_the_page_is_made_once_and_not_sent_twice():
    made = []

    async def page(scope, receive, send):
        made.append(scope["path"])
        await echo(scope, receive, send)

    guard = guarded(page)
    first = ask("GET", "/?page=x", guard)
    tag = first.headers["etag"]
    assert ask("GET", "/?other", guard).content == first.content and made == ["/"]
    known = ask("GET", "/", guard, headers={"if-none-match": tag})
    assert (known.status_code, known.content) == (304, b"")
    assert all(name in known.headers for name in ANSWERED)
    assert ask("GET", "/", guard, headers={"host": "localhost"}).status_code == 200
    assert made == ["/", "/"], "another host has another page"


def test_every_route_is_bounded():
    for path in ("/config", "/gradio_api/info", "/favicon.ico", routes.VENDOR):
        assert routes.known("GET", path) and not routes.known("GET", f"{path}/{'x' * 200}")
