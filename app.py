"""RheoScope's page: `python app.py [--host HOST] [--port PORT]`.

Wiring only: pages -> gr.Blocks -> launch. The model loads behind the page.
"""

import argparse
import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("NO_PROXY", "127.0.0.1,localhost")  # launch looks at its own address

import gradio as gr

from rheo.catalogue import DEFAULT
from visual import host, strings
from visual.pages import dilemma, playground
from visual.pages.models import MODELS
from visual.theme import theme

QUEUE = 16  # visitors that may wait for the model
SESSIONS = 100  # visitors whose last run is kept

if os.getenv("SPACES_ZERO_GPU"):  # there a model must be loaded before the page is served
    MODELS.want(DEFAULT, wait=True)


def page() -> gr.Blocks:
    """All pages in one Blocks."""
    blocks = gr.Blocks(title=strings.TITLE, fill_width=True, analytics_enabled=False)
    with blocks:
        status = playground.head()
        with gr.Tabs(elem_id="pages"):
            with gr.Tab(strings.PAGES["playground"], id="playground"):
                playground.build(status)
            with gr.Tab(strings.PAGES["dilemma"], id="dilemma-page"):
                dilemma.build()
    return blocks.queue(max_size=QUEUE, api_open=False)


def launch(blocks: gr.Blocks, server: str | None, port: int | None) -> None:
    """Serve, without blocking. Nothing is kept, shared or sent to another host."""
    blocks.launch(
        server_name=server,
        server_port=port,
        prevent_thread_lock=True,
        theme=theme(),
        css_paths=list(host.STYLES),
        run_history=False,
        ssr_mode=False,
        show_error=False,
        enable_monitoring=False,
        footer_links=[],
        state_session_capacity=SESSIONS,
        max_file_size="100kb",
        app_kwargs={"openapi_url": None, "docs_url": None, "redoc_url": None},
    )


def main() -> None:
    """Open the page first, then load the model."""
    parser = argparse.ArgumentParser(description=strings.TAGLINE)
    parser.add_argument("--host", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, help="port (default: the first free one from 7860)")
    asked = parser.parse_args()
    blocks = page()
    launch(blocks, asked.host, asked.port)
    MODELS.want(DEFAULT)
    blocks.block_thread()


if __name__ == "__main__":
    main()
