"""Measure strategies side by side: accepted tokens, speed, and what is left of chance in both.

In come an engine (`rheo.decoding`), prompts and parameters. Out go plain figures with 95 %
intervals, ready for JSON, and tables of them (`python -m rheo bench`).
Read `prompts` and `confidence` first; then `throughput` (whole answers, timed), `contexts`,
`drawn_trees` and `expected_acceptance` (no verdict is drawn), `ablation` (the paper's, at one
level), `vs_generate` (the reference against transformers'), `vs_plain` (a strategy against the
reference), `summary` (one run) and `tables`.
"""
