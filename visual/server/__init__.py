"""What stands between the network and Gradio, and what the server's owner sets.

In come requests and environment variables; out go answers with headers that tell a browser what the
page may do, or one sentence of refusal. Read settings, then guard with what it asks: hosts (which
names, which other sites), routes, rate_limit, connections (how many, how long), calls (what a call
looks like), sessions (whose it is), cached_answer (what is the same for everybody) and headers;
then limits.
"""

from typing import Any

import gradio as gr
from gradio.http_server import Server
from gradio.routes import App, ORJSONResponse
from starlette.types import Receive, Scope, Send

from visual.server.calls import shapes
from visual.server.connections import PatientProtocol
from visual.server.guard import Guard
from visual.server.settings import Settings
from visual.words import refusals


class Page(gr.Blocks):
    """Gradio's Blocks, for which a value that a component cannot take is one sentence: Gradio
    itself would log a traceback of it."""

    async def preprocess_data(self, *given: Any, **named: Any) -> list[Any]:
        try:
            return await super().preprocess_data(*given, **named)
        except Exception:
            raise gr.Error(refusals.BAD_VALUE, print_exception=False) from None

    async def postprocess_data(self, *given: Any, **named: Any) -> list[Any]:
        """Return the outputs without the methods that Gradio puts into an update: a component has
        one for each event, also where a prop has that name, and would be sent as its repr."""
        outputs: list[Any] = await super().postprocess_data(*given, **named)
        return [
            {key: value for key, value in output.items() if not callable(value)}
            if isinstance(output, dict)
            else output
            for output in outputs
        ]


class GuardedApp(App):
    """Gradio's application with the guard around all of it, its own middleware included."""

    def __init__(self, settings: Settings, blocks: gr.Blocks) -> None:
        closed = {"openapi_url": None, "docs_url": None, "redoc_url": None}
        super().__init__(default_response_class=ORJSONResponse, **closed)
        self._guard = Guard(super().__call__, settings, shapes(blocks))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)


def hang_up_on_the_slow(server: Server) -> None:
    """Let a running server's later connections have a time limit for the head of a request."""
    server.config.http_protocol_class = PatientProtocol
