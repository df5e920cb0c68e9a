"""The product: everything there is to see of a run, as plain records and as a file.

The engine's recorder hands in a `Run`; files, pictures and tables come out, and nothing here needs
torch. Read `schema` first (the records), then `residuals` (what is derived of them), `io` (a file
is read and written) and `validate` (what no run can have written is refused).
"""
