"""Slots, proxies, growth and pruning; and that none of it ever waits for the host."""

import math

import pytest
import torch

from rheo.algorithm.expansion import DETERMINISTIC, FILLER, PROBE, Policy, expand
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.tree import best, grow, prune, root_only
from rheo.algorithm.uniforms import recorded
from rheo.algorithm.walk import TargetRows, acceptance, expected, sample_token, walk
from rheo.params import DecodeParams

pytestmark = pytest.mark.usefixtures("one_thread")
K, DEPTH, R, V, S = 4, 3, 12, 30, 8


def play(logits: torch.Tensor, policy: Policy, seed: int = 0, T: float = 1.0, R: int = R, S=S):
    """A tree over a table of draft logits by token (V, V), the root's logits being row 0."""
    generator = torch.Generator().manual_seed(seed)
    uniforms = [
        torch.rand(K if d else 1, policy.J, generator=generator, dtype=torch.float64)
        for d in range(DEPTH)
    ]
    tree = grow(
        logits[0], lambda t, p: logits[t], recorded(uniforms), policy, K=K, depth=DEPTH, S=S, T=T
    )
    return tree, prune(tree, torch.tensor(0), R)


def random_logits(seed: int = 0, scale: float = 2.0) -> torch.Tensor:
    return torch.randn(V, V, generator=torch.Generator().manual_seed(seed)) * scale


def test_probe_stands_behind_the_deterministic_and_before_the_fillers() -> None:
    """20,000 float32 nodes, up to as peaked as a softmax gets; the ranking never fails."""
    generator = torch.Generator().manual_seed(2)
    scale = 10 ** (torch.rand(20_000, 1, generator=generator) * 3 - 1)  # 0.1 .. 100
    logits = torch.randn(20_000, 64, generator=generator) * scale
    uniforms = torch.rand(20_000, 1, generator=generator)
    failures_of_one_minus_sum = 0
    for m in (0, 1, 2, 3):
        x = expand(logits, uniforms, Policy(m, 1), 8, 32, 1.0)
        proxy = x.log_proxy  # (20000, 8): slots deterministic, probe, fillers
        assert bool((x.kind[:, m] == PROBE).all())
        assert bool((proxy[:, m] >= proxy[:, m + 1]).all())  # the best filler
        if m:
            assert bool((proxy[:, m - 1] >= proxy[:, m]).all())
            z = (1 - x.log_q[:, :m].exp().sum(-1)).clamp(min=0).log()
            naive = torch.minimum(x.log_q[:, m - 1], z)
            failures_of_one_minus_sum += int((naive < proxy[:, m + 1]).sum())
    assert failures_of_one_minus_sum > 100  # the cancellation that log z avoids


def test_slots_hold_distinct_tokens_in_their_order() -> None:
    logits = random_logits()[None]
    for m, J in ((0, 1), (1, 1), (2, 1), (1, 2), (0, 3)):
        x = expand(
            logits,
            torch.rand(1, V, J, generator=torch.Generator().manual_seed(m)),
            Policy(m, J),
            5,
            8,
            1.0,
        )
        for rank, kind, drawn_from in zip(
            x.rank[0].tolist(), x.kind[0].tolist(), x.q_tilde[0], strict=True
        ):
            assert len(set(rank)) == 5
            assert kind == [DETERMINISTIC] * m + [PROBE] * J + [FILLER] * (5 - m - J)
            assert rank[:m] == list(range(m))
            fillers = [r for r in range(m, 8) if r not in rank[m : m + J]][: 5 - m - J]
            assert rank[m + J :] == fillers
            for j, q in enumerate(drawn_from):  # without the deterministic and the earlier probes
                assert float(q.sum()) == pytest.approx(1.0, abs=1e-6)
                assert not q[rank[: m + j]].any() and q[rank[m + j]] > 0


def test_at_temperature_zero_only_one_probe_has_mass() -> None:
    x = expand(random_logits()[None], torch.rand(1, V, 2), Policy(1, 2), 5, 8, 0.0)
    assert x.kind[0].tolist() == [[DETERMINISTIC, PROBE, FILLER, FILLER, FILLER]] * V
    assert x.rank[0].tolist() == [[0, 1, 2, 3, 4]] * V


