"""Each rule at one node against its numbers by hand, and sampling against the rule."""

import itertools

import pytest
import torch

from rheo.algorithm import verify
from rheo.algorithm.expansion import DETERMINISTIC, FILLER, PROBE
from rheo.algorithm.verify import Children

pytestmark = pytest.mark.usefixtures("one_thread")
P = [0.35, 0.05, 0.2, 0.25, 0.1, 0.05]  # target over tokens 0..5; the support is 0..3 in this order
Q = [0.0, 0.5, 0.3, 0.2]  # q-tilde: token 0 is deterministic


def node(probe: int = 1, kept: tuple[bool, ...] = (True, True, True)) -> tuple:
    """Slots deterministic 0, the probe, the first filler that is not the probe."""
    filler = 2 if probe == 1 else 1
    children = Children(
        torch.tensor([0, probe, filler]),
        torch.tensor(kept),
        torch.tensor([DETERMINISTIC, PROBE, FILLER]),
        1,
    )
    p = torch.tensor([*P[:4], P[4] + P[5]], dtype=torch.float64)
    return p, torch.tensor([Q], dtype=torch.float64), children


def next_token(rule, probe: int, kept: tuple[bool, ...]) -> list[float]:
    """Return the distribution of the node's next token given its probe: child or emission."""
    p, q, children = node(probe, kept)
    at_node = rule(p, q, children)
    row, ids = torch.tensor(P, dtype=torch.float64), torch.arange(4)
    out = torch.zeros(6, dtype=torch.float64)
    out[children.rank] += verify.child_probability(p, at_node, children)
    left = verify.leftover(p, at_node, children, ids, row)
    out += verify.miss(p, at_node) * left / at_node.residual.sum()
    return out.tolist()


@pytest.mark.parametrize("rule", [verify.rheo, verify.rrsw], ids=["rheo", "rrsw"])
@pytest.mark.parametrize("kept", list(itertools.product([True, False], repeat=3)))
def test_averaged_over_the_probe_the_next_token_follows_p(rule, kept) -> None:
    total = torch.zeros(6, dtype=torch.float64)
    for probe in (1, 2, 3):
        total += Q[probe] * torch.tensor(next_token(rule, probe, kept), dtype=torch.float64)
    assert total.tolist() == pytest.approx(P, abs=1e-15)


def test_rheo_by_hand() -> None:
    p, q, children = node()
    at_node = verify.rheo(p, q, children)
    assert at_node.accept.tolist() == pytest.approx([0.05 / 0.5])
    left = [0.35, 0.0, 0.0, 0.05, 0.15]  # max(0, p - q-tilde), and the outside untouched
    assert at_node.residual.tolist() == pytest.approx(left)
    taken = verify.child_probability(p, at_node, children).tolist()
    assert taken == pytest.approx([0.9 * 0.35 / 0.55, 0.1, 0.0])


def test_two_probes_by_hand() -> None:
    """The second is tested against what the first left, and only where the first was rejected."""
    kinds = torch.tensor([DETERMINISTIC, PROBE, PROBE])
    children = Children(torch.tensor([0, 1, 2]), torch.ones(3, dtype=torch.bool), kinds, 1)
    p = torch.tensor([0.2, 0.1, 0.5, 0.1, 0.1], dtype=torch.float64)
    q = torch.tensor([Q, [0.0, 0.0, 0.6, 0.4]], dtype=torch.float64)
    at_node = verify.rheo(p, q, children)
    assert at_node.accept.tolist() == pytest.approx([0.1 / 0.5, 0.4 / 0.6])
    assert at_node.residual.tolist() == pytest.approx([0.4, 0.0, 0.0, 0.0, 0.2])
    missed = 0.8 / 3
    taken = verify.child_probability(p, at_node, children).tolist()
    assert taken == pytest.approx([missed * 0.4 / 0.6, 0.2, 0.8 * 2 / 3])
    assert float(verify.miss(p, at_node)) == pytest.approx(missed)


def test_a_filler_in_a_probes_slot_is_not_tested() -> None:
    """A draw without mass left its slot to a filler: nothing is taken out of p for it."""
    p, q, children = node()
    at_node = verify.rheo(
        p, q, children._replace(kind=torch.tensor([DETERMINISTIC] + [FILLER] * 2))
    )
    assert at_node.accept.tolist() == [0.0] and at_node.residual.equal(p)


