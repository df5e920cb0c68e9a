"""The corpus: batched answers are the target's own, states are its hidden states, jobs go on."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from rheo.bench.prompts import read_prompts
from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS
from rheo.models.target.target import Target
from rheo.training.batch_generate import answer, sample_tokens
from rheo.training.corpus import PROMPTS, generate, head_layers, read_texts, states, take_in
from rheo.training.corpus_files import HELD_OUT, Shard, States, Text, shards, write
from tests.tiny import END_OF_TURN, EOS, FAMILIES, VOCAB, byte_level_tokenizer, tiny_model

KINDS = (
    "arithmetic", "code", "dialogue", "explanation", "list", "question", "rewriting", "story",
    "summary",
)  # fmt: skip
ENDS = {EOS, END_OF_TURN}


def random_prompts(count: int, seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (count,), generator=generator).tolist()
    return [torch.randint(5, VOCAB, (n,), generator=generator).tolist() for n in lengths]


def one_by_one(
    model, prompt: list[int], temperature: float, uniforms: Tensor, max_new: int
) -> list[int]:
    """The same answer without a batch, a cache or a mask."""
    text = list(prompt)
    for u in uniforms[:max_new]:
        with torch.inference_mode():
            logits = model(torch.tensor([text])).logits[:, -1]
        text.append(int(sample_tokens(logits, torch.tensor([temperature]), u[None])))
        if text[-1] in ENDS:
            break
    return text


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_side_by_side_are_those_given_alone(family):
    model = tiny_model(family)
    prompts = random_prompts(7)
    temperatures = [1.0, 0.0, 0.7, 1.0, 0.0, 0.7, 1.0]
    found = answer(Target(model, None), prompts, temperatures, 40, torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(5)
    uniforms = torch.stack([torch.rand(7, generator=generator) for _ in range(40)])  # (steps, 7)
    for i, text in enumerate(found):
        alone = one_by_one(model, prompts[i], temperatures[i], uniforms[:, i], 40)
        assert text.tokens.tolist() == alone
        assert text.prompt == len(prompts[i]) and text.temperature == temperatures[i]
    ended = [text.tokens[-1].item() in ENDS for text in found]
    assert any(ended) and any(len(text.answer) < 40 for text in found)  # rows were taken out


def test_another_seed_gives_other_answers():
    target, prompts = Target(tiny_model(), None), random_prompts(3)
    one, two = (
        answer(target, prompts, [1.0, 1.0, 0.0], 20, torch.Generator().manual_seed(seed))
        for seed in (1, 2)
    )
    assert one[0].tokens.tolist() != two[0].tokens.tolist()
    assert one[2].tokens.tolist() == two[2].tokens.tolist()  # greedy needs no luck


def test_sampled_tokens_follow_the_softmax_at_their_temperature():
    logits = torch.tensor([[0.0, 1.0, -1.0, 2.0]])
    uniforms = (torch.arange(4000) + 0.5) / 4000
    drawn = sample_tokens(logits.expand(4000, -1), torch.full((4000,), 0.5), uniforms)
    shares = drawn.bincount(minlength=4) / 4000
    assert (shares - (logits[0] / 0.5).softmax(-1)).abs().max() <= 1e-3
    assert (shares - logits[0].softmax(-1)).abs().max() > 0.1  # the temperature counts


@pytest.mark.parametrize("family", FAMILIES)
def test_states_are_the_hidden_states_of_transformers(family):
    model = tiny_model(family)
    target = Target(model, None)
    low, mid, high = head_layers(target)
    target.tap((low, mid, high, target.layers))
    text = Text(torch.tensor(random_prompts(1)[0] * 3), 2, 1.0)
    found = states(target, text)
    with torch.inference_mode():
        output = model(text.tokens[None], output_hidden_states=True)
    expected = torch.cat([output.hidden_states[i][0] for i in (low, mid, high)], dim=-1)
    assert (found.features - expected).abs().max() <= 1e-5
    logits = found.last @ model.get_output_embeddings().weight.detach().T
    assert (logits - output.logits[0]).abs().max() <= 1e-4


def tiny_target() -> Target:
    return Target(tiny_model(vocab=288), byte_level_tokenizer())


def test_a_stopped_job_goes_on_to_the_same_corpus(tmp_path):
    prompts, lines = [f"What is {x}?" for x in "abcdefg"], []
    options = {"passes": 2, "max_new": 6, "batch": 3, "report": lines.append}
    generate(tiny_target(), prompts, tmp_path / "a", **options)
    files = sorted((tmp_path / "a").glob("*.safetensors"))
    assert len(files) == len(lines) == 6
    before = [load_file(file) for file in files]
    files[1].unlink()
    files[4].unlink()
    generate(tiny_target(), prompts, tmp_path / "a", **options)
    for file, tensors in zip(files, before, strict=True):
        again = load_file(file)
        assert all(torch.equal(again[key], tensors[key]) for key in tensors)
    assert len(lines) == 8 and "left" in lines[-1]
    with pytest.raises(RheoError, match="other prompts or settings"):
        generate(tiny_target(), prompts, tmp_path / "a", **options, seed=1)
    generate(tiny_target(), prompts, tmp_path / "b", **options, seed=1)
    other = load_file(tmp_path / "b" / files[0].name)
    assert not torch.equal(other["tokens"][:20], before[0]["tokens"][:20])
    texts = [text for shard in shards([tmp_path / "a"]) for text in shard.texts]
    assert len(texts) == 14 and {text.temperature for text in texts} <= {1.0, 0.7, 0.0}
    asked = {tuple(text.tokens[: text.prompt].tolist()) for text in texts}
    assert asked == {tuple(tiny_target().encode(prompt)) for prompt in prompts}


def test_texts_that_exist_are_taken_in(tmp_path):
    tokens, lengths = [5, 6, 7, 8, 9, 10, 11], np.array([3, 4])
    arrays = {"tokens": np.array(tokens, dtype=np.uint16), "total_len": lengths}
    arrays |= {"prompt_len": np.array([1, 2]), "temperature": np.array([0.0, 1.0])}
    np.savez(tmp_path / "texts.npz", **arrays)
    texts = read_texts(tmp_path / "texts.npz")
    target = tiny_target()
    take_in(target, texts, tmp_path / "corpus", batch=1, report=lambda line: None)
    found = shards([tmp_path / "corpus"])
    assert [shard.texts[0].tokens.tolist() for shard in found] == [[5, 6, 7], [8, 9, 10, 11]]
    assert [shard.texts[0].prompt for shard in found] == [1, 2]
    expected = states(target, texts[1]).features.bfloat16()
    assert torch.equal(found[1].states(0).features, expected)
    np.savez(tmp_path / "less.npz", tokens=arrays["tokens"])
    with pytest.raises(RheoError, match=r"less\.npz"):
        read_texts(tmp_path / "less.npz")


def test_generating_leaves_the_global_generator_alone(tmp_path):
    before = torch.get_rng_state()
    generate(tiny_target(), ["Hello"], tmp_path, max_new=4, report=lambda line: None)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_shard_gives_back_what_was_written(tmp_path):
    texts = [Text(torch.tensor([1, 2, 3]), 2, 0.7), Text(torch.tensor([4, 5, 6, 7]), 1, 0.0)]
    known = [States(torch.randn(n, 6).bfloat16(), torch.randn(n, 2).bfloat16()) for n in (3, 4)]
    write(tmp_path / "one.safetensors", texts, known, {"target": "t", "layers": "[1]"})
    shard = Shard(tmp_path / "one.safetensors")
    for i in range(2):
        assert torch.equal(shard.texts[i].tokens, texts[i].tokens)
        assert shard.texts[i].prompt == texts[i].prompt
        assert torch.equal(shard.states(i).features, known[i].features)
        assert torch.equal(shard.states(i).last, known[i].last)
    assert not list(tmp_path.glob("*.part"))


def test_what_is_no_corpus_is_one_sentence(tmp_path):
    with pytest.raises(RheoError, match="rheo corpus"):
        shards([tmp_path])
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(RheoError, match=r"bad\.safetensors"):
        shards([tmp_path])
    text, known = Text(torch.tensor([1, 2]), 1, 1.0), States(torch.ones(2, 3), torch.ones(2, 1))
    (tmp_path / "bad.safetensors").unlink()
    for name in "ab":
        write(tmp_path / f"{name}.safetensors", [text], [known], {"target": name, "layers": "[]"})
    with pytest.raises(RheoError, match="different targets"):
        shards([tmp_path])


def test_one_prompt_in_many_is_held_out_whatever_its_answer():
    texts = [Text(torch.tensor([i, i * 7 + 3, 99]), 2, 1.0) for i in range(3200)]
    held = [text.held_out for text in texts]
    assert 60 <= sum(held) <= 3200 // HELD_OUT + 40
    other = [Text(torch.cat([text.tokens[:2], torch.tensor([5, 6])]), 2, 0.0) for text in texts]
    assert [text.held_out for text in other] == held


def corpus_prompts() -> list[str]:
    return [prompt.text for prompt in read_prompts(sorted(PROMPTS.glob("*.jsonl")))]


def test_there_are_2000_prompts_of_nine_kinds():
    assert sorted(path.stem for path in PROMPTS.glob("*.jsonl")) == list(KINDS)
    prompts = corpus_prompts()
    assert len(prompts) >= 2000 and len(set(prompts)) == len(prompts)
    for kind in KINDS:
        lines = (PROMPTS / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) >= 200
        assert all(json.loads(line)["suite"] == kind for line in lines)


def test_no_prompt_is_one_of_those_that_measure():
    measured: set[str] = set()
    for path in (ASSETS / "prompts").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            turns = json.loads(line)["prompt"]
            measured |= {turns} if isinstance(turns, str) else set(turns)
    plain = {" ".join(prompt.lower().split()) for prompt in measured}
    assert not [p for p in corpus_prompts() if " ".join(p.lower().split()) in plain]
