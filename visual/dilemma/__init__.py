"""What the page "One-hot dilemma" shows beside its draw, which is a round with a round's views.

A node under several rules (`exact.coupling.OneNode`) and the results of small worlds come in; HTML
and plotly figures go out. Read acceptance first (how much each rule accepts), then transport_plan
(where the mass goes); audit_table, confidence_band (by the bounds of binomial) and curves
show who is lossless.
"""
