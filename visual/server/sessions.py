"""A visitor's session under a secret of ours.

Gradio keeps what it knows of a visitor under a name that the visitor's page makes up and writes
into addresses, where others may read it. Here that name is turned into another one, which also
depends on a cookie that only this browser has: whoever learns the name alone gets a session of
their own. A client that keeps no cookies is told apart by its address.
"""

import hashlib
import hmac
import re
import secrets
from http.cookies import CookieError, SimpleCookie

from visual.server.headers import Header

COOKIE = "rheoscope"
_SECRET = re.compile(r"[0-9a-f]{32}")
NAME = r"[A-Za-z0-9_]{1,64}"  # of a session, as a page may make it up


class Sessions:
    """The names of the sessions of one process.

    >>> sessions = Sessions()
    >>> a, b = sessions.name("x", "one browser"), sessions.name("x", "another")
    >>> a == b, a == sessions.name("x", "one browser"), len(a)
    (False, True, 32)
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def name(self, sent: str, owner: str) -> str:
        """Return what the session that a visitor calls `sent` is kept under.

        Args:
            owner: what tells the visitor from others; see `owner`.
        """
        text = f"{owner}\n{sent}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:32]


def is_name(sent: str) -> bool:
    """Tell whether a page may call its session this."""
    return bool(re.fullmatch(NAME, sent))


def owner(headers: list[Header], address: str) -> str:
    """Return what tells a visitor from others: the cookie, else the address."""
    return secret(headers) or f"at {address}"


def secret(headers: list[Header]) -> str | None:
    """Return the secret in a request's cookie, None where there is none of ours."""
    for name, value in headers:
        if name == b"cookie":
            try:
                found = SimpleCookie(value.decode("latin-1")).get(COOKIE)
            except CookieError:
                return None
            if found is not None and _SECRET.fullmatch(found.value):
                return found.value
    return None


def cookie(path: str, secure: bool, framed: bool) -> Header:
    """Return the header that gives a browser a new secret.

    Args:
        secure: the page is read over HTTPS.
        framed: pages of others may show it in a frame, where a browser keeps no plain cookie.
    """
    parts = [f"{COOKIE}={secrets.token_hex(16)}", f"Path={path}", "HttpOnly"]
    parts += ["Secure"] if secure else []
    parts += ["SameSite=None", "Partitioned"] if secure and framed else ["SameSite=Lax"]
    return b"set-cookie", "; ".join(parts).encode()
