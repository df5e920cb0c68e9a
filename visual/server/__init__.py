"""What stands between the network and Gradio, and what the server's owner sets.

In come requests and environment variables; out go answers with headers that tell a browser what the
page may do, or one sentence of refusal. Read settings, then guard with headers, routes and
rate_limit, then limits.
"""

from starlette.middleware import Middleware

from visual.server.guard import Guard
from visual.server.settings import Settings


def middleware(settings: Settings) -> list[Middleware]:
    """Return what `launch(app_kwargs={"middleware": ...})` takes."""
    return [Middleware(Guard, settings=settings)]
