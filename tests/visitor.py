"""A visitor without a browser: what anybody can send to the page's routes, and what comes back."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx

from rheo.params import DecodeParams
from visual.runtime import run_settings

PAIR = "smollm2-135m"


class Visitor:
    """One session of an app at `address`; every call is plain HTTP."""

    def __init__(self, address: str, session: str | None = None) -> None:
        self.http = httpx.Client(base_url=address, timeout=60, trust_env=False)
        self.session = session or secrets.token_hex(5)
        self.config = self.http.get("/config").json()

    def event(self, name: str) -> dict[str, Any]:
        """The page's event that calls the Python function `name`."""
        known = self.config["dependencies"]
        return next(d for d in known if d["api_name"] == name or d["api_name"] == name.lstrip("_"))

    def body(self, name: str, data: list[Any], payload: Any = None) -> dict[str, Any]:
        event = self.event(name)
        target = event["targets"][0]
        return {
            "data": data,
            "fn_index": event["id"],
            "event_data": payload,
            "session_hash": self.session,
            "trigger_id": target[0],
        }

    def call(self, name: str, data: list[Any], payload: Any = None) -> httpx.Response:
        """An event that does not queue."""
        return self.http.post("/gradio_api/run/predict", json=self.body(name, data, payload))

    def join(self, name: str, data: list[Any], payload: Any = None) -> httpx.Response:
        return self.http.post("/gradio_api/queue/join", json=self.body(name, data, payload))

    def messages(self) -> Iterator[dict[str, Any]]:
        """The queue's messages for this session, until it closes the stream."""
        with self.http.stream(
            "GET", "/gradio_api/queue/data", params={"session_hash": self.session}
        ) as stream:
            for line in _lines(stream.iter_bytes()):
                if line.startswith(b"data:"):
                    message = json.loads(line[5:])
                    yield message
                    if message["msg"] == "close_stream":
                        return

    def decode(self, values: list[Any]) -> Iterator[dict[str, Any]]:
        """Press Run; the viewer's messages, as the browser would get them.

        Args:
            values: prompt, pair, and the run's fields, in the page's order.
        """
        self.call("begin", [None])
        joined = self.join("decode", [None, *values])
        joined.raise_for_status()
        shown: Any = None
        for message in self.messages():
            if message["msg"] in ("process_generating", "process_completed"):
                output = message["output"]
                if message.get("success") is False:
                    yield {"type": "error", **output}
                elif data := output.get("data"):
                    shown = _patched(shown, data[0])
                    yield json.loads(shown)

    def said(self, values: list[Any]) -> str:
        """The sentence that a run ends with."""
        return [m for m in self.decode(values) if m.get("sentence")][-1]["sentence"]


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that end in a line feed alone: a text may hold other separators."""
    held = b""
    for chunk in chunks:
        *whole, held = (held + chunk).split(b"\n")
        yield from whole


def _patched(shown: Any, sent: Any) -> Any:
    """Gradio sends a string whole, or as a difference to the one before."""
    if not isinstance(sent, list):
        return sent
    for action, path, value in sent:
        assert not path and action in ("replace", "append"), sent
        shown = value if action == "replace" else shown + value
    return shown


def run_values(prompt="A lighthouse", pair=PAIR, **changes):
    """What a press of Run sends: prompt, pair and the fields, each at its default or as given."""
    good = DecodeParams()
    return [prompt, pair, *(changes.get(n, getattr(good, n)) for n in run_settings.FIELDS)]
