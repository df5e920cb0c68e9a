"""What a round did, node by node: bars, residual strip, cards, the steps of a reader, the table.

A `Run` and one of its rounds come in; plotly's JSON, small HTML or rows go out. Read `bars` first
(a node's children and distributions), then `residual_rows` and `residual` (what rejections leave),
`transport_card` (the least that any rule could miss), `cards`, `slots` and `steps` (one step at a
time), `fates` (what became of a node), then `ranking`, `round_table` and `what_if_view`.
"""
