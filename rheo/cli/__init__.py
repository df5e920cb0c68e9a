"""The command line, `python -m rheo COMMAND`: arguments in, text or JSON on standard output.

A mistake is one sentence on standard error and exit code 2. What is heavy is imported inside the
commands, so that `--help` answers at once.
Read `types`, `arithmetic` and `arguments` (what may be typed) and `streams` (its characters, and
those that are printed), then `main` (the commands) and `training` (`corpus` and `train`).
"""
