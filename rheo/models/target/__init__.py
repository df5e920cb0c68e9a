"""The target: a Hugging Face causal LM whose distribution every emitted token follows.

A folder or Hub id comes in; out goes a `Target` that prefills a prompt, verifies a tree of tokens
in one pass, and commits the accepted ones. Read target first, then pretrained with cache_fit
(loading, and what is refused), kv_cache (its rows) and feature_taps (the hidden states that a draft
head reads); prompt makes tokens of a text, detokenizer shows tokens as text, cuda_graphs repeats
steps of a fixed shape, own_logits goes from hidden states to logits, for training.
"""

from rheo.models.target.target import Target as Target
