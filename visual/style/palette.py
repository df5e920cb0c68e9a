"""How provenance, verdicts and distributions look: one mark (shape, colour, letter) each.

Figures are drawn in the light colours. A theme swaps colours and nothing else, so `DARK` maps each
light colour to its dark one and `in_dark` applies it to a whole figure; the host does the same in
the browser.
"""

from dataclasses import dataclass
from typing import Any

INK = "#1b1c1e"  # text, accepted paths
MUTED = "#62666d"  # secondary text, rejected paths
FAINT = "#c3c7ce"  # hairlines, what was never visited
WASH = "#eef0f3"  # the ground of bars
PAPER = "#ffffff"  # inside hollow marks
CLEAR = "rgba(0,0,0,0)"  # plots lie on the page

_DETERMINISTIC = "#0072b2"
PROBE_COLOUR = "#c25200"
_FILLER = "#6f747c"
_RESIDUAL = "#b0447f"
BONUS = "#00795a"
TARGET = "#1b1c1e"  # p
DRAFT = "#a86015"  # q and q-tilde

DARK: dict[str, str] = {
    INK: "#f1f2f4",
    MUTED: "#a2a8b1",
    FAINT: "#4a4f58",
    WASH: "#2a2d33",
    PAPER: "#17181b",
    _DETERMINISTIC: "#56b4e9",
    PROBE_COLOUR: "#f4894a",
    _FILLER: "#a9afb8",
    _RESIDUAL: "#e794bf",
    BONUS: "#3fcfa4",
    DRAFT: "#e2a765",
}

MONO = "IBM Plex Mono, ui-monospace, DejaVu Sans Mono, monospace"
SANS = "IBM Plex Sans, ui-sans-serif, system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a kind of node or an origin of a token looks like, so that no reader needs the colour.

    `symbol` is plotly's name of the shape; `glyph` is the same shape as a character.
    """

    letter: str
    symbol: str
    glyph: str
    colour: str


MARKS: dict[str, Mark] = {
    "root": Mark("", "circle-open-dot", "◎", INK),
    "prefill": Mark("1", "triangle-right", "▶", INK),
    "deterministic": Mark("D", "square", "■", _DETERMINISTIC),
    "probe": Mark("P", "diamond", "◆", PROBE_COLOUR),
    "filler": Mark("F", "circle", "●", _FILLER),
    "residual": Mark("R", "hexagon", "⬢", _RESIDUAL),
    "bonus": Mark("B", "star", "★", BONUS),
}
_KINDS = ("root", "deterministic", "probe", "filler")  # of nodes
_ORIGINS = ("prefill", "deterministic", "probe", "filler", "residual", "bonus")  # of tokens

CHECK, CROSS = "✓", "✕"


def in_dark(figure: Any) -> Any:
    """Return a figure's JSON with every light colour replaced by its dark one.

    >>> in_dark({"line": {"color": "#0072b2"}, "x": [1]})
    {'line': {'color': '#56b4e9'}, 'x': [1]}
    """
    if isinstance(figure, dict):
        return {key: in_dark(value) for key, value in figure.items()}
    if isinstance(figure, list | tuple):
        return [in_dark(value) for value in figure]
    return DARK.get(figure, figure) if isinstance(figure, str) else figure
