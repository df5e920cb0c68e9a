"""An answer that is the same for everybody: made once, packed once, and not sent again to a browser
that has it."""

import functools
import gzip
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import anyio
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope

from visual.server import routes
from visual.server.headers import Header

WEEK = "public, max-age=604800"
ALWAYS_ASK = "no-cache"  # a browser keeps it, and asks each time whether it is still the same
_LEAVES = (b"content-length", b"content-encoding", b"vary", b"etag", b"cache-control")


@dataclass(frozen=True)
class CachedAnswer:
    """A body with its headers.

    Attributes:
        body: not packed.
        media: its Content-Type.
        cache: its Cache-Control.
        more: other headers.
    """

    body: bytes
    media: str
    cache: str = ALWAYS_ASK
    more: tuple[Header, ...] = field(default=())

    @functools.cached_property
    def packed(self) -> bytes:
        """Return the body as gzip."""
        return gzip.compress(self.body, 6, mtime=0)

    @functools.cached_property
    def tag(self) -> str:
        """Return the entity tag, of the bytes themselves. Weak: packed and plain share it."""
        return f'W/"{hashlib.sha256(self.body).hexdigest()[:24]}"'

    def response(self, headers: Iterable[Header]) -> Response:
        """Return the answer to a request with these headers; 304 where the browser has it."""
        asked = dict(headers)
        known = asked.get(b"if-none-match", b"").decode("latin-1")
        common = {"etag": self.tag, "cache-control": self.cache, "vary": "accept-encoding"}
        if self.tag.removeprefix("W/") in known or known.strip() == "*":
            answer = Response(status_code=304, headers=common)
        elif b"gzip" in asked.get(b"accept-encoding", b""):
            packing = {"content-encoding": "gzip"}
            answer = Response(self.packed, headers=common | packing, media_type=self.media)
        else:
            answer = Response(self.body, headers=common, media_type=self.media)
        answer.raw_headers.extend(self.more)
        return answer


# recorded runs by path: made when first asked for, which is not done on the server's own thread
PUBLISHED: dict[str, Callable[[], CachedAnswer | None]] = {}


async def of_file(path: str) -> Response | CachedAnswer | None:
    """Return the answer that one of our own files is; None where there is none at this path."""
    if path == routes.VENDOR:
        return FileResponse(routes.PLOTLY_JS, headers={"cache-control": WEEK})
    if path not in PUBLISHED:
        return None
    return await anyio.to_thread.run_sync(PUBLISHED[path])


class Recorder:
    """A `send` that keeps an answer instead of sending it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[Header] = []
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self._body += message.get("body", b"")

    def answer(self) -> CachedAnswer:
        """Return what was kept."""
        had = dict(self.headers)
        more = tuple(
            header for header in self.headers if header[0] not in (*_LEAVES, b"content-type")
        )
        media = had.get(b"content-type", b"text/plain").decode("latin-1")
        return CachedAnswer(bytes(self._body), media, more=more)


async def record(app: ASGIApp, scope: Scope, receive: Receive) -> Recorder:
    """Return what the app answers, not packed."""
    plain = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
    kept = Recorder()
    await app({**scope, "headers": plain}, receive, kept)
    return kept
