"""Find and record the runs that the page opens with: each shows one thing, proved by its numbers.

In come an engine and `assets/gallery.json`, a list of groups of runs with what each group is to
show. Out go traces and their index (`python -m rheo gallery`).
Read `listing` (the two files), `criteria` (what a run is wanted to show), then `record`.
"""
