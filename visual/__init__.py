"""Pure views of a trace: figures, HTML and tables. No model, no clock, no I/O in a view.

A run and a round come in, plotly's JSON as plain Python goes out; `figure` makes plotly's own
object of it, for a notebook. Rooms, in the order in which to read them: style and words, tree,
round, run, dilemma; then what serves them to a browser: browser, server, runtime, pages.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from rheo.trace.schema import Round, Run


def figure(run: "Run", round: "int | Round" = 0, ghosts: bool = False) -> "Figure":
    """Return a round's draft tree as a plotly figure, as the page draws it; no server is needed.

    Args:
        run: a live or a recorded one (`rheo.open_trace`).
        round: one of its rounds, or its index.
        ghosts: show pruned siblings.

    Raises:
        RheoError: the run has no such round.
    """
    from plotly.graph_objects import Figure

    from rheo.errors import RheoError
    from visual.tree.figure import drawing

    if isinstance(round, int):
        if not -len(run.rounds) <= round < len(run.rounds):
            raise RheoError(f"This run has {len(run.rounds)} rounds: there is no round {round}.")
        round = run.rounds[round]
    return Figure(drawing(run, round, ghosts))
