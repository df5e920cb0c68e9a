"""Compare our autoregressive decoder with transformers' own `generate`: a fair reference?"""

import time
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import torch
from tqdm import tqdm
from transformers import GenerationConfig, PreTrainedModel

from rheo.bench.confidence import IntervalDict, median_interval
from rheo.bench.prompts import Prompt
from rheo.decoding.engine import Engine
from rheo.models.target.target import Target
from rheo.params import DecodeParams


class PairOfRuns(TypedDict):
    """One prompt decoded by both; a ratio above 1 says that ours is faster."""

    ours_s: float
    generate_s: float
    tokens: int
    same_ids: bool
    ratio: float


class AgainstGenerate(TypedDict):
    """All pairs of runs, and the median of their ratios."""

    pairs: list[PairOfRuns]
    ratio: IntervalDict
    threads: int


def against_generate(
    engine: Engine,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    repeats: int,
    raw: bool = False,
) -> AgainstGenerate:
    """Decode the same prompts greedily by both, in turns; `generate` on transformers' own forward.

    Each pair is one prompt by both, whoever began last time coming second; both include the
    prefill. `generate` is held to the length that ours came to, and the model's own generation
    config is set aside: it may ask for penalties or beams. A ratio above 1 says that ours is
    faster. Feature taps are off for both.
    """
    taps, model = engine.target.feature_layers, _as_transformers_runs_it(engine.target)
    own = model.generation_config
    engine.target.tap(())
    # the model's own may hold penalties and beams; what a call leaves open is taken from there
    model.generation_config = GenerationConfig(eos_token_id=sorted(engine.target.eos_ids) or None)
    try:
        pairs = _pairs(engine, model, prompts, params, repeats, raw)
    finally:
        model.generation_config = own
        engine.target.tap(taps)
    ratios = [theirs / ours for ours, theirs, *_ in pairs]
    return {
        "pairs": [
            {"ours_s": a, "generate_s": b, "tokens": n, "same_ids": same, "ratio": b / a}
            for a, b, n, same in pairs
        ],
        "ratio": median_interval(ratios, np.random.default_rng(params.seed)).as_dict(),
        "threads": torch.get_num_threads(),
    }


def _as_transformers_runs_it(target: Target) -> PreTrainedModel:
    """Return the target's model, loaded again if its layers have been replaced."""
    if target.forward is None:
        return target.model
    folder, device = target.model.name_or_path, target.device
    return Target.load(folder, device=device, dtype=target.dtype, forward="transformers").model


def _pairs(
    engine: Engine,
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    repeats: int,
    raw: bool,
) -> list[tuple[float, float, int, bool]]:
    """Return (our seconds, generate's, new tokens, whether the ids are equal) of each pair."""
    greedy = DecodeParams(strategy="autoregressive", T=0.0, max_new_tokens=params.max_new_tokens)
    encoded = [engine.target.encode(prompt.text, raw) for prompt in prompts[:repeats]]
    lengths = [len(_ours(engine, ids, greedy)[1]) for ids in encoded]
    _generate(model, encoded[0], lengths[0])  # both are warm now
    pairs = []
    for i in tqdm(range(repeats), desc="pairs", unit="", delay=2):
        ids, length = encoded[i % len(encoded)], lengths[i % len(encoded)]
        if i % 2:
            b, y = _generate(model, ids, length)
            a, x = _ours(engine, ids, greedy)
        else:
            a, x = _ours(engine, ids, greedy)
            b, y = _generate(model, ids, length)
        stem = [token for token in x if token not in engine.target.eos_ids]
        pairs.append((a, b, length, y[: len(stem)] == stem))
    return pairs


def _ours(engine: Engine, ids: list[int], params: DecodeParams) -> tuple[float, list[int]]:
    """Decode by our loop; return seconds and new ids."""
    start = time.perf_counter()
    decoding = engine.decode(ids, params)
    for _ in decoding:
        pass
    seconds = time.perf_counter() - start
    emitted = [*filter(None, [decoding.first]), *(e for r in decoding.rounds for e in r.emitted)]
    return seconds, [e.token for e in emitted]


def _generate(model: PreTrainedModel, ids: list[int], length: int) -> tuple[float, list[int]]:
    """Decode by transformers; return seconds and new ids."""
    prompt = torch.tensor([ids], device=model.device)
    start = time.perf_counter()
    output = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=length,
        min_new_tokens=length,
    )
    new = output[0, len(ids) :].tolist()  # on the host, where ours are
    return time.perf_counter() - start, new
