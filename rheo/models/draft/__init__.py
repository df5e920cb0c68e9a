"""Draft models: what proposes the tokens of a tree.

A checkpoint folder comes in; out goes an object with the protocol `Draft`, whose logits the decoder
grows a tree from. Read protocol, then lm (a small causal LM) and eagle3 (an EAGLE-3 head, the
longer one, on its head_weights); checkpoints, config and layer_ids read a head's files, adapt fits
it to its target, self_check finds out whether it does.
"""

from rheo.models.draft.protocol import Draft as Draft
