"""What can be loaded is decided from a repository's file list, before anything is fetched."""

import pytest

from rheo.errors import RheoError
from rheo.models.hub.file_list import wanted

SHARDS = [f"model-0000{i}-of-000003.safetensors" for i in (1, 2, 3)]  # as DeepSeek numbers them
PICKLED = [f"pytorch_model-0000{i}-of-00003.bin" for i in (1, 2, 3)]
BESIDE = ["config.json", "generation_config.json", "tokenizer_config.json", "README.md"]
LOADED = {
    "safetensors": ([*SHARDS, "tokenizer.json"], "*.safetensors"),
    "both": ([*SHARDS, *PICKLED, "tokenizer.json"], "*.safetensors"),
    "vicuna": ([*PICKLED, "pytorch_model.bin.index.json", "tokenizer.model"], "pytorch_model*.bin"),
    "gpt2's tokenizer": (["model.safetensors", "vocab.json", "merges.txt"], "*.safetensors"),
}
REFUSED = {
    "no tokenizer": (SHARDS, "has no tokenizer"),
    "half a tokenizer": ([*SHARDS, "vocab.json"], "has no tokenizer"),
    "a shard is missing": ([*PICKLED[:1], PICKLED[2], "tokenizer.model"], PICKLED[1]),
    "gguf": (["model-Q4_0.gguf", "tokenizer.json"], r"has \.gguf files"),
    "only in a folder": (["original/model.safetensors", "tokenizer.json"], "none at its top"),
    "Meta's own": (["consolidated.00.pth", "tokenizer.model"], r"has \.pth files"),
    "consolidated": (["consolidated.safetensors", "tokenizer.json"], "none at its top"),
    "an adapter": (["adapter_model.safetensors", "tokenizer.json"], "has an adapter"),
}


@pytest.mark.parametrize(("names", "pattern"), LOADED.values(), ids=LOADED)
def test_what_can_be_loaded(names, pattern):
    assert wanted("owner/name", [*BESIDE, *names], tokenizer=True) == pattern


@pytest.mark.parametrize(("names", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_is_one_sentence(names, why):
    with pytest.raises(RheoError, match=why) as refused:
        wanted("owner/name", [*BESIDE, *names], tokenizer=True)
    assert "owner/name" in str(refused.value) and ". " not in str(refused.value)


def test_a_head_needs_a_config_and_no_tokenizer():
    assert wanted("a/b", ["config.json", "pytorch_model.bin"], tokenizer=False)
    with pytest.raises(RheoError, match=r"no config\.json"):
        wanted("a/b", ["pytorch_model.bin"], tokenizer=False)
