"""The guard before Gradio: routes, bodies, rates, headers."""

import asyncio
import base64
import hashlib
import json
from urllib.parse import unquote

import httpx
import pytest

from visual.server import headers, routes, settings
from visual.server.calls import Shape
from visual.server.guard import Guard
from visual.server.rate_limit import MOST, Buckets, address
from visual.words import refusals

PAGE = b"<html><script>run(1)</script><script src='x.js'></script><script a>two\r\n</script></html>"


async def inner(scope, receive, send):
    """The page, or the length of what was sent, a sum over its chunks."""
    taken, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError("secret detail")  # as a framework does, and answers itself
        taken, more = taken + len(message.get("body", b"")), message.get("more_body", False)
    body = PAGE if scope["path"] == "/" else str(taken).encode()
    head = [(b"content-type", b"text/html"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def survives(scope, receive, send):
    """`inner`, with an answer of its own where the visitor seems to have gone."""
    try:
        await inner(scope, receive, send)
    except RuntimeError as error:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": str(error).encode()})


KNOWN = {7: Shape(inputs=1, event=False, queued=True), 8: Shape(1, True, False)}


def guarded(app, **environ: str) -> Guard:
    """A guard that knows two functions, around an app."""
    return Guard(app, settings.read(environ), KNOWN)


def a_call(**changes) -> dict:
    """What a page sends to have function 7 called."""
    return {"data": [""], "fn_index": 7, "session_hash": "abc", **changes}


def ask(method: str, path: str, guard: Guard | None = None, **options) -> httpx.Response:
    guard = guard or guarded(survives)
    if method == "POST" and not {"content", "json"} & set(options):
        options["json"] = a_call()
        if path.endswith("predict"):
            options["json"] = a_call(fn_index=8, event_data={})

    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app=guard)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **options)

    return asyncio.run(once())


