"""Make contexts to compare strategies at: the target's answers, cut at several points."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rheo.bench.confidence import spawn
from rheo.bench.prompts import Prompt
from rheo.decoding.engine import Engine
from rheo.params import DecodeParams

CUTS = 3  # a prompt, at least: a continuation costs more than the contexts it gives


class ComparedContext(NamedTuple):
    """A text whose next round is compared."""

    prompt: Prompt
    number: int  # among all contexts; with the run's seed it fixes the uniforms
    ids: list[int]  # prompt and continuation up to the cut; the last one is the round's root
    new: int  # tokens of the continuation among them


def contexts(
    engine: Engine, prompts: Sequence[Prompt], params: DecodeParams, count: int, raw: bool = False
) -> Iterator[list[ComparedContext]]:
    """Yield up to `count` contexts, a prompt's at a time, growing, so that prefills are shared.

    The target continues each prompt by plain sampling under `params` (T, top-p, top-k, up to
    max_new_tokens tokens). The cuts lie evenly in what comes before an EOS, from a random start.
    All follows from target, prompts, `params` and `count`: another draft meets the same contexts.
    A prompt with a short answer gives fewer cuts, and later prompts make up for it.
    """
    found = 0
    for number, prompt in enumerate(prompts):
        fair = -(-(count - found) // (len(prompts) - number))
        wanted = min(max(CUTS, fair), count - found)
        if wanted == 0:
            return
        seed = spawn(params.seed, 1, number)
        ids, new = _continuation(engine, prompt, replace(params, seed=seed), raw)
        room = engine.target.context - params.depth - 1 - len(ids)
        cuts = _cuts(min(len(new), room), wanted, np.random.default_rng(seed))
        if cuts:
            yield [
                ComparedContext(prompt, found + i, [*ids, *new[:cut]], cut)
                for i, cut in enumerate(cuts)
            ]
        found += len(cuts)


def _continuation(
    engine: Engine, prompt: Prompt, params: DecodeParams, raw: bool
) -> tuple[list[int], list[int]]:
    """Return the prompt's ids and the answer's, without an EOS."""
    decoding = engine.decode(prompt.text, replace(params, strategy="autoregressive"), raw)
    for _ in decoding:
        pass
    emitted = [*filter(None, [decoding.first]), *(e for r in decoding.rounds for e in r.emitted)]
    new = [e.token for e in emitted if e.token not in engine.target.eos_ids]
    return decoding.prompt_ids, new


def _cuts(length: int, wanted: int, generator: np.random.Generator) -> list[int]:
    """Choose up to `wanted` whole numbers from 1 to `length`, evenly spaced."""
    places = (np.arange(wanted) + generator.random()) * max(length, 0) / wanted
    return sorted({1 + int(place) for place in places if place < length})
