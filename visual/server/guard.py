"""The guard in front of Gradio: a pure ASGI middleware, so that streams pass untouched."""

import functools
import gzip
from collections.abc import Callable

from starlette.responses import FileResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visual.server import headers, routes
from visual.server.rate_limit import Buckets, address
from visual.server.settings import Settings
from visual.words import refusals

_ACCEPT = b"accept-encoding"
WEEK = "public, max-age=604800"


class Guard:
    """A middleware that refuses what the page never asks for, bodies too large and addresses that
    ask too often, and adds headers.

    What is refused gets one sentence as plain text and no detail of the program.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.most = 1024 * settings.body_kb  # bytes of a body
        self.buckets = Buckets(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # the page opens no web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path in ("", "/"):
            send = _page(send, self._policy, b"gzip" in dict(scope["headers"]).get(_ACCEPT, b""))
            scope = {**scope, "query_string": b""}  # the browser's: Gradio has a `page` of its own
        else:
            send = _dressed(send, self._policy())
        refusal = self._refusal(scope, path or "/")
        if refusal is not None:
            await refusal(scope, receive, send)
        elif path == routes.VENDOR:
            await FileResponse(routes.PLOTLY_JS, headers={"cache-control": WEEK})(
                scope, receive, send
            )
        else:
            await self._counted(scope, receive, send)

    def _refusal(self, scope: Scope, path: str) -> PlainTextResponse | None:
        method, sent = scope["method"], scope["headers"]
        if not routes.known(method, path):
            return PlainTextResponse(refusals.NOT_FOUND, 404)
        if routes.file(method, path):
            return None
        if not self.buckets.take(address(scope.get("client"), sent, self.settings)):
            return PlainTextResponse(refusals.TOO_MANY, 429, {"retry-after": "5"})
        length = dict(sent).get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            return PlainTextResponse(refusals.BAD_REQUEST, 400)
        return self._too_large() if int(length) > self.most else None

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let Gradio answer, counting the body as it comes: not everybody says its length."""
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most:  # whoever reads it takes this for a visitor who has gone
                return {"type": "http.disconnect"}
            return message

        async def answer(message: Message) -> None:
            if taken <= self.most:
                await send(message)
            elif message["type"] == "http.response.start":
                await self._too_large()(scope, receive, send)

        await self.app(scope, counted, answer)

    def _too_large(self) -> PlainTextResponse:
        return PlainTextResponse(refusals.TOO_LARGE.format(limit=self.settings.body_kb), 413)

    def _policy(self, page: bytes = b"") -> headers.Header:
        return headers.policy(self.settings.frames, page)


def _dressed(send: Send, policy: headers.Header) -> Send:
    """Return `send` with our headers on the first message."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers.FIXED, policy]}
        await send(message)

    return dressed


def _page(send: Send, policy: Callable[[bytes], headers.Header], gzipped: bool) -> Send:
    """Return `send` for the page itself, held back until it is whole and its scripts are known.

    Gradio packs files by their suffix, which the page, the largest of all, has not: it is packed
    here.
    """
    begun: list[Message] = []
    body = bytearray()

    async def held(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun.append(message)
            return
        body.extend(message.get("body", b""))
        if not message.get("more_body"):
            whole, start = bytes(body), begun[0]
            security = policy(whole)
            if gzipped and whole:
                whole = _gzip(whole)
                start = {**start, "headers": _packed(start["headers"], len(whole))}
            await _dressed(send, security)(start)
            await send({"type": "http.response.body", "body": whole})

    return held


@functools.lru_cache(maxsize=4)  # the page is the same for everybody, at one address
def _gzip(page: bytes) -> bytes:
    return gzip.compress(page, 6)


def _packed(plain: list[headers.Header], length: int) -> list[headers.Header]:
    """Return the headers of a body that has been packed to `length` bytes."""
    kept = [(name, value) for name, value in plain if name != b"content-length"]
    packed = [(b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
    return [*kept, *packed, (b"content-length", str(length).encode())]
