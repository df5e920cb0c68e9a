"""Our greedy ids and transformers' own, under a neutral configuration."""

import pytest
from transformers import GenerationConfig

from rheo.bench import vs_generate
from tests.bench.inputs import PARAMS, PROMPTS

pytestmark = pytest.mark.usefixtures("one_thread")


def test_generate_gives_the_same_greedy_ids(engine):
    taps = engine.target.feature_layers
    found = vs_generate.against_generate(engine, PROMPTS, PARAMS, 6)
    assert len(found["pairs"]) == 6
    assert all(pair["same_ids"] for pair in found["pairs"])
    assert all(pair["ratio"] > 0 for pair in found["pairs"])
    assert found["ratio"]["low"] <= found["ratio"]["value"] <= found["ratio"]["high"]
    assert engine.target.feature_layers == taps


@pytest.mark.parametrize(
    "asked", [{"repetition_penalty": 1.3}, {"num_beams": 3}, {"no_repeat_ngram_size": 2}]
)
def test_what_a_models_files_ask_of_generate_is_set_aside(engine, asked, monkeypatch):
    own = GenerationConfig(**asked)
    monkeypatch.setattr(engine.target.model, "generation_config", own)
    found = vs_generate.against_generate(engine, PROMPTS, PARAMS, 2)
    assert all(pair["same_ids"] for pair in found["pairs"])
    assert engine.target.model.generation_config is own
