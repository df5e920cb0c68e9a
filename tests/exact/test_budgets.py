"""Budgets against enumerated figures; the two that look ahead are biased, and it shows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rheo.algorithm.budget import ALL, Budget
from rheo.exact.audit import audit
from rheo.exact.vector_files import NAMES, audit_case
from rheo.exact.worlds import World, random_world
from rheo.params import DecodeParams

pytestmark = pytest.mark.usefixtures("one_thread")

VECTORS = Path(__file__).parents[1] / "vectors" / "budget_rounds.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text().splitlines()]
FIGURES = ("tv", "expected_accepted", "first_acceptance")
LOSSLESS = ("rheo", "topk", "rheo-rrsw")
STEP = [1.0 + 0.02 * n + (0.35 if n > 2 else 0.0) for n in range(16)]  # as measured costs have


def agree(ours: dict, entry: dict) -> bool:
    close = all(abs(ours[key] - entry[key]) <= 1e-9 for key in FIGURES if key in entry)
    kinds = entry.get("accepted_by_kind", {})
    return close and all(abs(ours["accepted_by_kind"][k] - v) <= 1e-9 for k, v in kinds.items())


def theta_of(entry: dict) -> float:
    return (entry.get("budget") or {}).get("theta", 0.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_vectors_are_reproduced(case: dict) -> None:
    ours = audit_case(case)
    for name, entry in case["expected"].items():
        if not theta_of(entry):
            assert agree(ours[name], entry), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_vectors_of_thresholds_are_those_without_one(case: dict) -> None:
    """All of the file's threshold entries were made with a theta that drops nothing."""
    entries = {name: e for name, e in case["expected"].items() if theta_of(e)}
    bare = {name: {**e, "budget": None} for name, e in entries.items()}
    ours = audit_case({**case, "expected": bare}) if entries else {}
    assert all(agree(ours[name], entry) for name, entry in entries.items())


def best_first(world: World, params: DecodeParams) -> list[float]:
    """Return the scores of Top-K's candidates from the highest, by hand: no draw decides them."""
    found, beam = [], [((), 1.0)]
    for _ in range(params.depth):
        children = []
        for context, score in beam:
            q = sorted(range(world.vocab), key=lambda t, row=world.q[context]: (-row[t], t))
            kept = [world.q[context][t] for t in q[: params.S]]
            shares = [x / sum(kept) for x in kept[: params.K]]
            children += [
                ((*context, t), score * x) for t, x in zip(q[: params.K], shares, strict=True)
            ]
        found += [score for _, score in children]
        beam = sorted(children, key=lambda child: -child[1])[: params.K]
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_a_threshold_keeps_what_reaches_it(seed: int) -> None:
    """Top-K's tree is the same at every draw: with theta it is the tree of as many nodes."""
    world = random_world(torch.Generator().manual_seed(seed), 4, 3, 1.5)
    params = DecodeParams("topk", m=0, K=3, depth=3, R=12, S=4, T=1.0)
    scores, sizes = best_first(world, params), set()
    for theta in (0.02, 0.1, 0.3):
        size = sum(score >= theta for score in scores[:12])
        sizes.add(size)
        with_theta = audit(world, params, budget=Budget(theta=theta))
        # R counts from 1; without any node nothing is accepted
        wanted = audit(world, replace(params, R=size)).expected_accepted if size else 0.0
        assert with_theta.expected_accepted == pytest.approx(wanted, abs=1e-12)
    assert len(sizes) > 1


def budgets(generator: torch.Generator) -> list[Budget]:
    """Return one of each kind, and together."""
    theta, grow = (float(torch.rand(1, generator=generator)) * 0.4 for _ in range(2))
    slope = 0.02 + 0.2 * float(torch.rand(1, generator=generator))
    convex = torch.tensor([1 + slope * n + 0.004 * n * n for n in range(16)], dtype=torch.float64)
    step = torch.tensor(STEP, dtype=torch.float64)
    return [
        Budget(theta=theta),
        Budget(cost=convex),
        Budget(cost=step),
        Budget(grow_min=grow),
        Budget(theta=theta / 4, cost=convex, grow_min=grow),
    ]


def test_random_worlds_are_lossless_and_their_trees_smaller() -> None:
    generator = torch.Generator().manual_seed(1)
    smaller = 0
    for seed in range(12):
        world = random_world(torch.Generator().manual_seed(seed), 4, 3, 1.2, ties=seed % 3 == 0)
        params = DecodeParams(m=seed % 2, K=2, depth=3, R=6, S=4, T=[1.0, 0.6, 1.4][seed % 3])
        for name in LOSSLESS:
            whole = audit(world, params, name)
            for budget in budgets(generator):
                found = audit(world, params, name, budget=budget)
                assert found.tv < 1e-12
                if not budget.stops_growth:  # else other nodes may take the places
                    assert found.expected_accepted <= whole.expected_accepted + 1e-12
                smaller += found.expected_accepted < whole.expected_accepted - 1e-6
    assert smaller > 60  # of 180: the budgets did something


def test_looking_ahead_is_biased() -> None:
    """The control: the best n of the whole list, with a cost that has a step."""
    cost = torch.tensor(STEP, dtype=torch.float64)
    worst = 0.0
    for seed in range(40):
        world = random_world(torch.Generator().manual_seed(seed), 4, 2, 1.2)
        params = DecodeParams(m=1, K=3, depth=2, R=9, S=4)
        assert audit(world, params, budget=Budget(cost=cost)).tv < 1e-12
        worst = max(worst, audit(world, params, budget=Budget(cost=cost, look_ahead=True)).tv)
    assert worst > 0.01


def test_growing_by_the_sum_is_biased() -> None:
    """The control: in the world made for it, by 0.18."""
    case = CASES[0]
    assert case["expected"]["control:grow-by-sum"]["tv"] == pytest.approx(0.18)
    assert audit_case(case)["control:grow-by-sum"]["tv"] == pytest.approx(0.18, abs=1e-9)


def test_the_controls_share_their_names_with_a_strategy() -> None:
    assert {name for name in NAMES if name.startswith("control:")} == {
        "control:cost-look-ahead",
        "control:grow-by-sum",
    }
    assert not (ALL.prunes or ALL.stops_growth)
