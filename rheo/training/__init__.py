"""Train a draft head: prompts become a corpus that the target wrote, the corpus becomes a head.

In come a target, prompts and a recipe. Out go shards of texts with the target's hidden states
(`python -m rheo corpus`) and an EAGLE-3 head on disk (`python -m rheo train`).
Read `batch_generate`, `corpus` and `corpus_files` for the corpus; then `batches`, `init_head`,
`unrolled_head`, `loss`, `trainer` and `evaluate`, which `run` puts together.
"""
