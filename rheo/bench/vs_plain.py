"""Compare a strategy with plain decoding on the same forward pass, prompt by prompt in turns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from rheo.bench.confidence import IntervalDict
from rheo.bench.prompts import Prompt
from rheo.bench.throughput import bench
from rheo.decoding.engine import Engine
from rheo.params import DecodeParams

_PLAIN = "autoregressive"
_TEMPERATURES = (0.0, 1.0)


class AgainstPlain(TypedDict):
    """One temperature; the ratio is a median over prompts, above 1 where the strategy is faster."""

    T: float
    strategy: str
    budget: str
    ratio: IntervalDict | None
    tau: float | None
    tokens_per_s: float
    plain_tokens_per_s: float
    ms: dict[str, float]  # a round, by part


def against_plain(
    engine: Engine,
    prompts: Sequence[Prompt],
    params: DecodeParams,
    strategy: str,
    raw: bool = False,
    temperatures: Sequence[float] = _TEMPERATURES,
) -> list[AgainstPlain]:
    """Decode every prompt by the strategy and plainly, in turns, at each temperature.

    Neither keeps a record.

    Raises:
        RheoError: a prompt that does not fit the context.
    """
    found: list[AgainstPlain] = []
    for T in temperatures:
        at = replace(params, T=T)
        ran = bench(engine, prompts, at, (strategy, _PLAIN), raw, record=False)["strategies"]
        ours, plain = ran[strategy], ran[_PLAIN]
        found.append(
            {
                "T": T,
                "strategy": strategy,
                "budget": params.budget,
                "ratio": ours["ratio"],
                "tau": ours["tau"]["value"],
                "tokens_per_s": ours["tokens_per_s"],
                "plain_tokens_per_s": plain["tokens_per_s"],
                "ms": ours["ms"],
            }
        )
    return found
