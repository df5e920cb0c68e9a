"""What stands between the network and Gradio: a guard that lets through what the page needs."""

from starlette.middleware import Middleware

from visual.server.guard import Guard
from visual.server.settings import Settings


def middleware(settings: Settings) -> list[Middleware]:
    """For `launch(app_kwargs={"middleware": ...})`."""
    return [Middleware(Guard, settings=settings)]