def test_rrsw_by_hand() -> None:
    p, q, children = node()
    at_node = verify.rrsw(p, q, children)
    assert at_node.tested_first.tolist() == pytest.approx([0.35, 0.0, 0.0])
    ratio = (0.05 / 0.65) / 0.5
    assert at_node.accept.tolist() == pytest.approx([ratio])
    norm = [0.0, 0.05 / 0.65, 0.2 / 0.65, 0.25 / 0.65, 0.15 / 0.65]
    left = [max(0.0, a - b) for a, b in zip(norm, [*Q, 0.0], strict=True)]
    assert at_node.residual.tolist() == pytest.approx(left)
    taken = verify.child_probability(p, at_node, children).tolist()
    assert taken == pytest.approx([0.35, 0.65 * ratio, 0.65 * (1 - ratio) * left[2] / sum(left)])


def test_one_hot_takes_every_child_with_its_p() -> None:
    p, q, children = node()
    at_node = verify.one_hot(p, q[:0], children)
    assert verify.child_probability(p, at_node, children).tolist() == pytest.approx(
        [0.35, 0.05, 0.2]
    )


def test_a_pruned_probe_changes_nothing() -> None:
    p, q, children = node(kept=(True, False, True))
    assert torch.equal(verify.rheo(p, q, children).residual, p)
    assert verify.rheo(p, q, children).accept.tolist() == [0.0]


@pytest.mark.parametrize("rule", [verify.rheo, verify.rrsw, verify.one_hot])
@pytest.mark.parametrize("probe", [1, 2, 3])
def test_sampling_on_a_grid_of_uniforms_gives_the_rules_probabilities(rule, probe: int) -> None:
    """Every pair (u1, u2) of a fine grid once: frequencies are the probabilities to its width."""
    n = 400
    p, q, children = node(probe)
    if rule is verify.one_hot:
        q = q[:0]
    at_node = rule(p, q, children)
    grid = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    u1, u2 = (u.flatten() for u in torch.meshgrid(grid, grid, indexing="ij"))

    def many(x):
        return x.expand(n * n, *x.shape)

    at_nodes = verify.NodeRule(*map(many, at_node))
    lanes = Children(many(children.rank), many(children.kept), many(children.kind), 1)
    slot, share = verify.choose(many(p), at_nodes, lanes, u1[:, None][:, : q.shape[0]], u2)
    counts = torch.bincount(slot, minlength=4).double() / (n * n)
    taken = verify.child_probability(p, at_node, children)
    assert counts[:3].tolist() == pytest.approx(taken.tolist(), abs=2 / n)
    stop = slot == 3
    row = torch.tensor(P, dtype=torch.float64)
    token, low, high = verify.emit(
        many(p), at_nodes, lanes, many(torch.arange(4)), many(row), share
    )
    left = verify.leftover(p, at_node, children, torch.arange(4), row)
    emitted = torch.bincount(token[stop], minlength=6).double() / (n * n)
    want = verify.miss(p, at_node) * left / at_node.residual.sum()
    assert emitted.tolist() == pytest.approx(want.tolist(), abs=2 / n)
    assert bool(((low <= share + 1e-12) & (share < high + 1e-12))[stop].all())


def test_a_token_without_mass_is_never_accepted_nor_emitted() -> None:
    """u = 0 and p = 0: `<=` in place of `<` would accept."""
    p = torch.tensor([0.0, 0.0, 0.6, 0.4, 0.0], dtype=torch.float64)
    _, q, children = node()
    for rule in (verify.rheo, verify.rrsw):
        at_node = rule(p, q, children)
        for u in (0.0, 0.5, 1 - 1e-9):
            zero = torch.tensor(0.0, dtype=torch.float64)
            u2 = torch.tensor(u, dtype=torch.float64)
            slot, share = verify.choose(p, at_node, children, zero[None], u2)
            assert int(slot) == 2 or int(slot) == 3
            row = torch.tensor([0.0, 0.0, 0.6, 0.4, 0.0, 0.0], dtype=torch.float64)
            if int(slot) == 3:
                token = verify.emit(p, at_node, children, torch.arange(4), row, share)[0]
                assert row[int(token)] > 0


def test_equal_distributions_always_accept_and_never_divide_by_zero() -> None:
    _, q, children = node()
    p = torch.tensor([*Q, 0.0], dtype=torch.float64)
    at_node = verify.rheo(p, q, children)
    assert at_node.accept.tolist() == [1.0]
    assert torch.equal(at_node.residual, p)  # the guard: nothing is left, so what was there is
    spent = torch.tensor(
        [1.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64
    )  # those tested first take all
    at_node = verify.rrsw(spent, q, children)
    assert not torch.isnan(torch.cat([at_node.accept, at_node.residual])).any()
    top = torch.tensor(1 - 1e-9, dtype=torch.float64)
    assert int(verify.choose(spent, at_node, children, top[None], top)[0]) == 0