def test_m_zero_at_temperature_zero_is_top_k() -> None:
    logits = random_logits(3)
    _, kept = play(logits, Policy(0, 1), T=0.0)
    _, kept_top = play(logits, Policy(K, 0), T=0.0)
    assert torch.equal(kept.node, kept_top.node) and torch.equal(kept.token, kept_top.token)


def test_proxy_and_true_of_each_kind() -> None:
    q = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    x = expand(q.log()[None], torch.tensor([[0.99]]), Policy(1, 1), 3, None, 1.0)
    assert x.rank[0].tolist() == [0, 3, 1]  # the draw fell on the last token, 1/6 of the tail
    assert x.log_proxy.exp()[0].tolist() == pytest.approx([0.4, min(0.4, 0.6), 0.3])
    assert x.true[0].tolist() == pytest.approx([1.0, 0.1 / 0.6, 1.0])
    x = expand(q.log()[None], torch.tensor([[0.99]]), Policy(0, 1), 3, None, 1.0)
    assert x.log_proxy.exp()[0].tolist() == pytest.approx([0.4, 0.4, 0.3])  # m = 0: q(x_1)
    x = expand(q.log()[None], torch.tensor([[0.99]]), Policy(1, 1, proxy=False), 3, None, 1.0)
    assert x.log_proxy.exp()[0].tolist() == pytest.approx([0.4, 0.1, 0.3])  # naive: its own


def test_temperature_touches_no_score() -> None:
    logits = random_logits(5)
    cold, _ = play(logits, Policy(2, 0), T=0.3)
    warm, _ = play(logits, Policy(2, 0), T=1.6)
    assert torch.equal(cold.score, warm.score)


def test_ties_go_by_creation_order() -> None:
    assert best(torch.zeros(7), 3).tolist() == [0, 1, 2]
    assert best(torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0]), 3).tolist() == [0, 1, 3]
    near = torch.tensor([0.1 + 0.2, 0.3, 0.3], dtype=torch.float64)  # equal on paper
    assert best(near.flip(0), 1).tolist() == [0]
    assert best(torch.zeros(3), 1, torch.tensor([2, 0, 1])).tolist() == [1]
    _, kept = play(torch.zeros(V, V), Policy(1, 1))
    assert kept.node[1:].tolist() == list(range(R))


@pytest.mark.parametrize("policy", [Policy(K, 0), Policy(1, 1), Policy(0, 1), Policy(1, 2)])
def test_kept_nodes_form_a_tree_in_creation_order(policy: Policy) -> None:
    for seed in range(20):
        tree, kept = play(random_logits(seed, 4.0), policy, seed)
        nodes = kept.node.tolist()
        assert nodes == sorted(nodes) and len(nodes) == R + 1
        threshold = tree.score[kept.node[1:]].min()
        assert int((tree.score > threshold).sum()) < R <= int((tree.score >= threshold).sum())
        for row in range(1, R + 1):
            parent = int(kept.parent[row])
            assert parent < row and int(kept.depth[row]) == int(kept.depth[parent]) + 1
            assert int(kept.child[parent, nodes[row] % K]) == row
            seen = {row}
            while row:
                row = int(kept.parent[row])
                seen.add(row)
            assert set(kept.mask[max(seen)].nonzero()[:, 0].tolist()) == seen
        assert int((kept.child >= 0).sum()) == R


def test_fewer_candidates_than_nodes_keeps_all() -> None:
    _, kept = play(random_logits(), Policy(1, 1), R=500)
    assert kept.node.shape[0] == 1 + K + (DEPTH - 1) * K * K


