"""Decodings of two tiny random models that resemble each other, and their traces."""

import torch

from rheo.algorithm.strategies import TABLE
from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_round
from rheo.models.draft.lm import LMDraft
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.schema import Run
from tests.tiny import byte_level_tokenizer, tiny_model

PROMPT = [5, 9, 33, 12, 60, 7]
DRAFTING = [name for name, row in TABLE.items() if row.fields.draws_tree]


def tiny_pair() -> tuple:
    """A target and a draft that resembles it: the same weights, a little off."""
    target, draft = (tiny_model(seed=1, num_hidden_layers=3) for _ in range(2))
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in draft.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            weight.add_(noise * 0.15 * weight.std())
    target.generation_config.eos_token_id = None
    target.config.eos_token_id = None
    return target, draft


def decoding(
    models: tuple, prompt=PROMPT, stop=(), eos=None, context=None, watch=None, **params
) -> Decoding:
    target = Target(models[0], byte_level_tokenizer())
    target.eos_ids = frozenset(eos or ())
    if context is not None:
        target.context = context
    draft = LMDraft(Target(models[1], byte_level_tokenizer()), target.vocab_size)
    defaults = {"K": 4, "R": 12, "depth": 3, "S": 20, "max_new_tokens": 40, "probes": 2}
    return Decoding(target, draft, DecodeParams(**(defaults | params)), prompt, stop, watch=watch)


def new_tokens(d: Decoding) -> list[int]:
    for _ in d:
        pass
    return [d.first.token, *(e.token for r in d.rounds for e in r.emitted)]


def run_of(d) -> Run:
    rounds = tuple(map(record_round, d.rounds))
    return Run(
        pair="tiny",
        target="tiny",
        draft="tiny",
        device="cpu",
        dtype="float32",
        versions={},
        params=d.params.as_dict(),
        prompt="x",
        prompt_token_ids=tuple(d.prompt_ids),
        first=d.first,
        rounds=rounds,
        stop=d.stopped,
        text=d.text,
        tokens={i: chr(0x21 + i) for i in range(97)},
    )
