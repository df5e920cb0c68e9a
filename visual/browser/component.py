"""The viewer as Gradio's HTML component: a constant template, its script and its style.

plotly.js is the one inside the plotly package, served by the app itself; all data arrives as JSON
strings (`visual.browser.messages`), so that no text of a prompt or a token ever reaches a template.
"""

import functools
import html
from string import Template

import gradio as gr

from visual.browser import source_files
from visual.browser.bundle import bundle
from visual.server import routes
from visual.style.palette import MARKS
from visual.words import glossary, labels, recordings

SHEETS = (
    "viewer.css",
    "dilemma.css",
    "projector.css",
    "dilemma_projector.css",
    "cards.css",
    "metrics.css",
    "recorded.css",
    "forced_colors.css",
    "paper.css",
)
STYLES = tuple(source_files.path(name) for name in SHEETS)  # of all pages
COMPONENT = "{ element, props, trigger, watch }"  # what gr.HTML gives to a component's script


def viewer(value: str, common: str) -> gr.HTML:
    """Build the viewer. Its value is a message of `visual.browser.messages`; it asks with the event
    "ask" and is answered through the prop `reply`.

    Args:
        value: the run to open with, as JSON.
        common: `messages.common` as JSON.
    """
    return gr.HTML(
        value,
        html_template=template(),
        js_on_load=script("page/playground_page.js"),
        # without a slash in front: under the path that a reverse proxy serves the page at
        head=f'<script src="{routes.VENDOR.removeprefix("/")}"></script>',
        elem_id="viewer",
        apply_default_css=False,
        common=common,
        opened="",
        reply="",
        saved="",
    )


@functools.cache
def script(start: str) -> str:
    """Return the script of a component: what the module `start` exports, run once a mount."""
    return bundle(start, COMPONENT)


def template(place: str = "playground", level: int = 2) -> str:
    """Return viewer.html with its words; nothing in it depends on a run.

    Args:
        place: where the viewer stands, a key of `labels.DEAD_KEYS`.
        level: of its headings in the page's outline; those of the round's parts stand one below.
    """
    words = {key: html.escape(word) for key, word in labels.VIEWER.items()}
    return Template(source_files.text("viewer.html")).substitute(
        words,
        h=f"h{level}",
        hh=f"h{level + 1}",
        legend=legend(),
        keys_list=keys(place),
        save_menu=save_menu(),
        terms_head=html.escape(glossary.TERMS_HEAD),
        terms=terms(),
    )


def save_menu() -> str:
    """Return save_menu.html with its words."""
    words = {key: html.escape(word) for key, word in recordings.SAVE.items()}
    return Template(source_files.text("save_menu.html")).substitute(words)


def keys(place: str) -> str:
    """Return the keys that do something there as a list of terms, for the help dialog."""
    alive = [row for row in labels.KEYS if row[0] not in labels.DEAD_KEYS[place]]
    pairs = ((" ".join(map(_key, keys.split())), html.escape(act)) for keys, act in alive)
    return "".join(f"<dt>{keys}</dt><dd>{act}</dd>" for keys, act in pairs)


def terms() -> str:
    """Return the glossary, as a list of terms."""
    return "".join(
        f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in glossary.TERMS
    )


def opener() -> str:
    """Return the button that opens `idea_dialog`."""
    return f'<button type="button" data-role="what">{html.escape(glossary.WHAT)}</button>'


def idea_dialog() -> str:
    """Return "What is this?" as a dialog: the idea, the marks, the terms."""
    marks = (
        f"<dt>{_entry(sign, name, text, kind)}</dt><dd>{html.escape(text)}</dd>"
        for sign, name, text, kind in _marks()
    )
    words = {
        "idea_head": html.escape(glossary.HEAD),
        "idea": "".join(f"<p>{html.escape(text)}</p>" for text in glossary.PLAIN_WORDS),
        "marks_head": html.escape(glossary.MARKS_HEAD),
        "marks": "".join(marks),
        "terms_head": html.escape(glossary.TERMS_HEAD),
        "terms": terms(),
        "close": html.escape(labels.VIEWER["close"]),
    }
    return Template(source_files.text("idea_dialog.html")).substitute(words)


def _key(name: str) -> str:
    return f"<kbd>{html.escape(name)}</kbd>"


def legend() -> str:
    """Return what the marks mean, as HTML: shape, letter, name and meaning of each."""
    return "".join(_entry(*mark) for mark in _marks())


def _marks() -> list[tuple[str, str, str, str]]:
    """Return (sign, name, meaning, kind) of every mark."""
    kinds = [
        (f"{MARKS[kind].glyph}{MARKS[kind].letter}", labels.ORIGINS[kind], meaning, kind)
        for kind, meaning in labels.LEGEND_KINDS.items()
    ]
    return [*kinds, *((*mark, "verdict") for mark in labels.LEGEND_VERDICTS)]


def _entry(sign: str, name: str, meaning: str, kind: str) -> str:
    return (
        f'<span class="rheo-entry" data-kind="{kind}" title="{html.escape(meaning)}">'
        f"<i>{html.escape(sign)}</i>{html.escape(name)}</span>"
    )
