"""A whole run in figures: its timeline, its rates, where its time went.

A `Run` comes in, with what is known of this machine beside it; plotly's JSON and small HTML go out.
Read `timeline` first, then `metrics` and `speedup`.
"""
