"""A run saved as one page: the viewer, plotly.js and all views in a single HTML file.

Nothing is fetched and nothing may be: the page's policy names the hashes of its two scripts and
forbids everything else. Data is packed as base64, so that no text of a run can end an element.
"""

import base64
import functools
import gzip
import hashlib
import html
from collections.abc import Iterator
from string import Template

from rheo.trace.schema import Run
from rheo.version import __version__
from visual.browser import component, messages, source_files
from visual.browser.bundle import bundle
from visual.round import bars
from visual.server import routes
from visual.tree import graph
from visual.words import labels, measures, recordings

KEY = "run"  # the key of the only run there
_FIGURES = 200  # panels of nodes off the walk; more would take long to make
_STYLES = (
    *(path for path in component.STYLES if not path.name.startswith("dilemma")),
    source_files.path("saved_page.css"),
)
START = "page/saved_page.js"  # the module that starts the page, without those that need a server
_SPLIT = "\0"  # stands for plotly.js until the page is cut in two


def page(run: Run, show: int) -> tuple[str, str]:
    """Return the page's text before and behind plotly.js, which goes between as `library` makes it.

    Args:
        show: the round to open at, from 0.
    """
    script, settings = bundle(START, ""), tuple(measures.SETTING_FORMS)
    text = Template(source_files.text("saved_page.html")).substitute(
        hashes=f"{_hash(script.encode())} {_library_hash()}",
        version=__version__,
        title=html.escape(messages.about(run, recordings.PAGE_TITLE, ("m", "T"))),
        head=html.escape(recordings.PAGE_HEAD),
        about=html.escape(messages.about(run, recordings.PAGE_ABOUT, settings)),
        no_script=html.escape(recordings.NO_SCRIPT),
        too_old=html.escape(recordings.TOO_OLD),
        style="\n".join(path.read_text(encoding="utf-8") for path in _STYLES),
        opener=component.opener(),
        idea_dialog=component.idea_dialog(),
        viewer=component.template("saved"),
        run=pack(messages.dumps(payload(run, show)).encode()),
        library=_SPLIT,
        script=script,
    )
    before, behind = text.split(_SPLIT)
    return before, behind


def whole(run: Run, show: int) -> str:
    """Return the page with plotly.js in it, about 2.5 MB."""
    before, behind = page(run, show)
    return before + library() + behind


def library() -> str:
    """Return plotly.js as the page carries it."""
    return pack(routes.PLOTLY_JS.read_bytes())


def pack(content: bytes) -> str:
    """Return gzip as base64: what saved_page.js unpacks."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def payload(run: Run, show: int) -> messages.Message:
    """Return all that the viewer gets to know: a message, and answers by what it asks."""
    message = {**messages.whole(KEY, run, show, most=None), "state": "recorded"}
    message["sentence"] = labels.RECORDED_RUN.format(stop=labels.STOPS[run.stop])
    return {
        "common": messages.common(),
        "message": message,
        "answers": dict(_answers(run)),
        "shared": {"metrics": messages.answer(run, {"what": "metrics", "round": 0})},
    }


def _answers(run: Run) -> Iterator[tuple[str, messages.Message]]:
    for at in range(len(run.rounds)):
        for what in ("table", "ghosts", "walk"):
            yield _answer(run, at, 0, what)
    for place, (at, node) in enumerate(_beside(run)):
        if place < _FIGURES:
            yield _answer(run, at, node, "panel")
        else:
            yield _without_figures(run, at, node)
    for at, round in enumerate(run.rounds):
        for name in graph.of(round, ghosts=True):
            if graph.is_pruned(name):
                yield _answer(run, at, name, "panel")


def _without_figures(run: Run, at: int, node: int) -> tuple[str, messages.Message]:
    made = messages.panel(run, run.rounds[at], node, figures=False)
    has_figures = bool(bars.children(run, run.rounds[at], node))
    note = f"{made['note']} {recordings.ABSENT}" if has_figures else made["note"]
    return messages.answer_key(KEY, at, node, "panel"), {**made, "note": note}


def _answer(run: Run, at: int, node: int | str, what: str) -> tuple[str, messages.Message]:
    asked = {"what": what, "round": at, "node": node}
    return messages.answer_key(KEY, at, node, what), messages.answer(run, asked)


def _beside(run: Run) -> list[tuple[int, int]]:
    """Return (round, node) off the walk: children of visited nodes first, they were tested."""
    near: list[tuple[int, int]] = []
    far: list[tuple[int, int]] = []
    for at, round in enumerate(run.rounds):
        visited = round.visited
        for node, there in enumerate(round.nodes):
            if node not in visited:
                (near if there.parent in visited else far).append((at, node))
    return near + far


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


@functools.cache
def _library_hash() -> str:
    return _hash(routes.PLOTLY_JS.read_bytes())
