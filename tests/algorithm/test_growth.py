"""What growth hands on from level to level: parents, target ids, keys of equal scores, proxies."""

import pytest
import torch

from rheo.algorithm.distribution import support
from rheo.algorithm.expansion import (
    DETERMINISTIC,
    FILLER,
    PROBE,
    Policy,
    expand,
    fill_slots,
    log_proxies,
)
from rheo.algorithm.tree import grow, prune
from rheo.algorithm.uniforms import recorded

pytestmark = pytest.mark.usefixtures("one_thread")
K, DEPTH, V = 3, 3, 20
TABLE = torch.randn(V, V, generator=torch.Generator().manual_seed(5)) * 2  # draft logits by token
UNIFORMS = [torch.full((K if d else 1, 1), 0.4, dtype=torch.float64) for d in range(DEPTH)]
EVEN = torch.arange(V) * 2  # the target's ids of a draft that knows every other token


def grown(draft_level, **more):
    settings = {"K": K, "depth": DEPTH, "S": 8, "T": 1.0}
    return grow(TABLE[0], draft_level, recorded(UNIFORMS), Policy(1, 1), **settings, **more)


def test_a_level_is_drafted_behind_its_parents():
    """The draft is told each beam's tokens, and which nodes of the beam before they hang on."""
    beams = []

    def level(tokens, parents):
        beams.append((tokens.tolist(), parents.tolist()))
        return TABLE[tokens]

    tree = grown(level)
    expanded = tree.node.tolist()  # candidate i is a child of the expanded node i // K
    for d, (tokens, parents) in enumerate(beams):
        beam = expanded[1 + d * K : 1 + (d + 1) * K]
        assert tokens == tree.token[beam].tolist()
        before = 1 + (d - 1) * K if d else 0  # where the beam before begins among the expanded
        assert parents == [node // K - before for node in beam]
    assert len(set(beams[1][1])) > 1  # of more than one parent: zeros would not do


def test_a_drafts_own_ids_become_the_targets():
    plain = grown(lambda tokens, parents: TABLE[tokens])
    mapped = grown(lambda tokens, parents: TABLE[tokens // 2], target_ids=EVEN)
    assert mapped.token.equal(EVEN[plain.token])
    assert mapped.expanded.ids.equal(EVEN[plain.expanded.ids])
    assert mapped.score.equal(plain.score) and mapped.node.equal(plain.node)
    kept = prune(mapped, torch.tensor(0), 9)
    assert kept.token[1:].equal(mapped.token[kept.node[1:]])


def test_token_ties_go_by_own_id_then_by_the_parents():
    """Equal scores everywhere: the control that is biased by design keeps the lowest ids."""
    tied = Policy(K, 0, ties="token")
    # the root's children are 9, 5, 7; under 5 and 7 stand 1, 2, 3 and under 9 stand 1, 2, 4
    rows = torch.full((V, V), -100.0)
    rows[0, [9, 5, 7]] = 0.0
    for parent, children in ((5, [1, 2, 3]), (7, [1, 2, 3]), (9, [1, 2, 4])):
        rows[parent, children] = 0.0
    beams = []

    def level(tokens, parents):
        beams.append(tokens.tolist())
        return rows[tokens]

    none = recorded([u[:, :0] for u in UNIFORMS])
    tree = grow(rows[0], level, none, tied, K=K, depth=DEPTH, S=K, T=1.0)
    assert beams == [[5, 7, 9], [1, 1, 1]]
    kept = prune(tree, torch.tensor(0), 5)
    pairs = list(zip(kept.token[1:].tolist(), kept.token[kept.parent[1:]].tolist(), strict=True))
    assert pairs == [(5, 0), (7, 0), (9, 0), (1, 5), (1, 7)]


@pytest.mark.parametrize(
    ("q", "m", "proxy"),
    [
        ((0.5, 0.3, 0.2), 1, 0.5),  # z = .5 and q(x_m) = .5
        ((0.7, 0.2, 0.1), 1, 0.3),  # z, the smaller of the two
        ((0.4, 0.3, 0.2, 0.1), 1, 0.4),  # q(x_m), the smaller: z = .6
        ((0.4, 0.3, 0.2, 0.1), 2, 0.3),
        ((0.5, 0.3, 0.2), 0, 0.5),  # m = 0: q(x_1)
    ],
)
def test_a_probes_proxy_is_the_smaller_of_its_slots_q_and_the_tail(q, m, proxy):
    logits = torch.tensor(q, dtype=torch.float64).log()[None]
    for uniform in (0.0, 0.999):  # whatever was drawn
        x = expand(logits, torch.tensor([[uniform]]), Policy(m, 1), m + 1, None, 1.0)
        assert float(x.log_proxy[0, m].exp()) == pytest.approx(proxy)


def test_a_probe_is_never_ranked_below_the_first_filler():
    """Where a rounding puts the tail's mass below the q of its best token."""
    s = support(torch.tensor([2.0, 1.0, 0.0]), None)
    below = s.log_q[1] - 1e-6
    slots = torch.tensor([0, 2, 1]), torch.tensor([DETERMINISTIC, PROBE, FILLER])
    proxies = log_proxies(s, below, *slots, Policy(1, 1))
    assert proxies.tolist() == s.log_q[[0, 1, 1]].tolist()


def test_a_draw_without_mass_leaves_its_token_to_the_fillers():
    valid = torch.tensor([True, False])
    rank, kind = fill_slots(0, 3, torch.tensor([2, 0]), valid)
    assert rank.tolist() == [2, 0, 1] and kind.tolist() == [PROBE, FILLER, FILLER]
    rank, kind = fill_slots(1, 3, torch.tensor([2, 1]), valid)
    assert rank.tolist() == [0, 2, 1] and kind.tolist() == [DETERMINISTIC, PROBE, FILLER]
