"""Every sentence that a person reads, and how a token is made visible.

Records of a trace or plain numbers come in, texts go out; the modules of constants hold no logic.
Read `sentences` first (tokens, steps and rounds in words), then `transcript_html`, then the
strings by place: `labels` (controls, names of strategies, the viewer), `verdicts` (the stepper),
`transport_words` (a node as optimal transport),
`measures` (a run's figures, what-if, the second run), `one_hot` (the page "One-hot dilemma"),
`recordings` (the gallery, opening and saving), `links` (addresses, the projector), `glossary`
("What is this?") and `refusals` (what a shared server says no to).
"""
