"""Runs of every strategy by the engine itself, over two tiny random models."""

from dataclasses import replace

import pytest

from rheo.algorithm.strategies import TABLE
from rheo.trace.schema import Run
from tests.decoding.test_loop import decoding, models, new_tokens
from tests.trace.test_trace import run_of

__all__ = ["models", "played"]  # fixtures, to be imported by a test module

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


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} T={case[1]}")
def played(request, models) -> Run:
    """A run of a strategy at a temperature; its tokens are hostile, its last round is cut."""
    strategy, T = request.param
    d = decoding(models, strategy=strategy, T=T, seed=11, max_new_tokens=16, K=5, R=12, probes=2)
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
