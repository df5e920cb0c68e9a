"""RheoScope's page: `python app.py [--host HOST] [--port PORT]`.

Wiring only: settings -> pages -> gr.Blocks -> launch. The model loads behind the page.
"""

import argparse
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")  # it keeps a record of every event
os.environ["FORWARDED_ALLOW_IPS"] = ""  # the guard reads what a proxy says; uvicorn would before
os.environ.setdefault("NO_PROXY", "127.0.0.1,localhost")  # launch looks at its own address

import gradio as gr

from rheo.errors import RheoError
from visual import server
from visual.browser import component
from visual.pages import dilemma, playground
from visual.runtime.model_loader import MODELS
from visual.server import settings
from visual.server.settings import Settings
from visual.style.theme import theme
from visual.words import labels

SESSIONS = 100  # visitors whose last run is kept
SWITCH = 0.0005  # seconds a thread may keep the interpreter from one that answers a visitor
_THREADS = 40  # for quick answers, besides one for each visitor who waits for the model

if os.getenv("SPACES_ZERO_GPU"):  # there a model must be loaded before the page is served
    MODELS.want(settings.current().pair, wait=True)


def page() -> gr.Blocks:
    """Build all pages in one Blocks."""
    blocks = server.Page(title=labels.TITLE, fill_width=True, analytics_enabled=False)
    with blocks:
        status = playground.head()
        with gr.Tabs(elem_id="pages"):
            with gr.Tab(labels.PAGES["playground"], id="playground"):
                playground.build(status)
            with gr.Tab(labels.PAGES["dilemma"], id="dilemma-page"):
                dilemma.build()
    return blocks.queue(max_size=settings.current().queue + _THREADS, api_open=False)


def launch(blocks: gr.Blocks, wanted: Settings) -> None:
    """Serve, without blocking. Nothing is kept, shared or sent to another host."""
    blocks.launch(
        server_name=wanted.host,
        server_port=wanted.port,
        root_path=wanted.root_path,
        prevent_thread_lock=True,
        theme=theme(),
        css_paths=list(component.STYLES),
        run_history=False,
        ssr_mode=False,
        share=False,
        show_error=False,
        enable_monitoring=False,
        footer_links=[],
        state_session_capacity=SESSIONS,
        max_threads=_THREADS + wanted.queue,
        max_file_size="100kb",
        _app=server.GuardedApp(wanted, blocks),
    )
    server.hang_up_on_the_slow(blocks.server)


def arguments() -> argparse.Namespace:
    """Read what was typed; every other setting is an environment variable."""
    parser = argparse.ArgumentParser(
        description=labels.TAGLINE,
        epilog=f"environment variables:\n{settings.listing()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", help="port (default: the first free one from 7860)")
    parser.add_argument("--root-path", help="the path that a proxy in front cuts off")
    return parser.parse_args()


def main() -> None:
    """Open the page first, then load the model. A setting without sense ends it with code 2."""
    try:
        wanted = settings.configure(**vars(arguments()))
    except RheoError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    sys.setswitchinterval(SWITCH)
    blocks = page()
    launch(blocks, wanted)
    MODELS.want(wanted.pair)
    blocks.block_thread()


if __name__ == "__main__":
    main()
