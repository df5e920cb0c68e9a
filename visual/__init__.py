"""Pure views of a trace: figures, HTML and tables. No model, no clock, no I/O in a view.

A figure is plotly's JSON as plain Python: `plotly.graph_objects.Figure(view(...))` makes plotly's
own object of it.
"""
