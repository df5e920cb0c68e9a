"""The guard around Gradio, errors and all: an ASGI application, so that streams pass untouched.

What is refused gets one sentence as plain text and no detail of the program. What is let through is
written anew where a visitor may not say it: where a request comes from, and whose session it is.
"""

import asyncio
import logging
import traceback
from collections import OrderedDict
from urllib.parse import parse_qs, urlencode

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visual.server import cached_answer, calls, connections, headers, routes, sessions
from visual.server.cached_answer import CachedAnswer
from visual.server.calls import Refused, Shape
from visual.server.hosts import Hosts
from visual.server.rate_limit import Buckets, address
from visual.server.settings import Settings
from visual.words import refusals

_LOG = logging.getLogger("rheoscope")
_SAME = 24  # answers that are the same for everybody, by route and host


class Guard:
    """An application that stands around another one: it refuses what the page never asks for, and
    adds headers to every answer.

    Args:
        app: Gradio's.
        known: the functions that can be called; see `calls.shapes`.
    """

    def __init__(self, app: ASGIApp, settings: Settings, known: dict[int, Shape]) -> None:
        self.app, self.settings, self.known = app, settings, known
        self.hosts, self.sessions = Hosts(settings), sessions.Sessions()
        self.buckets = Buckets(settings.rate)
        self.open = connections.OpenRequests(settings.connections)
        self._same: OrderedDict[tuple[str, ...], CachedAnswer] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # the page opens no web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        dressed = _Dressed(connections.taken(send), headers.policy(self.settings.frames))
        try:
            await self._answer(scope, receive, dressed)
        except Refused as refused:
            wanted = PlainTextResponse(refused.sentence, refused.status, refused.headers)
            await _say(wanted, scope, receive, dressed)
        except ConnectionAbortedError:
            return  # nobody is there to be told
        except Exception as error:  # Gradio's, of what a visitor sent: no traceback of it
            _LOG.error("%s failed: %s", scope["method"], _place(error))
        # it did, or Gradio's own answer to an error was kept back
        await _say(PlainTextResponse(refusals.FAILED, 500), scope, receive, dressed)

    async def _answer(self, scope: Scope, receive: Receive, send: "_Dressed") -> None:
        peer = address(scope.get("client"), scope["headers"], self.settings)
        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        cheap = routes.file(scope["method"], path)
        scope = self._named(scope, path)
        if not cheap and not self.buckets.take(peer):
            raise Refused(429, refusals.TOO_MANY, {"retry-after": "5"})
        with self.open.one(peer):
            answer = await cached_answer.of_file(path) if cheap else None
            if scope["method"] == "POST":
                await self._call(scope, path, peer, receive, send)
            elif isinstance(answer, CachedAnswer):
                await answer.response(scope["headers"])(scope, receive, send)
            elif answer is not None:
                await answer(scope, receive, send)
            elif routes.SAME.fullmatch(path):
                await self._for_everybody(scope, path, receive, send)
            elif stream := routes.STREAMS.fullmatch(path):
                await self._stream(scope, stream[2], peer, receive, send)
            else:
                await self.app({**scope, "query_string": b""}, receive, send)

    def _named(self, scope: Scope, path: str) -> Scope:
        """Return the request without what it may not say.

        Raises:
            Refused: it asks for another host, for nothing of the page's, or comes from the page of
                another site.
        """
        origin = next((v for name, v in scope["headers"] if name == b"origin"), None)
        named, host = self.hosts.asked(scope)
        if host is None:
            raise Refused(421, refusals.WRONG_HOST)
        if not routes.known(scope["method"], path):
            raise Refused(404, refusals.NOT_FOUND)
        writes = scope["method"] == "POST" and origin is not None
        if writes and not self.hosts.may_order(origin.decode("latin-1"), host):
            raise Refused(403, refusals.OTHER_SITE)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            raise Refused(400, refusals.BAD_REQUEST)
        if int(length) > 1024 * self.settings.body_kb:
            raise Refused(413, refusals.TOO_LARGE.format(limit=self.settings.body_kb))
        return named

    async def _call(self, scope: Scope, path: str, peer: str, receive: Receive, send: Send) -> None:
        """Let Gradio call a function, for the visitor's own session."""
        kb = self.settings.body_kb
        body = await calls.read(receive, 1024 * kb, str(kb))
        call = calls.parse(body, self.known, path.startswith(routes.JOIN))
        call["session_hash"] = self._session(scope, call["session_hash"], peer)
        del body
        again, length = calls.replay(call, receive)
        told = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
        had = (b"content-type", b"content-length", b"transfer-encoding", b"content-encoding")
        kept = [header for header in scope["headers"] if header[0] not in had]
        await self.app({**scope, "headers": [*kept, *told]}, again, send)  # with the page's link

    async def _stream(
        self, scope: Scope, named: str | None, peer: str, receive: Receive, send: Send
    ) -> None:
        """Let Gradio open a stream of the visitor's own session, for some time."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        sent = named or query.get("session_hash", [""])[0]
        if not sessions.is_name(sent):
            raise Refused(400, refusals.BAD_REQUEST)
        own = self._session(scope, sent, peer)
        path = scope["path"]
        if named is not None:
            path = f"{path[: -len(named)]}{own}"
        asked = urlencode({"session_hash": own}).encode()
        scope = {**scope, "path": path, "raw_path": path.encode(), "query_string": asked}
        try:
            async with asyncio.timeout(connections.STREAM_S):
                await self.app(scope, receive, send)
        except TimeoutError:
            raise ConnectionAbortedError("open for too long") from None

    def _session(self, scope: Scope, sent: str, peer: str) -> str:
        return self.sessions.name(sent, sessions.owner(scope["headers"], peer))

    async def _for_everybody(
        self, scope: Scope, path: str, receive: Receive, send: "_Dressed"
    ) -> None:
        """Answer with what Gradio answers to everybody who asks under this name."""
        if path in routes.GREETING and sessions.secret(scope["headers"]) is None:
            frames, root = self.settings.frames != "none", scope.get("root_path") or "/"
            send.extra.append(sessions.cookie(root, scope.get("scheme") == "https", frames))
        scope = {**scope, "query_string": b""}  # the browser's: Gradio has a `page` of its own
        told = (b"host", b"x-forwarded-host", b"x-forwarded-proto")
        named = [v.decode("latin-1") for name, v in scope["headers"] if name in told]
        key = (path, scope.get("scheme", ""), *named)
        if key not in self._same:
            kept = await cached_answer.record(self.app, {**scope, "method": "GET"}, receive)
            if kept.status != 200:
                raise Refused(kept.status or 500, refusals.FAILED)
            self._same[key] = kept.answer()
            while len(self._same) > _SAME:
                self._same.popitem(last=False)
        self._same.move_to_end(key)
        answer = self._same[key]
        if path == "/":
            send.policy = headers.policy(self.settings.frames, answer.body)
        await answer.response(scope["headers"])(scope, receive, send)


class _Dressed:
    """A `send` that puts our headers on the first message and keeps back the answer to an error."""

    def __init__(self, send: Send, policy: headers.Header) -> None:
        self._send, self.policy = send, policy
        self.extra: list[headers.Header] = []
        self.begun = self.held = self.ours = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            if message["status"] == 500 and b"json" not in kind and not self.ours:
                self.held = True
                return
            self.begun = True
            told = [*message["headers"], *headers.FIXED, self.policy, *self.extra]
            message = {**message, "headers": told}
        if not self.held:
            await self._send(message)


async def _say(answer: Response, scope: Scope, receive: Receive, send: _Dressed) -> None:
    """Send our own sentence, where nothing was sent before."""
    if not send.begun:
        send.held, send.ours = False, True
        await answer(scope, receive, send)


def _place(error: Exception) -> str:
    """Return the kind of an error and where it arose, on one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.name}, line {frame.lineno}"