def round_on(device: str, name: str, logits: torch.Tensor, target: torch.Tensor):
    """Everything between the two models' forwards, as one function of tensors."""
    params = DecodeParams(strategy=name, m=1, K=K, R=R, depth=DEPTH, S=S, probes=2)
    strategy, policy = TABLE[name], TABLE[name].policy(params)
    probes = [
        torch.full((K if d else 1, policy.J), 0.4, dtype=torch.float64, device=device)
        for d in range(DEPTH)
    ]
    u1 = torch.full((DEPTH + 1, policy.J), 0.5, dtype=torch.float64, device=device)
    u2 = torch.full((DEPTH + 1,), 0.3, dtype=torch.float64, device=device)

    def run(logits, target, probes, u1, u2):
        tree = grow(
            logits[0],
            lambda t, p: logits[t],
            recorded(probes),
            policy,
            K=K,
            depth=DEPTH,
            S=S,
            T=1.0,
        )
        root = torch.zeros((), dtype=torch.int64, device=logits.device)
        kept = prune(tree, root, R)
        rows = TargetRows(target[: R + 1], 1.0)
        walked = walk(tree, kept, rows, strategy.rule, u1, u2, policy.m)
        inner = torch.arange(R + 1, device=logits.device)
        accept = acceptance(tree, kept, rows, strategy.rule, policy.m, inner)[1]
        return kept.token, kept.mask, walked.token, walked.row, expected(kept, accept, DEPTH)

    return run, (logits.to(device), target.to(device), probes, u1, u2)


STRATEGIES = ("topk", "rheo", "rheo-rrsw", "rheo-multi", "naive")


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_round_runs_on_meta_tensors(name: str) -> None:
    run, arguments = round_on("meta", name, random_logits(), random_logits(1))
    with torch.device("meta"):
        token, mask, *_ = run(*arguments)
    assert token.shape == (R + 1,) and mask.shape == (R + 1, R + 1)


def test_control_a_host_read_fails_on_meta_tensors() -> None:
    with pytest.raises(RuntimeError), torch.device("meta"):
        torch.ones(3).sum().item()


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_round_compiles_whole_and_computes_the_same(name: str) -> None:
    run, arguments = round_on("cpu", name, random_logits(), random_logits(1))
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    for ours, theirs in zip(run(*arguments), compiled(*arguments), strict=True):
        assert torch.allclose(ours.double(), theirs.double(), atol=1e-6)


def test_a_leaf_is_a_walk_without_children() -> None:
    rows = TargetRows(random_logits(7, 1.0)[:1], 0.8)
    root = torch.tensor(3)
    for u in (0.0, 0.2, 0.77, 1 - 1e-9):
        u2 = torch.tensor([u], dtype=torch.float64)
        none = torch.zeros(1, 0, dtype=torch.float64)
        whole, short = (
            walk(*root_only(root), rows, TABLE["topk"].rule, none, u2, 0),
            sample_token(rows, u2[0]),
        )
        assert int(whole.token) == int(short.token) and int(short.row) == 0
        for name in ("low", "high", "p_token"):
            ours, theirs = float(getattr(short, name)), float(getattr(whole, name))
            assert ours == pytest.approx(theirs, abs=1e-12)
        assert float(short.low) <= u < float(short.high)


def test_batched_equals_one_by_one() -> None:
    batch = torch.stack([random_logits(i) for i in range(3)])  # (3, V, V)
    policy = Policy(1, 1)
    uniforms = [
        torch.rand(3, K if d else 1, 1, generator=torch.Generator().manual_seed(d))
        for d in range(DEPTH)
    ]
    lanes, sizes = torch.arange(3)[:, None], {"K": K, "depth": DEPTH, "S": S, "T": 0.8}
    tree = grow(batch[:, 0], lambda t, p: batch[lanes, t], recorded(uniforms), policy, **sizes)
    kept = prune(tree, torch.zeros(3, dtype=torch.int64), R)
    for i in range(3):
        own = recorded([u[i] for u in uniforms])
        one = grow(batch[i, 0], lambda t, p, i=i: batch[i][t], own, policy, **sizes)
        alone = prune(one, torch.tensor(0), R)
        for together, single in zip(kept, alone, strict=True):
            assert torch.equal(together[i], single)
    assert math.isfinite(float(tree.score.max()))
