"""The draft tree of a round as a figure that a reader steps through.

A `Round` comes in, plotly's JSON goes out. Read `graph` first (the round as a networkx graph),
then `layout` (where nodes stand), `reveal` (when each thing shows), `traces`, `nodes` and `edges`
(what is drawn), `figure`, which puts them together, and `closeup`, the part for a projector.
"""
