"""Training: the unrolled head is the head that decodes, its loss and gradient are those it claims,
and a run that was stopped goes on as if it had not been."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from rheo.batches import collate, plan
from rheo.draft.eagle3 import Eagle3
from rheo.draft.layouts import read
from rheo.errors import RheoError
from rheo.held_out import HeldOut
from rheo.newborn import draft_vocabulary, newborn, save
from rheo.shards import States, Text, write as write_shard
from rheo.soft_loss import soft_loss
from rheo.train import Recipe, Trainer
from rheo.unroll import UnrolledHead
from tests.draft.heads import DT, LAYERS, D, random_head, random_text, write
from tests.tiny import FAMILIES, tiny_model

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
    loss = soft_loss(*single, last.float(), teacher.float(), weights.float(), tv)
    found = torch.autograd.grad(loss, single)
    assert abs(loss.item() / expected.item() - 1) <= 1e-5
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max()
