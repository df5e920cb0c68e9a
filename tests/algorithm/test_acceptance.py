"""The target at all kept nodes at once is that of the rows that a walk samples."""

import pytest
import torch

from rheo.algorithm import verify
from rheo.algorithm.expansion import Policy
from rheo.algorithm.tree import grow, prune
from rheo.algorithm.uniforms import recorded
from rheo.algorithm.walk import TargetRows, acceptance, expected, reach

pytestmark = pytest.mark.usefixtures("one_thread")
K, DEPTH, V = 3, 3, 15


@pytest.mark.parametrize(
    ("T", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.3, 0, 1.0), (0.0, 0, 1.0), (1.0, 3, 1.0), (1.0, 0, 0.6), (1.4, 5, 0.9)],
)
def test_p_and_reach_are_those_of_the_targets_rows(T, top_k, top_p):
    generator = torch.Generator().manual_seed(7)
    table, logits = (torch.randn(n, V, generator=generator) * 2 for n in (V, 13))
    uniforms = [torch.full((K if d else 1, 1), 0.6, dtype=torch.float64) for d in range(DEPTH)]
    tree = grow(
        table[0],
        lambda tokens, parents: table[tokens],
        recorded(uniforms),
        Policy(1, 1),
        K=K,
        depth=DEPTH,
        S=6,
        T=1.0,
    )
    kept = prune(tree, torch.tensor(0), 12)
    target = TargetRows(logits, T, top_k, top_p)
    p, accept = acceptance(tree, kept, target, verify.rheo, 1, torch.arange(13))
    for row in range(1, 13):
        at_parent = target.distribution(kept.parent[row])
        assert float(p[row]) == pytest.approx(float(at_parent[kept.token[row]]), abs=1e-6)
    product = torch.ones(13, dtype=torch.float64)
    for row in range(1, 13):  # parents come first
        product[row] = product[kept.parent[row]] * accept[row]
    assert reach(kept, accept, DEPTH).tolist() == pytest.approx(product.tolist())
    assert float(expected(kept, accept, DEPTH)) == pytest.approx(float(product[1:].sum()))
