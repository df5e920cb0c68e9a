"""The one component that shows a run: a constant template, its script and its style as files.

plotly.js is the one inside the plotly package, served by the app itself; all data arrives as JSON
strings (`visual.browser.messages`), so that no text of a prompt or a token ever reaches a template.
"""

import html
from string import Template

import gradio as gr

from visual.browser import source_files
from visual.server import routes
from visual.style.palette import MARKS
from visual.words import glossary, labels, links, recordings

SHEETS = ("host.css", "dilemma.css", "present.css", "steps.css", "metrics.css", "replay.css")
STYLES = tuple(source_files.path(name) for name in SHEETS)  # of all pages
# one scope; the last starts the viewer
SCRIPTS = (
    "host.js",
    "draw.js",
    "spread.js",
    "grid.js",
    "panel.js",
    "steps.js",
    "address.js",
    "what.js",
    "tree_keys.js",
    "metrics.js",
    "whatif.js",
    "again.js",
    "bytes.js",
    "save.js",
    "hands.js",
)


def viewer(value: str, common: str) -> gr.HTML:
    """The viewer. Its value is a message of `visual.browser.messages`; it asks with the event "ask"
    and is answered through the prop `reply`.

    Args:
        value: the run to open with, as JSON.
        common: `wire.common` as JSON.
    """
    return gr.HTML(
        value,
        html_template=template(),
        js_on_load=script(),
        # without a slash in front: under the path that a reverse proxy serves the page at
        head=f'<script src="{routes.VENDOR.removeprefix("/")}"></script>',
        elem_id="viewer",
        apply_default_css=False,
        common=common,
        opened="",
        reply="",
        saved="",
    )


def script(names: tuple[str, ...] = SCRIPTS) -> str:
    """All of `SCRIPTS`, or some of them, as one function body."""
    return "\n".join(source_files.text(name) for name in names)


def template() -> str:
    """host.html with its words; nothing in it depends on a run."""
    words = {key: html.escape(word) for key, word in labels.VIEWER.items()}
    return Template(source_files.text("host.html")).substitute(
        words,
        legend=legend(),
        keys_list=keys(),
        save_menu=save_menu(),
        terms_head=html.escape(glossary.TERMS_HEAD),
        terms=terms(),
    )


def save_menu() -> str:
    """save.html with its words."""
    words = {key: html.escape(word) for key, word in recordings.SAVE.items()}
    return Template(source_files.text("save.html")).substitute(words)


def keys() -> str:
    """The keys as a list of terms, for the help dialog."""
    all_keys = (*labels.KEYS, *links.LINK_KEYS)
    pairs = ((" ".join(map(_key, keys.split())), html.escape(act)) for keys, act in all_keys)
    return "".join(f"<dt>{keys}</dt><dd>{act}</dd>" for keys, act in pairs)


def terms() -> str:
    """The glossary, as a list of terms."""
    return "".join(
        f"<dt>{html.escape(term)}</dt><dd>{html.escape(told)}</dd>" for term, told in glossary.TERMS
    )


def idea() -> dict[str, str]:
    """The parts of "What is this?", as HTML."""
    marks = (
        f"<dt>{_entry(sign, name, told, kind)}</dt><dd>{html.escape(told)}</dd>"
        for sign, name, told, kind in _marks()
    )
    return {
        "idea_head": html.escape(glossary.HEAD),
        "idea": "".join(f"<p>{html.escape(told)}</p>" for told in glossary.PLAIN_WORDS),
        "marks_head": html.escape(glossary.MARKS_HEAD),
        "marks": "".join(marks),
        "terms_head": html.escape(glossary.TERMS_HEAD),
        "terms": terms(),
        "close": html.escape(labels.VIEWER["close"]),
    }


def _key(name: str) -> str:
    return f"<kbd>{html.escape(name)}</kbd>"


def legend() -> str:
    """What the marks mean, as HTML: shape, letter, name and meaning of each."""
    return "".join(_entry(*mark) for mark in _marks())


def _marks() -> list[tuple[str, str, str, str]]:
    """(sign, name, meaning, kind)."""
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
