"""T = 0 on the embedded pair: each strategy writes what transformers' greedy decoding writes."""

import hashlib
import json

import pytest
import torch
from transformers import AutoModelForCausalLM

from rheo.algorithm.strategies import TABLE
from rheo.decoding.engine import Engine
from rheo.models.hub.catalogue import ASSETS, DEFAULT
from rheo.models.loader import load_pair
from rheo.params import DecodeParams

pytestmark = pytest.mark.embedded
WIDE = "rheo"  # the strategy whose trees have 60 nodes; the others' have 16
GAP = 1e-4  # two logits closer than this may swap between one forward and another


def own_prompts(count: int) -> list[str]:
    """Of our own, some of every kind in turn."""
    files = sorted((ASSETS / "prompts").glob("*.jsonl"))
    kinds = [[json.loads(line)["prompt"] for line in f.read_text().splitlines()] for f in files]
    mixed = [prompt for row in zip(*kinds, strict=False) for prompt in row]
    return [p if isinstance(p, str) else p[0] for p in mixed[:count]]


@pytest.fixture(scope="module")
def engine(embedded_folder) -> Engine:
    return Engine(load_pair(DEFAULT))


@pytest.fixture(scope="module")
def reference(embedded_folder):
    """Return, when it is asked for, the model as transformers alone runs it, float32."""
    loaded = []

    def model():
        if not loaded:
            loaded.append(AutoModelForCausalLM.from_pretrained(embedded_folder).float().eval())
        return loaded[0]

    return model


@pytest.fixture(scope="module")
def texts(engine, reference, once_a_run):
    """Return what `generate` of transformers writes, by prompt and length, and its model."""

    def generate(prompt: str, new: int) -> list[int]:
        ids = torch.tensor([engine.target.encode(prompt)])  # (1, n)
        made = reference().generate(ids, max_new_tokens=new, do_sample=False, pad_token_id=2)
        return made[0, ids.shape[1] :].tolist()

    def text(prompt: str, new: int) -> list[int]:
        key = hashlib.sha256(prompt.encode()).hexdigest()[:12]
        return once_a_run(f"greedy-{new}-{key}", lambda: generate(prompt, new))

    return text, reference


def gap_at(
    engine: Engine, reference, prompt: str, ours: list[int], theirs: list[int]
) -> tuple[int, float]:
    """Where two texts part, and how far apart the two tokens' logits are there."""
    at = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    ids = torch.tensor([engine.target.encode(prompt) + theirs[:at]])
    with torch.inference_mode():
        logits = reference()(ids, logits_to_keep=1).logits[0, -1]
    return at, abs(float(logits[ours[at]] - logits[theirs[at]]))


def check(engine: Engine, texts, name: str, prompts: list[str], new: int, capsys) -> None:
    """Equal tokens; one text in six may part at two logits that a rounding swaps, and is listed."""
    params = DecodeParams(strategy=name, T=0.0, R=60 if name == WIDE else 16, max_new_tokens=new)
    parted = 0
    for prompt in prompts:
        theirs = texts[0](prompt, new)
        decoding = engine.decode(prompt, params)
        for _ in decoding:
            pass
        ours = [decoding.first.token, *(e.token for r in decoding.rounds for e in r.emitted)]
        if ours == theirs:
            continue
        parted += 1
        at, gap = gap_at(engine, texts[1], prompt, ours, theirs)
        with capsys.disabled():
            print(f"\n{name}: parts at token {at}, logit gap {gap:.2e}: {prompt[:60]!r}")
        assert gap < GAP
    assert parted <= len(prompts) // 6


@pytest.mark.parametrize("name", TABLE)
def test_greedy_text_is_that_of_transformers(engine, texts, name: str, capsys) -> None:
    check(engine, texts, name, own_prompts(2), 24, capsys)


@pytest.mark.parametrize("forward", ["plain", "transformers"])
def test_greedy_text_of_the_other_forwards(texts, forward: str, capsys) -> None:
    engine = Engine(load_pair(DEFAULT, forward=forward))
    assert engine.target.forward_name == forward
    check(engine, texts, WIDE, own_prompts(1), 24, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", TABLE)
def test_twenty_greedy_texts_are_those_of_transformers(
    engine, texts, name: str, part: int, capsys
) -> None:
    """Seven, seven and six texts a strategy, so that processes share them."""
    assert engine.target.forward is not None  # the pass that ships
    check(engine, texts, name, own_prompts(20)[part::3], 64, capsys)
