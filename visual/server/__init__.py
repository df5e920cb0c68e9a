"""What stands between the network and Gradio: a guard that lets through what the page needs."""

from starlette.middleware import Middleware

from rheo.settings import Settings
from visual.server.guard import Guard


def middleware(settings: Settings) -> list[Middleware]:
    """For `launch(app_kwargs={"middleware": ...})`."""
    return [Middleware(Guard, settings=settings)]
