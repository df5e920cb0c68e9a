"""Training: the unrolled head is the head that decodes, its loss and gradient are those it claims,
and a run that was stopped goes on as if it had not been."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from rheo.errors import RheoError
from rheo.models.draft.checkpoints import read
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.target.target import Target
from rheo.training import corpus_files
from rheo.training.batches import collate, epoch_batches, plan
from rheo.training.corpus import generate
from rheo.training.corpus_files import States, Text, shards
from rheo.training.evaluate import HeldOut
from rheo.training.init_head import coverage, draft_vocabulary, initial_head, save
from rheo.training.loss import soft_loss
from rheo.training.run import train
from rheo.training.trainer import Recipe, Trainer
from rheo.training.unrolled_head import UnrolledHead
from tests.models.draft.heads import DT, LAYERS, random_head, random_text, write
from tests.tiny import FAMILIES, byte_level_tokenizer, tiny_model

SWITCHES = [(), ("norm_before_residual",), ("fc_norm", "q_norm", "norm_output", "attention_bias")]


def unrolled(folder: Path) -> UnrolledHead:
    return UnrolledHead(read(folder), random_text(1).embeddings, LAYERS)


def chain_logits(head: Eagle3, tokens: Tensor, features: Tensor, root: int, depth: int) -> Tensor:
    """What decoding computes: `extend` up to slot `root`, then `depth` levels of one node each."""
    head.reset(root + 1, depth)
    logits = head.extend(tokens[: root + 2], features[: root + 1])
    for k in range(depth):
        logits = head.level(tokens[root + 2 + k, None], torch.zeros(1, dtype=torch.int64))[0]
    return logits


@pytest.mark.parametrize("on", SWITCHES, ids="+".join)
def test_every_depth_of_the_unroll_is_a_chain_of_the_decoding_head(tmp_path, on):
    head = unrolled(write(tmp_path, *random_head(on=on)))
    texts = [random_text(9, seed=1), random_text(9, seed=2)]
    tokens = torch.stack([text.tokens for text in texts])
    outputs = head.unroll(tokens, torch.stack([text.features for text in texts]), 4)
    logits = outputs @ head.weights["lm_head"]  # (K, B, S, Vd)
    for b, text in enumerate(texts):
        for depth in range(4):
            for slot in range(depth, 9):
                root = slot - depth
                chain = chain_logits(head, text.tokens, text.features, root, depth)
                assert (logits[depth, b, slot] - chain).abs().max() <= 1e-4


def test_a_chain_from_another_root_is_noticed(tmp_path):
    # the control of the test above: one slot too many of true features gives other logits
    head, text = unrolled(write(tmp_path, *random_head())), random_text(9)
    logits = head.unroll(text.tokens[None], text.features[None], 3) @ head.weights["lm_head"]
    chain = chain_logits(head, text.tokens, text.features, 6, 1)
    assert (logits[2, 0, 7] - chain).abs().max() > 1e-2


def test_padding_and_neighbours_change_nothing(tmp_path):
    head, short, long = (
        unrolled(write(tmp_path, *random_head())), random_text(5), random_text(12, seed=3)
    )  # fmt: skip
    texts = [Text(short.tokens, 2, 1.0), Text(long.tokens, 4, 1.0)]
    states = [States(torch.cat([x.features, x.features[:1]]), x.features) for x in (short, long)]
    states = [States(s.features, s.features[:, :DT]) for s in states]
    batch = collate(texts, states, torch.device("cpu"))
    together = head.unroll(batch.tokens, batch.features, 3)
    alone = head.unroll(short.tokens[None], short.features[None], 3)
    assert (together[:, 0, :5] - alone[:, 0]).abs().max() <= 1e-5
    learning = batch.learning(3)
    assert learning[:, 0].int().tolist() == [
        [0, 1, 1, 1] + [0] * 8, [0, 0, 1, 1] + [0] * 8, [0, 0, 0, 1] + [0] * 8
    ]  # fmt: skip


@pytest.mark.parametrize("tv", [0.0, 0.3, 1.0])
def test_loss_and_gradient_equal_autograd(tv):
    generator = torch.Generator().manual_seed(0)
    rand = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    outputs, head = rand(3, 300, 5).requires_grad_(), rand(5, 11).requires_grad_()
    last, teacher, weights = rand(300, 7), rand(7, 11), rand(3, 300).abs()
    weights[2, 10:40] = 0
    log_q, p = (outputs @ head).log_softmax(-1), (last @ teacher).softmax(-1)
    distance = (p - log_q.exp()).abs().sum(-1) / 2
    expected = (weights * ((1 - tv) * -(p * log_q).sum(-1) + tv * distance)).sum()
    wanted = torch.autograd.grad(expected, [outputs, head])
    single = [x.detach().float().requires_grad_() for x in (outputs, head)]
    loss = soft_loss(*single, last.float(), lambda x: x @ teacher.float(), weights.float(), tv)
    found = torch.autograd.grad(loss, single)
    assert abs(loss.item() / expected.item() - 1) <= 1e-5
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max()


def tiny_corpus(folder: Path, model, layers: tuple[int, int, int], texts: int = 24) -> list[Text]:
    """A corpus of random texts with the true hidden states of a tiny target."""
    generator = torch.Generator().manual_seed(3)
    made, known = [], []
    for _ in range(texts):
        length = int(torch.randint(8, 20, (1,), generator=generator))
        tokens = torch.randint(0, 30, (length,), generator=generator)
        with torch.no_grad():
            hidden = model(tokens[None], output_hidden_states=True).hidden_states
        made.append(Text(tokens, 3, 1.0))
        known.append(States(torch.cat([hidden[i][0] for i in layers], -1), hidden[-1][0]))
    about = {"target": "tiny", "layers": str(list(layers))}
    corpus_files.write(folder / "one.safetensors", made, known, about)
    return made


def tiny_trainer(folder: Path, recipe: Recipe, family: str = "llama") -> Trainer:
    model = tiny_model(family)
    if not folder.exists():
        tiny_corpus(folder, model, (2, 4, 5))
    _, checkpoint = initial_head(model, torch.arange(0, 40))
    head = UnrolledHead(checkpoint, model.get_input_embeddings().weight, 8)
    return Trainer(head, model, [folder], recipe, half=False)


def advance(trainer: Trainer, steps: int) -> list[float]:
    losses = []
    for batch in trainer.batches():
        if trainer.step == steps:
            return losses
        losses.append(trainer.learn(batch))


def test_a_resumed_run_equals_one_without_a_stop(tmp_path):
    recipe = Recipe(steps=20, tokens=80, warmup=2, unroll=3)
    whole, first = (tiny_trainer(tmp_path / "corpus", recipe) for _ in range(2))
    before = torch.get_rng_state()
    losses = advance(whole, 20)
    part = advance(first, 11)  # in the middle of a pass
    first.save(tmp_path / "checkpoint.pt")
    second = tiny_trainer(tmp_path / "corpus", recipe)
    second.resume(tmp_path / "checkpoint.pt")
    assert part + advance(second, 20) == losses
    for key, weight in whole.head.weights.items():
        assert torch.equal(weight, second.head.weights[key])
    assert whole.tokens == second.tokens and whole.epoch >= 2
    assert torch.equal(torch.get_rng_state(), before)
    third = tiny_trainer(tmp_path / "corpus", recipe)  # the control: without the checkpoint
    assert advance(third, 9) != losses[11:]


def test_training_learns_what_the_target_says(tmp_path):
    recipe = Recipe(steps=120, tokens=80, rate=3e-3, warmup=5, unroll=3)
    trainer = tiny_trainer(tmp_path / "corpus", recipe)
    losses = advance(trainer, 120)
    assert sum(losses[-10:]) < 0.97 * sum(losses[:10])


def test_held_out_prompts_are_never_trained_on(tmp_path):
    texts = tiny_corpus(tmp_path, tiny_model(), (2, 4, 5), texts=200)
    held = {tuple(text.tokens.tolist()) for text in texts if text.held_out}
    seen = set()
    for batch in epoch_batches(shards([tmp_path]), 80, 0, 0, 0, torch.device("cpu")):
        for row, stop in zip(batch.tokens.tolist(), batch.stop.tolist(), strict=True):
            seen.add(tuple(row[: stop + 2]))
    assert held and not held & seen
    assert seen == {tuple(text.tokens.tolist()) for text in texts} - held


def test_a_pass_takes_every_text_once_within_the_budget():
    lengths = torch.randint(5, 60, (500,), generator=torch.Generator().manual_seed(0)).tolist()
    one, two = (plan(lengths, 256, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    for batches in (one, two):
        assert sorted(index for batch in batches for index in batch) == list(range(500))
        assert all(max(lengths[i] for i in batch) * len(batch) <= 256 for batch in batches)
    assert one != two
    padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in one)
    assert padded <= 1.1 * sum(lengths)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_initial_head_is_saved_and_read_back(tmp_path, family):
    model = tiny_model(family)
    config, checkpoint = initial_head(model, torch.tensor([1, 2, 5, 40, 90]))
    embeddings = model.get_input_embeddings().weight.detach()
    head = UnrolledHead(checkpoint, embeddings, 8)
    save(head, config, tmp_path)
    again = Eagle3.load(tmp_path, embeddings, 8)
    assert again.feature_layers == (2, 4, 5) and again.config.layout == "safeailab"
    assert again.target_ids.tolist() == [1, 2, 5, 40, 90]
    tokens, features = torch.arange(10), torch.randn(9, 96, generator=torch.Generator())
    with torch.inference_mode():
        ours = head.unroll(tokens[None], features[None], 1)[0, 0] @ head.weights["lm_head"]
    theirs = again.teacher_forced(tokens, features)
    assert (ours - theirs).abs().max() <= 2e-2 * ours.abs().max()  # float16 weights
    assert load_file(tmp_path / "model.safetensors")["fc.weight"].dtype == torch.float16


def test_a_head_with_its_own_embeddings_keeps_them(tmp_path):
    config, checkpoint = initial_head(tiny_model(), torch.arange(5))
    target = tiny_model().get_input_embeddings().weight.detach()
    checkpoint.tensors["embeddings"] = (target + 1).half().float()
    save(UnrolledHead(checkpoint, target, 8), config, tmp_path, checkpoint.tensors["embeddings"])
    again = Eagle3.load(tmp_path, target, 8)
    assert torch.equal(again.embeddings, checkpoint.tensors["embeddings"].half())


def test_a_weight_beyond_float16_is_refused(tmp_path):
    config, checkpoint = initial_head(tiny_model(), torch.arange(5))
    checkpoint.tensors["fc"][0, 0] = 1e6
    head = UnrolledHead(checkpoint, tiny_model().get_input_embeddings().weight, 8)
    with pytest.raises(RheoError, match=r"fc\.weight"):
        save(head, config, tmp_path)


def test_the_draft_vocabulary_is_the_most_frequent_tokens():
    ids, share = draft_vocabulary([torch.tensor([3, 3, 3, 1, 1, 6])], 8, 3, always=[7])
    assert ids.tolist() == [1, 3, 7]
    assert share == pytest.approx(5 / 6)
    answers = [torch.tensor([1, 2]), torch.tensor([2, 5])]
    assert coverage(answers, 8, torch.tensor([2, 7])) == 0.5
    assert coverage(answers, 8, None) == 1.0


def test_overlap_is_that_of_a_loop_over_chains(tmp_path):
    model, layers = tiny_model().requires_grad_(False), (2, 4, 5)
    texts = tiny_corpus(tmp_path, model, layers, texts=3)
    _, checkpoint = initial_head(model, torch.arange(0, 60, 2))
    head = UnrolledHead(checkpoint, model.get_input_embeddings().weight, 8)
    outputs = [model(text.tokens[None], output_hidden_states=True) for text in texts]
    known = [
        States(torch.cat([o.hidden_states[i][0] for i in layers], -1), o.hidden_states[-1][0])
        for o in outputs
    ]
    scores = HeldOut(texts, known, model, head.target_ids).score(head, 2)
    for depth in range(2):
        overlaps, agreed = [], []
        for text, state, output in zip(texts, known, outputs, strict=True):
            for root in range(text.prompt - 1, len(text.tokens) - 2 - depth):
                q = chain_logits(head, text.tokens, state.features, root, depth).softmax(-1)
                p = output.logits[0, root + depth + 1].softmax(-1)  # over the full vocabulary
                overlaps.append(torch.minimum(p[::2][:30], q).sum())
                agreed.append(float(p.argmax() == 2 * q.argmax()))
        assert scores[depth].slots == len(overlaps)
        assert scores[depth].overlap == pytest.approx(
            float(sum(overlaps)) / len(overlaps), abs=1e-5
        )
        assert scores[depth].agreement == pytest.approx(sum(agreed) / len(agreed), abs=1e-6)


def test_a_run_goes_from_prompts_to_a_head_that_decodes(tmp_path):
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    prompts = [f"What is {i}?" for i in range(70)]
    generate(target, prompts, tmp_path / "corpus", max_new=12, report=lambda line: None)
    recipe = Recipe(steps=4, tokens=200, unroll=2, evaluate=2, checkpoint=2)
    lines: list[dict] = []
    options = {"draft_vocab": 50, "held_out_tokens": 30, "report": lines.append}
    folder = train(target, [tmp_path / "corpus"], tmp_path / "out", recipe, **options)
    assert lines[0]["draft_vocabulary"] == 50 and 0 < lines[0]["coverage"] <= 1
    evaluations = [line for line in lines if "overlap" in line]
    assert [line["step"] for line in evaluations] == [0, 2, 4]
    assert all(0 < x < 1 for line in evaluations for x in line["overlap"])
    log = (tmp_path / "out" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in log] == lines
    head = Eagle3.load(folder, target.embeddings, target.layers)
    more = train(
        target, [tmp_path / "corpus"], tmp_path / "more", recipe, init=folder, half=True, **options
    )  # from a head, in bfloat16
    again = Eagle3.load(more, target.embeddings, target.layers)
    assert torch.equal(again.target_ids, head.target_ids)
    assert not torch.equal(again.weights["fc"], head.weights["fc"])
    longer = replace(recipe, steps=6)
    train(target, [tmp_path / "corpus"], tmp_path / "out", longer, **options)
    assert [line["step"] for line in lines if "loss" in line] == [4, 4, 6]


def test_a_corpus_of_other_layers_is_refused(tmp_path):
    target = Target(tiny_model(vocab=288), byte_level_tokenizer())
    tiny_corpus(tmp_path, tiny_model(), (1, 2, 3))
    with pytest.raises(RheoError, match=r"\[1, 2, 3\].*\[2, 4, 5\]"):
        train(target, [tmp_path], tmp_path / "out", Recipe(steps=1), draft_vocab=9)
