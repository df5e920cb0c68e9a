"""Order, tail, target and inverse CDF against independent references."""

import math

import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from rheo.algorithm.distribution import (
    draw,
    locate,
    log_tail_mass,
    order,
    support,
    tail,
    target_distribution,
)
from rheo.algorithm.walk import TargetRows, _distribution_on_support
from rheo.training.batch_generate import sample_tokens

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_order_is_by_value_then_id(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (torch.randn(50, 200, generator=generator) * 3).round() / 2  # many ties
    logits[0, :5] = torch.tensor([0.0, -0.0, 0.0, -0.0, 0.0])  # one value, five times
    logits[1, 7] = -math.inf
    logits = logits.to(dtype)
    for count in (1, 17, 200):
        values, ids = order(logits, count)
        for row, got, value in zip(logits.tolist(), ids.tolist(), values.tolist(), strict=True):
            want = sorted(range(200), key=lambda i: (-row[i], i))[:count]
            assert got == want
            assert value == [row[i] for i in want]


def test_support_is_the_softmax_of_what_is_kept() -> None:
    logits = torch.tensor([[2.0, 0.0, 1.0, -1.0]], dtype=torch.float64)
    s = support(logits, 3)
    q = [math.exp(x) for x in (2, 1, 0)]
    assert s.ids.tolist() == [[0, 2, 1]]
    assert s.log_q.exp()[0].tolist() == pytest.approx([x / sum(q) for x in q])
    assert float(s.coverage) == pytest.approx(sum(q) / (sum(q) + math.exp(-1)))
    assert support(logits, None).ids.shape == (1, 4)


def test_tail_mass_is_exact_where_one_minus_the_top_is_not() -> None:
    logits = torch.tensor([30.0, 2.0, 1.0, 0.0])
    s = support(logits, None)
    exact = support(logits.double(), None).log_q[1:].logsumexp(-1)
    assert float(log_tail_mass(s, 1)) == pytest.approx(float(exact), rel=1e-6)
    assert float(1 - s.log_q[0].exp()) == 0.0  # what the difference would have said


def test_tail_is_tempered_and_renormalised() -> None:
    s = support(torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64).log(), None)
    for T in (0.5, 1.0, 1.7):
        raw = [0.3 ** (1 / T), 0.2 ** (1 / T), 0.1 ** (1 / T)]
        assert tail(s, 1, T).tolist() == pytest.approx([0.0, *(x / sum(raw) for x in raw)])
    assert tail(s, 1, 0.0).tolist() == [0.0, 1.0, 0.0, 0.0]
    spent = support(torch.tensor([1.0, 0.0, 0.0]).log(), None)
    assert tail(spent, 1, 1.0).tolist() == [0.0, 0.0, 0.0]  # no tail mass: no probe


@pytest.mark.parametrize(
    ("T", "top_k", "top_p"), [(1, 0, 1), (0.7, 5, 1), (1.3, 0, 0.8), (0.9, 9, 0.6)]
)
def test_target_is_that_of_plain_sampling(T: float, top_k: int, top_p: float) -> None:
    logits = torch.randn(64, 40, generator=torch.Generator().manual_seed(1))
    ours = target_distribution(logits, T, top_k, top_p)
    theirs = TemperatureLogitsWarper(float(T))(None, logits)
    if top_k:
        theirs = TopKLogitsWarper(top_k)(None, theirs)
    if top_p < 1:
        theirs = TopPLogitsWarper(top_p)(None, theirs)
    assert torch.equal(ours == 0, theirs.softmax(-1) == 0)
    assert torch.allclose(ours, theirs.softmax(-1), atol=1e-7)


def test_greedy_takes_the_lowest_of_equal_ids() -> None:
    assert target_distribution(torch.tensor([1.0, 3.0, 3.0]), 0.0).tolist() == [0.0, 1.0, 0.0]
    assert target_distribution(torch.zeros(2, dtype=torch.bfloat16), 1.0).dtype == torch.float32


def test_locate_inverts_the_cumulative_sum() -> None:
    masses = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64)
    at = {0.0: 1, 0.2499: 1, 0.25: 3, 0.7499: 3, 0.75: 4, 0.9999: 4, 1.0: 4, 2.0: 4, -0.1: 1}
    for x, index in at.items():
        assert int(locate(masses, torch.tensor(x, dtype=torch.float64))) == index
    uniform = torch.arange(100_000, dtype=torch.float64) / 100_000
    counts = torch.bincount(draw(masses.expand(100_000, 6), uniform), minlength=6)
    assert counts.tolist() == [0, 25_000, 0, 50_000, 25_000, 0]


@pytest.mark.parametrize("T", [1e-2, 1e-4, 1e-6, 1e-30, 1e-60])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_ties_stay_ties_at_any_temperature(T: float, dtype: torch.dtype) -> None:
    """Divided first, 20 / 1e-6 has no digits left below 1, and a logsumexp's log 2 is lost."""
    logits = torch.tensor([[20.0, 20.0, 1.0, 0.0]], dtype=dtype)
    halves = torch.tensor([0.5, 0.5, 0.0, 0.0]).double()
    assert torch.equal(target_distribution(logits, T)[0].double(), halves)
    assert torch.equal(tail(support(logits.float(), None), 0, T)[0].double(), halves)
    inside = _distribution_on_support(
        TargetRows(logits, T), torch.tensor([0]), torch.tensor([[0, 2]])
    )
    assert inside[0] == pytest.approx([0.5, 0.0, 0.5])
    drawn = [
        sample_tokens(logits, torch.tensor([T]).float(), torch.tensor([u])) for u in (0.4, 0.6)
    ]
    assert T < 1e-38 or drawn == [0, 1]
