"""Pure views of a trace: plotly figures, HTML and tables. No model, no clock, no I/O in a view."""
