"""A view's figure as plotly takes it."""

import json
from typing import Any

import plotly.graph_objects as go


def plain(drawn: dict[str, Any]) -> dict[str, Any]:
    """What plotly makes of the JSON of a figure; it refuses whatever it does not know.

    Raises:
        ValueError: an attribute or a value that plotly does not have.
    """
    return json.loads(go.Figure(drawn).to_json())
