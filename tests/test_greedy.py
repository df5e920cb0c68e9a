"""T = 0 on the embedded pair: each strategy writes what transformers' greedy decoding writes."""

import json

import pytest
import torch

from rheo.catalogue import ASSETS, DEFAULT
from rheo.engine import Engine
from rheo.params import DecodeParams
from rheo.strategies import TABLE

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
NEW, PROMPTS = 64, 20
GAP = 1e-4  # two logits closer than this may swap between one forward and another


def own_prompts() -> list[str]:
    """Twenty of our own, some of every kind."""
    prompts = []
    for file in sorted((ASSETS / "prompts").glob("*.jsonl")):
        lines = [json.loads(line)["prompt"] for line in file.read_text().splitlines()]
        prompts += [p if isinstance(p, str) else p[0] for p in lines[:4]]
    return prompts[:PROMPTS]


@pytest.fixture(scope="module")
def engine(embedded_folder) -> Engine:
    return Engine.load(DEFAULT)


@pytest.fixture(scope="module")
def greedy(engine) -> dict[str, list[int]]:
    """transformers' `generate`, float32."""
    out = {}
    for prompt in own_prompts():
        ids = torch.tensor([engine.target.encode(prompt)])
        made = engine.target.model.generate(
            ids, max_new_tokens=NEW, do_sample=False, pad_token_id=2
        )
        out[prompt] = made[0, ids.shape[1] :].tolist()
    return out


def gap_at(engine: Engine, prompt: str, ours: list[int], theirs: list[int]) -> tuple[int, float]:
    """Where two texts part, and how far apart the two tokens' logits are there."""
    at = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    ids = torch.tensor([engine.target.encode(prompt) + theirs[:at]])
    with torch.inference_mode():
        logits = engine.target.model(ids, logits_to_keep=1).logits[0, -1]
    return at, abs(float(logits[ours[at]] - logits[theirs[at]]))


@pytest.mark.parametrize("name", TABLE)
def test_greedy_text_is_that_of_transformers(engine, greedy, name: str, capsys) -> None:
    same = 0
    for prompt, theirs in greedy.items():
        decoding = engine.decode(prompt, DecodeParams(strategy=name, T=0.0, max_new_tokens=NEW))
        for _ in decoding:
            pass
        ours = [decoding.first.token, *(e.token for r in decoding.rounds for e in r.emitted)]
        if ours == theirs:
            same += 1
            continue
        at, gap = gap_at(engine, prompt, ours, theirs)
        with capsys.disabled():
            print(f"\n{name}: parts at token {at}, logit gap {gap:.2e}: {prompt[:60]!r}")
        assert gap < GAP
    assert same >= PROMPTS - 3
