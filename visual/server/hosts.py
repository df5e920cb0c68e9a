"""The names that the server answers to, and the pages that it takes orders from.

A page of another site can be made to reach this server under a name of that site's own (DNS
rebinding), and Gradio writes the name that it was asked under into its page. So a request for any
other name is refused. What a proxy says of the name is believed only where the settings say that
one stands in front.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Scope

from visual.server.headers import Header
from visual.server.settings import Settings

_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]{2,45})\]|([\w.-]{1,253}))(?::(\d{1,5}))?", re.ASCII)
# headers by which Gradio, or what serves it, lets a request say where it comes from
_FORWARDED = (
    b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-gradio-server", b"forwarded",
)  # fmt: skip
_PORTS = {"http": "80", "https": "443"}


class Hosts:
    """The names of one server.

    >>> hosts = Hosts(Settings(hosts="rheo.example.org"))
    >>> [hosts.known(name) for name in ("localhost:7860", "[::1]", "rheo.example.org", "evil.org")]
    [True, True, True, False]
    """

    def __init__(self, settings: Settings) -> None:
        self.configured = set(settings.hosts)
        self._proxied = bool(settings.proxies)
        if settings.root_path and "//" in settings.root_path:
            self.configured.add(urlsplit(settings.root_path).hostname or "")
        self._machine = set()
        if settings.host is not None:  # it serves others too: by the machine's name, perhaps
            name = socket.gethostname().lower()
            self._machine = {settings.host.lower(), name, f"{name}.local"}

    def known(self, authority: str, own: str = "") -> bool:
        """Tell whether `authority`, a host with or without a port, is one of the server's.

        Args:
            own: the address of this machine that the request came in at.
        """
        name = _name(authority)
        if not name:
            return False
        if name == "localhost" or name in (own, *self._machine) or self._configures(name):
            return True
        address = _address(name)
        return address is not None and (address.is_loopback or address == _address(own))

    def may_order(self, origin: str, authority: str) -> bool:
        """Tell whether a page of `origin` may change anything here: one of this server's own.

        Args:
            authority: what the request was sent to.
        """
        try:
            parts = urlsplit(origin)
            port = str(parts.port or _PORTS[parts.scheme])
        except (ValueError, KeyError):
            return False
        name, (_, _, asked) = _name(parts.netloc), _split(authority)
        same = name == _name(authority) and port == (asked or _PORTS[parts.scheme])
        return bool(name) and (same or self._configures(name))

    def _configures(self, name: str) -> bool:
        parents = {f"*.{name.split('.', n)[-1]}" for n in range(1, name.count(".") + 1)}
        return bool(self.configured & {"*", name, *parents})

    def asked(self, scope: Scope) -> tuple[Scope, str | None]:
        """Return the request without what it may not say of where it comes from, and what it was
        sent to; None where that is no name of ours.
        """
        headers: list[Header] = scope["headers"]
        sent = _first(headers, b"host")
        server = scope.get("server") or ("", None)
        good = sent is None or self.known(sent, server[0])  # HTTP/1.0 names none
        forwarded = _first(headers, b"x-forwarded-host") if self._proxied else None
        told: list[Header] = []
        if forwarded is not None:
            good, sent = good and self.known(forwarded, server[0]), forwarded
            told.append((b"x-forwarded-host", forwarded.encode()))
        if self._proxied and _first(headers, b"x-forwarded-proto") in _PORTS:
            scheme = _first(headers, b"x-forwarded-proto") or "http"
            told.append((b"x-forwarded-proto", scheme.encode()))
            scope = {**scope, "scheme": scheme}
        kept = [header for header in headers if header[0] not in (*_FORWARDED, b"origin")]
        return {**scope, "headers": [*kept, *told]}, (sent or "") if good else None


def _first(headers: Iterable[Header], wanted: bytes) -> str | None:
    """Return the first entry of a header; None where it is not sent."""
    values = [value for name, value in headers if name == wanted]
    return values[0].decode("latin-1").split(",")[0].strip() if values else None


def _split(authority: str) -> tuple[str, str, str]:
    """Return IPv6 address, other name and port, each "" where there is none."""
    found = _AUTHORITY.fullmatch(authority)
    six, name, port = found.groups("") if found else ("", "", "")
    return six, name.lower().removesuffix("."), port


def _name(authority: str) -> str:
    six, name, port = _split(authority)
    return (six or name) if int(port or 0) < 65536 else ""


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
