"""Every sentence that a person reads, and how a token is made visible.

Records of a trace or plain numbers come in, texts go out; the modules of constants hold no logic.
Read `sentences` first (tokens, steps and rounds in words), then `transcript_html`, then the
strings by page: `labels`, `verdicts`, `measures`, `one_hot`, `recordings`, `links`, `glossary`,
`refusals`.
"""
