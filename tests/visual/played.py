"""Runs of every strategy by the engine itself, over two tiny random models."""

import functools
from dataclasses import replace

from rheo.algorithm.strategies import TABLE
from rheo.trace.schema import Run
from tests.decoding.tiny_runs import decoding, new_tokens, run_of, tiny_pair

CASES = [*((name, 0.9) for name in TABLE), ("rheo", 0.0), ("topk", 0.0)]
HOSTILE = (
    "<img src=x onerror=go()>",
    '"><b>',
    "&lt;",
    "a\0b",
    "\u202eabc",
    " <b>bold</b>",
    "`${x}`",
)


@functools.cache
def play(strategy: str, T: float) -> Run:
    """A run of a strategy at a temperature; its tokens are hostile, its last round is cut."""
    options = {"strategy": strategy, "T": T, "seed": 11, "max_new_tokens": 16}
    d = decoding(tiny_pair(), **options, K=5, R=12, probes=2)
    new_tokens(d)
    run = run_of(d)
    tokens = {i: HOSTILE[i % len(HOSTILE)] + text for i, text in run.tokens.items()}
    return replace(run, tokens=tokens)


def every(run: Run) -> list[Run]:
    """`run` beside it cut after its first accepted token, as an end of text cuts it."""
    cut = [
        replace(r, emitted=r.emitted[:1]) for r in run.rounds if len(r.emitted) > 1 and r.accepted
    ]
    return [run, replace(run, rounds=tuple(cut))]
