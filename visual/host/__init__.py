"""The one component that shows a run: a constant template, its script and its style as files.

plotly.js is the one inside the plotly package, served by the app itself; all data arrives as JSON
strings (`visual.wire`), so that no text of a prompt or a token ever reaches a template.
"""

import html
from pathlib import Path
from string import Template

import gradio as gr
import plotly

from visual import strings
from visual.palette import MARKS

HERE = Path(__file__).parent
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
STYLES = (HERE / "host.css", HERE / "dilemma.css")  # of all pages
SCRIPTS = ("host.js", "draw.js", "panel.js", "hands.js")  # one scope; the last starts the viewer


def viewer(value: str, common: str) -> gr.HTML:
    """The viewer. Its value is a message of `visual.wire`; it asks with the event "ask" and is
    answered through the prop `reply`.

    Args:
        value: the run to open with, as JSON.
        common: `wire.common` as JSON.
    """
    gr.set_static_paths([PLOTLY_JS])
    return gr.HTML(
        value,
        html_template=template(),
        js_on_load=script(),
        head=f'<script src="/gradio_api/file={PLOTLY_JS}"></script>',
        elem_id="viewer",
        apply_default_css=False,
        common=common,
        reply="",
    )


def script() -> str:
    """All of `SCRIPTS` as one function body."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)


def template() -> str:
    """host.html with its words; nothing in it depends on a run."""
    words = {key: html.escape(word) for key, word in strings.VIEWER.items()}
    return Template((HERE / "host.html").read_text(encoding="utf-8")).substitute(
        words, legend=legend()
    )


def legend() -> str:
    """What the marks mean, as HTML: shape, letter, name and meaning of each."""
    kinds = [
        _entry(f"{MARKS[kind].glyph}{MARKS[kind].letter}", strings.ORIGINS[kind], meaning, kind)
        for kind, meaning in strings.LEGEND_KINDS.items()
    ]
    verdicts = [_entry(*entry, "verdict") for entry in strings.LEGEND_VERDICTS]
    return "".join([*kinds, *verdicts])


def _entry(sign: str, name: str, meaning: str, kind: str) -> str:
    return (
        f'<span class="rheo-entry" data-kind="{kind}" title="{html.escape(meaning)}">'
        f"<i>{html.escape(sign)}</i>{html.escape(name)}</span>"
    )
