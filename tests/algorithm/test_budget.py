"""When a tree is large enough: sizes by hand, one tree against a batch, and equal scores."""

import pytest
import torch

from rheo.algorithm.budget import ALL, Budget
from rheo.algorithm.expansion import Policy
from rheo.algorithm.tree import grow, prune
from rheo.errors import RheoError

BUDGETS = [
    Budget(theta=0.05),
    Budget(cost=torch.tensor([1 + 0.1 * n for n in range(20)])),
    Budget(grow_min=0.3),
    Budget(theta=0.02, grow_min=0.2),
    Budget(cost=torch.tensor([1 + 0.3 * n for n in range(20)])),
]


def test_sizes_by_hand() -> None:
    score = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.2, 0.2]]).double().log()
    assert Budget(theta=0.2).size(score).tolist() == [2, 3]  # equal counts as reached
    # 1, 1.6 / 1.2, 1.9 / 1.4, 2 / 1.6: 1, 1.333, 1.357, 1.25; and 1, 1, 1, 1
    assert Budget(cost=torch.tensor([1.0, 1.2, 1.4, 1.6], dtype=torch.float64)).size(
        score
    ).tolist() == [2, 3]
    assert ALL.size(score).tolist() == [3, 3]
    assert ALL.size(torch.tensor([0.0, -torch.inf])).item() == 1


def test_a_cost_that_is_too_short_is_refused() -> None:
    with pytest.raises(RheoError, match="known up to 1 nodes and the tree may have 3"):
        Budget(cost=torch.tensor([1.0, 1.1])).size(torch.zeros(3))


def test_the_cost_goes_to_where_the_scores_are() -> None:
    """A run on a GPU is given what the host has measured."""
    cost = Budget(cost=torch.tensor([1.0, 1.1, 1.2, 1.3]))
    assert cost.size(torch.zeros(3, device="meta")).device.type == "meta"


def test_growth_looks_at_the_best_node_alone() -> None:
    score = torch.tensor([[0.5, 0.1], [0.3, 0.29]]).double().log()
    assert Budget(grow_min=0.5).grows(score).tolist() == [True, False]
    assert Budget(grow_sum=0.59).grows(score).tolist() == [True, True]


def drawn(generator: torch.Generator, count: int, budget: Budget, batch: bool):
    """Return the pruned trees of some draws, side by side or one by one."""
    V, K, depth, R = 12, 3, 4, 15
    root = torch.randn(count, V, generator=generator) * 2
    table = torch.randn(V, V, generator=generator) * 2
    uniforms = torch.rand(count, 1 + K * (depth - 1), 1, generator=generator)

    def one(logits, u):
        def probes(d, level):
            return u[..., :1, :] if d == 0 else u[..., 1 + (d - 1) * K : 1 + d * K, :]

        tree = grow(
            logits, lambda t, p: table[t], probes, Policy(m=1, J=1), K=K, depth=depth, S=8, T=1.0,
            budget=budget,
        )  # fmt: skip
        return prune(tree, torch.zeros(logits.shape[:-1], dtype=torch.int64), R, budget)

    if batch:
        return one(root, uniforms)
    return [one(root[i], uniforms[i]) for i in range(count)]


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_tree_has_the_rows_that_a_batch_fills(budget: Budget) -> None:
    """Of one tree the rows left over are cut off; side by side they stay, with no way there."""
    many = drawn(torch.Generator().manual_seed(2), 30, budget, batch=True)
    single = drawn(torch.Generator().manual_seed(2), 30, budget, batch=False)
    sizes = set()
    for i, tree in enumerate(single):
        n = len(tree.token)
        sizes.add(n)
        for name in ("token", "parent", "depth", "child"):
            assert torch.equal(getattr(many, name)[i][:n], getattr(tree, name)), name
        assert torch.equal(many.mask[i][:n, :n], tree.mask)
        assert bool((many.node[i][n:] == -1).all())
        assert int(many.child[i].max()) < n
    assert len(sizes) > 2


def test_a_budget_never_keeps_a_child_without_its_parent() -> None:
    for budget in BUDGETS:
        for tree in drawn(torch.Generator().manual_seed(3), 20, budget, batch=False):
            assert bool((tree.parent[1:] < torch.arange(1, len(tree.token))).all())
            assert bool((tree.depth[1:] == tree.depth[tree.parent[1:]] + 1).all())