def as_sent(method: str, path: str) -> tuple[int, bytes]:
    """Status and body for a path that no client has tidied up; % is decoded, as servers do."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": unquote(path), "headers": []}
    asyncio.run(guarded(inner)(scope, None, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


# Routes

OPEN = [
    ("GET", "/"), ("HEAD", "/"), ("GET", "/config"), ("GET", "/theme.css"),
    ("GET", "/assets/index-1_a.js"), ("GET", "/static/fonts/a/b.woff2"),
    ("GET", "/gradio_api/queue/data?session_hash=x"), ("GET", "/gradio_api/heartbeat/abc1"),
    ("POST", "/gradio_api/queue/join"), ("POST", "/gradio_api/run/predict"),
    ("GET", routes.VENDOR), ("GET", "/gradio_api/startup-events"),
]  # fmt: skip
CLOSED = [
    ("POST", "/gradio_api/upload"), ("POST", "/upload"), ("GET", "/gradio_api/upload_progress"),
    ("GET", "/docs"), ("GET", "/redoc"), ("GET", "/openapi.json"),
    ("GET", "/gradio_api/openapi.json"),
    ("GET", "/monitoring"), ("GET", "/monitoring/summary"), ("GET", "/monitoring/x"),
    ("GET", "/gradio_api/file=/etc/passwd"), ("GET", "/gradio_api/file=app.py"),
    ("GET", f"/gradio_api/file={routes.PLOTLY_JS}"),
    ("GET", f"/gradio_api/file={routes.PLOTLY_JS.parent}/../package_data/plotly.min.js"),
    ("GET", "/gradio_api/file=http://169.254.169.254/"), ("GET", "/file=/etc/passwd"),
    ("GET", "/gradio_api/proxy=http://127.0.0.1:1/"), ("GET", "/assets/../../app.py"),
    ("GET", "/assets/%2e%2e/%2e%2e/app.py"), ("GET", "/static/..%2f..%2fapp.py"),
    ("GET", "/static/..%5c..%5capp.py"), ("GET", "/static/a%00.css"), ("GET", "//etc/passwd"),
    ("GET", "/custom_component/1/client/component/x.js"), ("GET", "/svelte/svelte.js"),
    ("GET", "/gradio_api/deep_link"), ("GET", "/gradio_api/run-history/records"),
    ("GET", "/gradio_api/runs"), ("POST", "/gradio_api/run-history/connect"),
    ("POST", "/login"), ("GET", "/logout"), ("GET", "/gradio_api/token"),
    ("GET", "/gradio_api/app_id"),
    ("GET", "/gradio_api/dev/reload"), ("POST", "/gradio_api/process_recording"),
    ("POST", "/gradio_api/vibe-edit"), ("POST", "/gradio_api/stream/x"),
    ("POST", "/gradio_api/reset"), ("POST", "/gradio_api/cancel"),
    ("POST", "/gradio_api/call/decode"), ("POST", "/gradio_api/api/x"),
    ("POST", "/gradio_api/run/decode"), ("POST", "/gradio_api/component_server"),
    ("PUT", "/"), ("DELETE", "/config"), ("OPTIONS", "/gradio_api/upload"), ("TRACE", "/"),
    ("POST", "/vendor/plotly.min.js"), ("GET", "/gradio_api/heartbeat/../../app.py"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), OPEN)
def test_what_the_page_needs_is_open(method, path):
    assert ask(method, path).status_code == 200


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_everything_else_is_closed_and_says_nothing(method, path):
    status, body = as_sent(method, path)
    assert (status, body.decode()) == (404, refusals.NOT_FOUND)


def test_plotly_is_served_under_a_name_without_a_path():
    answer = ask("GET", routes.VENDOR)
    assert answer.status_code == 200 and len(answer.content) == routes.PLOTLY_JS.stat().st_size
    assert "javascript" in answer.headers["content-type"]


def test_web_sockets_are_closed():
    sent = []

    async def once():
        async def send(message):
            sent.append(message)

        await guarded(inner)({"type": "websocket", "path": "/"}, None, send)

    asyncio.run(once())
    assert sent == [{"type": "websocket.close", "code": 1008}]


# Bodies


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(100, 200), (16 * 1024, 200), (16 * 1024 + 1, 413)])
def test_bodies_have_a_limit_whether_they_say_their_length_or_not(chunked, size, status):
    guard = guarded(survives, RHEO_MAX_BODY_KB="16")
    whole = json.dumps(a_call()).encode()
    whole += b" " * (size - len(whole))

    async def parts():
        for start in range(0, len(whole), 1000):
            yield whole[start : start + 1000]

    answer = ask("POST", "/gradio_api/queue/join", guard, content=parts() if chunked else whole)
    assert answer.status_code == status
    if status == 200:
        assert int(answer.text) > 60
    else:
        assert answer.text == refusals.TOO_LARGE.format(limit=16)


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 40])
def test_a_length_that_is_none(length):
    answer = ask("POST", "/gradio_api/queue/join", headers={"content-length": length}, content=b"")
    assert answer.status_code == 400


# Rates


def test_an_address_that_asks_too_often_waits_and_others_do_not():
    guard = guarded(survives, RHEO_RATE="8", RHEO_PROXIES="1")

    def status(who: str, path: str = "/config") -> int:
        return ask("GET", path, guard, headers={"x-forwarded-for": f"6.6.6.6, {who}"}).status_code

    assert [status("1.1.1.1") for _ in range(4)] == [200, 200, 429, 429]
    assert status("2.2.2.2") == 200
    assert [status("1.1.1.1", "/assets/a.js") for _ in range(9)] == [200] * 9


def test_the_table_of_addresses_cannot_grow():
    buckets = Buckets(60, lambda: 0.0)
    for i in range(MOST + 500):
        assert buckets.take(str(i))
    assert len(buckets) == MOST


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        ("0", "1.1.1.1", "9.9.9.9"),
        ("1", "1.1.1.1", "1.1.1.1"),
        ("1", "forged, 1.1.1.1", "1.1.1.1"),
        ("2", "forged, 1.1.1.1, 2.2.2.2", "1.1.1.1"),
        ("2", "1.1.1.1", "9.9.9.9"),
        ("1", "", "9.9.9.9"),
        ("1", "x" * 500, "x" * 64),
    ],
)
def test_forwarded_for_is_believed_as_far_as_we_have_proxies(proxies, forwarded, expected):
    sent = [(b"x-forwarded-for", forwarded.encode())]
    wanted = settings.read({"RHEO_PROXIES": proxies})
    assert address(("9.9.9.9", 1), sent, wanted) == expected


# Headers


def test_every_answer_carries_the_headers():
    for method, path in [*OPEN[:4], *CLOSED[:3]]:
        answer = ask(method, path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "camera=()" in answer.headers["permissions-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_pages_own_scripts_are_allowed_by_hash_and_no_others():
    answer = ask("GET", "/")
    assert answer.content == PAGE and answer.headers["content-encoding"] == "gzip"
    rules = dict(
        rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; ")
    )
    assert "'unsafe-inline'" not in rules["script-src"]
    for script in (b"run(1)", b"two\n"):
        digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
        assert f"'sha256-{digest}'" in rules["script-src"]
    assert rules["script-src"].count("sha256") == 2
    assert "sha256" not in ask("GET", "/config").headers["content-security-policy"]


def test_who_may_frame_the_page_is_a_setting():
    assert headers.policy("none")[1].split(b"; ")[-1] == b"frame-ancestors 'self'"
    assert b"https://huggingface.co" in headers.policy(settings.SPACE_FRAMES)[1]
