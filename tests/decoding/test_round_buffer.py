"""A round's buffer: every array has the type and the shape that its field says."""

import dataclasses
import typing

import numpy as np
import pytest
import torch

from rheo.algorithm.budget import Budget
from rheo.algorithm.tree import Kept, Tree, prune
from rheo.decoding import loop, round_buffer
from rheo.decoding.round_buffer import (
    OCTAVES,
    OUTSIDE,
    BoolArray,
    FloatArray,
    IntArray,
    RoundBuffer,
)
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens

pytestmark = pytest.mark.usefixtures("one_thread")
TYPES = {BoolArray: np.bool_, IntArray: np.int64, FloatArray: np.float64}
KEPT = ("candidate", "token", "parent", "depth", "expansion", "p", "accept")
CANDIDATES = ("kind", "candidate_token", "log_proxy", "score", "true")
ALONE = ("expected_accepted", "stop_row", "emitted_token", "emitted_low", "emitted_high")


def wrong_types(buffer: RoundBuffer) -> list[str]:
    """Names of the arrays whose dtype is not their annotation's."""
    hints = typing.get_type_hints(RoundBuffer)
    return [
        f.name
        for f in dataclasses.fields(buffer)
        if hints[f.name] in TYPES and getattr(buffer, f.name).dtype != TYPES[hints[f.name]]
    ]


@pytest.mark.parametrize("name", [*DRAFTING, "autoregressive"])
def test_types_and_shapes(models, name: str) -> None:
    run = decoding(models, strategy=name, max_new_tokens=12)
    new_tokens(run)
    p = run.params
    for decoded in run.rounds:
        buffer = decoded.buffer
        assert not wrong_types(buffer)
        E, K = (1 + p.K * (p.depth - 1), p.K) if p.drafts else (1, 1)
        rows = p.R + 1 if p.drafts else 1
        n, vocab = len(buffer.visited), run.target.vocab_size
        assert {getattr(buffer, field).shape for field in KEPT} == {(rows,)}
        assert {getattr(buffer, field).shape for field in CANDIDATES} == {(E, K)}
        assert {getattr(buffer, field).shape for field in ALONE} == {()}
        assert buffer.expanded.shape == (E,)
        assert buffer.outside_ids.shape == buffer.outside_p.shape == (n, min(OUTSIDE, vocab))
        assert buffer.rest_counts.shape == buffer.rest_masses.shape == (n, OCTAVES)
        assert buffer.support_p.shape == buffer.support_log_q.shape == buffer.support_ids.shape


@pytest.mark.parametrize("budget", [Budget(theta=0.1), Budget(theta=1.0)], ids=["some", "none"])
def test_rows_that_a_budget_leaves_over_are_no_nodes(models, monkeypatch, budget) -> None:
    """Off a CPU a tree keeps its R + 1 rows; what stands there for no node is not read back."""

    def padded(tree, root, R, of):
        side_by_side = Tree(*(None if x is None else lead(x) for x in tree))
        side_by_side = side_by_side._replace(depth=tree.depth)
        return Kept(*(x[0] for x in prune(side_by_side, root[None], R, of)))

    def lead(x):
        return type(x)(*(part[None] for part in x)) if isinstance(x, tuple) else x[None]

    runs = []
    for each, record in ((prune, True), (padded, True), (padded, False)):
        monkeypatch.setattr(loop, "prune", each)
        run = decoding(models, seed=3, max_new_tokens=20)
        run._record = record
        run._ask_budget = lambda: budget
        new_tokens(run)
        runs.append(run)
    for own, other, bare in zip(*(run.rounds for run in runs), strict=True):
        assert other.emitted == own.emitted == bare.emitted
        for name in KEPT:
            both = getattr(other.buffer, name), getattr(own.buffer, name)
            np.testing.assert_allclose(*both, rtol=1e-4)
    assert max(len(r.buffer.token) for r in runs[0].rounds) < 13


def test_a_wrong_type_would_show(models) -> None:
    run = decoding(models, max_new_tokens=2)
    new_tokens(run)
    buffer = run.rounds[0].buffer
    assert wrong_types(dataclasses.replace(buffer, token=buffer.token.astype(float))) == ["token"]


def test_ids_of_53_bits_are_exact_and_there_is_one_copy(monkeypatch) -> None:
    copies = []
    cpu = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x: copies.append(1) or cpu(x))
    parts = {
        "id": torch.tensor([2**53 - 1, -1]),
        "live": torch.tensor([[True], [False]]),
        "p": torch.tensor(0.1),
    }
    arrays = round_buffer._to_host(parts)
    assert arrays["id"].tolist() == [2**53 - 1, -1] and arrays["id"].dtype == np.int64
    assert arrays["live"].tolist() == [[True], [False]]
    assert arrays["p"] == np.float32(0.1) and arrays["p"].dtype == np.float64
    assert len(copies) == 1
