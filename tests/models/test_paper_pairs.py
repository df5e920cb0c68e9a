"""The paper's three pairs load from repositories of their public file lists, with small weights."""

import os
import pickle

import pytest
import torch

from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.models import placement
from rheo.models.draft.checkpoints import STORED, read
from rheo.models.hub.catalogue import pair
from rheo.models.loader import load_pair
from rheo.models.target.target import Target
from rheo.training.init_head import initial_head
from tests.models.stand_ins import hub_of, llama_target, pickled_head
from tests.tiny import tiny_folder, tiny_model

PICKLED = [f"pytorch_model-0000{i}-of-00003.bin" for i in (1, 2, 3)]
PAPER = {
    "vicuna-13b": PICKLED,
    "llama-3.1-8b": [f"model-0000{i}-of-00004.safetensors" for i in (1, 2, 3, 4)],
    "r1-distill-llama-8b": [f"model-0000{i}-of-000002.safetensors" for i in (1, 2)],
}


@pytest.fixture(scope="module")
def head() -> tuple[dict, dict]:
    """A head for a tiny target, as the public files name its tensors: no ids, d2t and t2d."""
    config, checkpoint = initial_head(tiny_model(vocab=288), torch.arange(0, 128, 2))
    tensors = {STORED[name]: x for name, x in checkpoint.tensors.items()}
    ids = checkpoint.target_ids
    tensors["d2t"] = ids - torch.arange(len(ids))
    tensors["t2d"] = torch.zeros(288, dtype=torch.bool).index_fill_(0, ids, True)
    return {**config, "num_hidden_layers": 40}, tensors  # as in the file of Vicuna's head


@pytest.mark.parametrize("name", PAPER)
def test_a_pair_of_the_paper(name, head, tmp_path, monkeypatch):
    target = llama_target(tmp_path / "t", PAPER[name], sentences=name == "vicuna-13b")
    (target / "original").mkdir()
    (target / "original" / "consolidated.00.pth").write_bytes(b"a second copy")
    chosen, config, tensors = pair(name), *head
    repositories = {
        chosen.target.repo: target,
        chosen.draft.repo: pickled_head(tmp_path / "h", tensors, config),
    }
    fetched = hub_of(repositories, tmp_path / "cache", monkeypatch)
    engine = Engine(load_pair(name, device="cpu"))
    assert not any("original" in file for file in fetched)
    assert sum(file.endswith((".bin", ".safetensors")) for file in fetched) == len(PAPER[name]) + 1
    text = "the cat sat on"
    run = engine.generate(text, max_new_tokens=6, T=0.0, K=4, R=8, depth=3)
    list(run)
    ids = engine.target.encode(text)
    plain = engine.generate(text, max_new_tokens=6, T=0.0, strategy="autoregressive")
    list(plain)
    assert run.text == plain.text and len(ids) > 3
    assert engine.target.decode(ids).endswith(text) or name != "vicuna-13b"


def test_what_cannot_be_loaded_costs_no_download(head, tmp_path, monkeypatch):
    chosen, config, tensors = pair("vicuna-13b"), *head
    target = llama_target(tmp_path / "t", PICKLED, sentences=True)
    (target / PICKLED[1]).unlink()
    for broken, name in ((target, PICKLED[1]), (tmp_path / "empty", r"config\.json")):
        broken.mkdir(exist_ok=True)
        repositories = {
            chosen.target.repo: broken,
            chosen.draft.repo: pickled_head(tmp_path / "h", tensors, config),
        }
        fetched = hub_of(repositories, tmp_path / "cache", monkeypatch)
        with pytest.raises(RheoError, match=name):
            load_pair("vicuna-13b", device="cpu")
        assert fetched == []


def test_a_head_in_pickled_shards(head, tmp_path):
    config, tensors = head
    whole = read(pickled_head(tmp_path / "a", tensors, config))
    parts = read(pickled_head(tmp_path / "b", tensors, config, PICKLED))
    assert whole.tensors.keys() == parts.tensors.keys()
    assert all(torch.equal(x, parts.tensors[name]) for name, x in whole.tensors.items())
    (tmp_path / "b" / PICKLED[2]).unlink()
    with pytest.raises(RheoError, match="lacks the tensor"):
        read(tmp_path / "b")


class Code:
    """A pickle of it runs what it likes where it is opened without care."""

    def __init__(self, mark) -> None:
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


@pytest.mark.parametrize("how", ["code", "no tensors", "damaged", "cut"])
def test_a_pickle_that_is_not_tensors_is_refused(how, tmp_path):
    folder, mark = tiny_folder(tmp_path / "t"), tmp_path / "ran"
    file = folder / "pytorch_model.bin"
    (folder / "model.safetensors").unlink()
    if how == "code":
        torch.save({"model.norm.weight": Code(mark)}, file)
    elif how == "no tensors":
        torch.save({"model.norm.weight": [1, 2, 3], "epoch": 3}, file)
    elif how == "damaged":
        file.write_bytes(pickle.dumps({"a": 1})[:-1])
    else:
        torch.save(tiny_model(vocab=288).state_dict(), file)
        file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(
        RheoError, match=r"\.bin weights|could not be loaded|checkpoint of"
    ) as error:
        Target.load(str(folder))
    assert not mark.exists() and "\n" not in str(error.value)


def test_a_tokenizer_model_that_is_damaged_is_said(tmp_path):
    folder = llama_target(tmp_path / "t", PICKLED, sentences=True)
    (folder / "tokenizer.model").write_bytes(b"x")
    with pytest.raises(RheoError, match=r"tokenizer\.model is damaged"):
        Target.load(str(folder))


def test_pickled_weights_are_counted_before_they_are_loaded(tmp_path):
    folder = tiny_folder(tmp_path / "t")
    expected = placement.weights(folder)
    torch.save(tiny_model(vocab=288).state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert placement.weights(folder) == expected > 10_000


def test_a_target_of_pickled_shards_is_the_same_model(tmp_path):
    one = Target.load(str(tiny_folder(tmp_path / "a")))
    other = Target.load(str(llama_target(tmp_path / "b", PICKLED)))
    weights = other.model.state_dict()
    assert all(torch.equal(x, weights[name]) for name, x in one.model.state_dict().items())
