"""Sum a run up in figures: what `python -m rheo generate --json` prints."""

import math
import statistics

from rheo.bench.confidence import mean
from rheo.decoding.engine import Engine
from rheo.decoding.loop import Decoding
from rheo.decoding.round_buffer import Decoded, RoundBuffer
from rheo.decoding.timing import PARTS
from rheo.decoding.watch import Watch

_KINDS = ("deterministic", "probe", "filler")


def summary(
    engine: Engine, decoding: Decoding, seconds: float, error: str | None = None
) -> dict[str, object]:
    """Return plain values of everything decoded so far.

    Args:
        seconds: wall time of decoding, prefill included; tokens_per_s is all new tokens over it.
        error: the sentence that the run broke off with, None where it did not.

    `ms` are sums over the rounds, without the prefill. `coverage` is the mean, over all nodes that
    were expanded and kept, of the draft's mass on the support. tau, expected_accepted and coverage
    are None where there was no round or no tree. `head` says what an EAGLE-3 head was found to read
    of the target, and how well each reading that was tried fits it. `plain_step` is what plain
    steps took that were timed beside the run; their time belongs to no other figure.
    """
    rounds, check = decoding.rounds, engine.loaded.check
    emitted = [decoding.first] if decoding.first else []
    emitted += [e for r in rounds for e in r.emitted]
    ms = {part: math.fsum(getattr(r.ms, part) for r in rounds) for part in PARTS}
    covered = [x for r in rounds for x in _coverage(r)]
    return {
        "text": decoding.text,
        "token_ids": [e.token for e in emitted],
        "prompt_token_ids": decoding.prompt_ids,
        "stop": decoding.stopped,
        "error": error,
        "eos_ids": sorted(engine.target.eos_ids),
        "rounds": len(rounds),
        "tau": _mean([r.counted for r in rounds]),
        "accepted_by_kind": {kind: sum(e.origin == kind for e in emitted) for kind in _KINDS},
        "expected_accepted": _mean(
            [r.expected_accepted for r in rounds if r.expected_accepted is not None]
        ),
        "coverage": _mean(covered),
        "tokens_per_s": len(emitted) / seconds if seconds else None,
        "prefill_ms": decoding.prefill_ms,
        "ms": ms | {"total": math.fsum(ms.values())},
        "plain_step": _plain_step(decoding, decoding.watch),
        "pair": engine.pair.name,
        "head": check.as_dict() if check else None,
        "lossless": decoding.params.fields.lossless,
        "params": decoding.params.as_dict(),
        "device": str(engine.target.device),
        "dtype": str(engine.target.dtype).removeprefix("torch."),
    }


def _plain_step(decoding: Decoding, watch: Watch) -> dict[str, float] | None:
    """Return the ms of the plain steps beside a run, and how many times as fast a token was."""
    emitted = sum(len(r.emitted) for r in decoding.rounds)
    if not watch.plain_ms or not emitted:
        return None
    plain = statistics.median(watch.plain_ms)
    token = math.fsum(r.ms.total for r in decoding.rounds) / emitted
    fastest, slowest = min(watch.plain_ms), max(watch.plain_ms)
    return {
        "steps": len(watch.plain_ms),
        "ms": plain,
        "fastest_ms": fastest,
        "slowest_ms": slowest,
        "ratio": plain / token,
        "ratio_low": fastest / token,
        "ratio_high": slowest / token,
    }


def _coverage(decoded: Decoded) -> list[float]:
    """Return the coverage of each node that was expanded and kept; none without a record."""
    buffer = decoded.buffer
    if not isinstance(buffer, RoundBuffer):
        return []
    return buffer.coverage[buffer.expansion[buffer.expansion >= 0]].tolist()


def _mean(values: list[float]) -> float | None:
    """Return the mean, None of nothing."""
    return mean(values) if values else None
