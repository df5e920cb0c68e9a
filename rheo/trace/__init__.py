"""The product: everything there is to see of a run, as plain records and as a file.

The engine's recorder makes a `Run`, and every picture and table is made of one. A `Run` comes in
and a file goes out, and the other way round; nothing here needs torch. Read `schema` first (the
records), then `candidates`, `residuals` and `probe_coupling` (what is derived of them), `io` (a
file is read and written), `validate` (what no run can have written is refused) and `lengths` (nor
are lists longer than a run's).
"""
