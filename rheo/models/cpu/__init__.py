"""Faster arithmetic on a CPU, for the few rows of a draft tree; the numbers stay the model's.

A loaded transformers model comes in; its linear layers are replaced by packed ones, and where it
has Llama's shape a `LlamaForward` comes out, which runs it with fewer operations. Read fused_linear
(the seam every product goes through) and packed_linear (oneDNN behind it), then llama_shape (which
models), llama_forward (the pass), and fast_forward (what is chosen of `forwards` when a model is
loaded, by a trial, and checked).
"""
