"""The text of a run so far as HTML, each token marked by where it came from."""

import codecs
import html
import re
from collections.abc import Iterable, Iterator

from rheo.trace.schema import Emission, Run
from visual.style.palette import MARKS
from visual.words import labels
from visual.words.sentences import harmless, name

_BYTE = re.compile("⟨0x([0-9A-F]{2})⟩")  # a token that is no whole character


def transcript(
    run: Run,
    upto_round: int | None = None,
    active: int | None = None,
    chosen: int | None = None,
) -> str:
    """Return all new tokens as HTML, one span each, newlines kept.

    A span's classes are "token" and the origin; data-mark is the origin's letter for the style
    sheet to show, data-round and data-node (of an accepted draft token) say where it comes from.
    The characters that several tokens make up stand in the span of the last of them.

    Args:
        upto_round: the last round to show, -1 for the prefill's token alone; None for all.
        active, chosen: the round whose spans get the class "active", and the node of it whose
            span gets "chosen".
    """
    shown = run.rounds if upto_round is None else run.rounds[: upto_round + 1]
    placed: list[tuple[int | None, Emission]] = [(None, run.first)]
    placed += [(r.index, emission) for r in shown for emission in r.emitted]
    pieces = _characters(run.tokens.get(e.token, f"⟨{e.token}⟩") for _, e in placed)
    spans = [
        _span(run, at, emission, piece, active, chosen)
        for (at, emission), piece in zip(placed, pieces, strict=True)
    ]
    return f'<div class="transcript" style="white-space:pre-wrap">{"".join(spans)}</div>'


def _span(
    run: Run, at: int | None, emission: Emission, piece: str, active: int | None, chosen: int | None
) -> str:
    classes = ["token", emission.origin]
    where = ""
    title = labels.SPAN_FIRST
    if at is not None:
        where, title = f' data-round="{at}"', labels.SPAN_TITLE
        classes += ["active"] if at == active else []
    if emission.node is not None:
        where += f' data-node="{emission.node}"'
        classes += ["chosen"] if at == active and emission.node == chosen else []
    title = title.format(
        token=name(run, emission.token),
        origin=labels.ORIGINS[emission.origin],
        round=None if at is None else at + 1,
    )
    return (
        f'<span class="{" ".join(classes)}" data-mark="{MARKS[emission.origin].letter}"{where}'
        f' title="{html.escape(title)}">{html.escape(piece)}</span>'
    )


def _characters(texts: Iterable[str]) -> Iterator[str]:
    """Yield the running text by token: bytes join to characters, what would hide is shown."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for text in texts:
        plain = harmless(text)
        parts = _BYTE.split(plain)  # text, byte, text, byte, ..., text
        raw = [bytes([int(p, 16)]) if i % 2 else p.encode() for i, p in enumerate(parts)]
        yield decoder.decode(b"".join(raw))
