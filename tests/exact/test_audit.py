"""The audit reproduces the vectors, and every bug planted in the engine shows in it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rheo.algorithm.expansion
import rheo.algorithm.tree
import rheo.algorithm.walk
import rheo.exact.audit
from rheo.algorithm import verify
from rheo.algorithm.budget import ALL
from rheo.algorithm.expansion import PROBE
from rheo.algorithm.strategies import TABLE
from rheo.errors import RheoError
from rheo.exact.audit import audit
from rheo.exact.vector_files import audit_case, audit_file
from rheo.exact.worlds import World, random_world
from rheo.params import DecodeParams

pytestmark = pytest.mark.usefixtures("one_thread")

VECTORS = Path(__file__).parents[1] / "vectors" / "exact_rounds.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text().splitlines()]
LOSSLESS = [name for name, row in TABLE.items() if row.fields.lossless and row.fields.draws_tree]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_vectors_are_reproduced(case: dict) -> None:
    ours = audit_case(case)
    for name, figures in case["expected"].items():
        for key, value in figures.items():
            if isinstance(value, dict):
                for kind, share in ours[name][key].items():
                    assert share == pytest.approx(value.get(kind, 0.0), abs=1e-9)
            else:
                assert ours[name][key] == pytest.approx(value, abs=1e-9)


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    V=st.integers(3, 5),
    m=st.integers(0, 2),
    depth=st.integers(1, 2),
    R=st.integers(1, 8),
    T=st.sampled_from([0.0, 0.5, 1.0, 1.4]),
    short=st.integers(0, 1),
    ties=st.booleans(),
    data=st.data(),
)
def test_random_worlds_are_lossless(seed, V, m, depth, R, T, short, ties, data) -> None:
    K = data.draw(st.integers(m + 1, min(V - short, m + 2)) if m + 1 <= V - short else st.nothing())
    probes = data.draw(st.integers(1, K - m))
    world = random_world(torch.Generator().manual_seed(seed), V, depth, 1.5, ties)
    for name in LOSSLESS:
        params = DecodeParams(
            strategy=name, m=m, K=K, R=R, depth=depth, T=T, S=max(K, V - short), probes=probes
        )
        assert audit(world, params).tv < 1e-9, name


def test_every_lossless_strategy_is_audited() -> None:
    assert {"topk", "rheo", "rheo-rrsw", "rheo-multi"} <= set(LOSSLESS)


def test_naive_and_token_ties_are_biased_somewhere() -> None:
    worst = {name: max(c["expected"][name]["tv"] for c in CASES) for name in ("naive", "rheo")}
    assert worst["naive"] > 0.1 and worst["rheo"] < 1e-12


def test_deterministic_tree_accepts_the_sum_of_its_path_products() -> None:
    world = random_world(torch.Generator().manual_seed(3), 4, 2)
    params = DecodeParams(strategy="topk", m=0, K=3, R=6, depth=2, S=4)
    score, paths = {}, {}
    for a in range(4):
        score[(a,)] = world.q[()][a]
        for b in range(4):
            score[(a, b)] = world.q[()][a] * world.q[(a,)][b]
    first = sorted(((a,) for a in range(4)), key=lambda c: -score[c])[:3]
    second = [(*a, b) for a in first for b in sorted(range(4), key=lambda b: -score[(*a, b)])[:3]]
    kept = sorted([*first, *second], key=lambda c: -score[c])[:6]
    for c in kept:
        paths[c] = world.p[()][c[0]] * (world.p[c[:1]][c[1]] if len(c) > 1 else 1.0)
    assert audit(world, params).expected_accepted == pytest.approx(sum(paths.values()), abs=1e-12)


@pytest.mark.parametrize("name", LOSSLESS)
def test_nothing_behind_an_end_token_is_accepted(name: str) -> None:
    """Against every whole round that can happen, each counted as tau counts it."""
    plain = random_world(torch.Generator().manual_seed(5), 4, 3)
    world, V = replace(plain, ends=(1, 2)), 4
    params = DecodeParams(strategy=name, m=1, K=2, R=7, depth=3, S=3, probes=1)
    case = rheo.exact.audit._case(world, params, None, None, ALL)
    rounds = rheo.exact.audit._Tally(case)
    for digits in rheo.exact.audit._forced_draws(case):
        tree, weight = rheo.exact.audit._grow_forced(case, digits)
        root = torch.zeros(len(digits), dtype=torch.int64)
        rounds.add(tree, rheo.algorithm.tree.prune(tree, root, params.R), weight)
    truth = without = 0.0
    for accepted, masses in enumerate(rounds.emitted):
        for code, mass in enumerate(masses.tolist()):
            tokens = [code // V**i % V for i in range(accepted, -1, -1)][:accepted]
            ends = (i for i, token in enumerate(tokens, 1) if token in world.ends)
            truth += mass * next(ends, accepted)
            without += mass * accepted
    assert audit(world, params).expected_accepted == pytest.approx(truth, abs=1e-12)
    assert audit(plain, params).expected_accepted == pytest.approx(without, abs=1e-12)
    assert truth < without - 0.02


# Bugs planted in the engine. Each must give TV > 1e-3 on a world chosen for it.


def tv(case_id: str, strategy: str = "rheo", **changes) -> float:
    case = next(c for c in CASES if c["id"] == case_id)
    given = {k: v for k, v in case["params"].items() if k != "beam"} | changes
    world = World.from_json(case["world"])
    return audit(world, DecodeParams(strategy=strategy, **given)).tv


def worst_tv(strategy: str = "rheo") -> float:
    return max(tv(case["id"], strategy) for case in CASES)


def test_planted_ties_by_token_id() -> None:
    case = next(c for c in CASES if c["id"] == "v02")
    given = {k: v for k, v in case["params"].items() if k != "beam"}
    world = World.from_json(case["world"])
    assert audit(world, DecodeParams(**given), ties="token").tv > 1e-3


def test_planted_q_in_place_of_q_tilde(monkeypatch) -> None:
    real = rheo.algorithm.tree.expand

    def planted(*args):
        x = real(*args)
        return x._replace(q_tilde=x.log_q.exp()[..., None, :].expand(x.q_tilde.shape))

    monkeypatch.setattr(rheo.algorithm.tree, "expand", planted)
    assert worst_tv() > 1e-3


def test_planted_residual_that_is_p(monkeypatch) -> None:
    real = verify._test_probes
    monkeypatch.setattr(
        verify, "_test_probes", lambda r, q, c: (real(r, q, c)[0], r, real(r, q, c)[2])
    )
    assert worst_tv() > 1e-3


def test_planted_probe_scored_by_its_own_q(monkeypatch) -> None:
    real = rheo.algorithm.expansion.log_proxies
    monkeypatch.setattr(
        rheo.algorithm.expansion,
        "log_proxies",
        lambda s, z, rank, kind, policy: real(s, z, rank, kind, policy._replace(proxy=False)),
    )
    assert worst_tv() > 1e-3


def test_planted_rrsw_with_fillers_first(monkeypatch) -> None:
    def fillers_first(p, q_tilde, children):
        first = children.kept & (children.kind != PROBE)
        masses = p.gather(-1, children.rank)
        rest = p.scatter(-1, children.rank, torch.where(first, 0.0, masses))
        tested = verify._test_probes(rest, q_tilde, children)
        return verify.NodeRule(torch.where(first, masses, 0.0), *tested)

    world = random_world(torch.Generator().manual_seed(11), 4, 1, 1.5)
    params = DecodeParams(strategy="rheo-rrsw", m=0, K=3, R=3, depth=1, S=4)
    row = TABLE["rheo-rrsw"]
    assert audit(world, params).tv < 1e-12
    monkeypatch.setitem(TABLE, "rheo-rrsw", type(row)(**{**vars(row), "rule": fillers_first}))
    assert audit(world, params).tv > 1e-3


def test_planted_temperature_on_the_probes_proxy(monkeypatch) -> None:
    real = rheo.algorithm.expansion.log_proxies

    def planted(s, z, rank, kind, policy):
        drawn = (s.logits / 0.6).log_softmax(-1).gather(-1, rank)  # the drawn token's own q_T
        return torch.where(kind == PROBE, drawn, real(s, z, rank, kind, policy))

    monkeypatch.setattr(rheo.algorithm.expansion, "log_proxies", planted)
    assert worst_tv() > 1e-3


def test_planted_truncated_target(monkeypatch) -> None:
    real = rheo.algorithm.walk.on_support

    def planted(p_row, ids):
        p, outside = real(p_row, ids)
        cut = torch.cat([p[..., :-1], torch.zeros_like(p[..., -1:])], -1)
        return cut / cut.sum(-1, keepdim=True), outside * 0

    monkeypatch.setattr(rheo.algorithm.walk, "on_support", planted)
    monkeypatch.setattr(rheo.exact.audit, "on_support", planted)
    assert tv("v00") > 1e-3  # S = 3 of 4


def test_planted_filler_that_repeats_the_probe(monkeypatch) -> None:
    real = rheo.algorithm.expansion.fill_slots

    def planted(m, K, ranks, valid):
        if not ranks.shape[-1]:
            return real(m, K, ranks, valid)
        places = torch.arange(K).expand(*ranks.shape[:-1], K)
        rank = places.clone()
        rank[..., m] = ranks[..., 0]
        rank[..., m + 1 :] = places[..., m : K - 1]
        kind = torch.where(places < m, 0, torch.where(places == m, 1, 2))
        return rank, kind

    before = {c["id"]: audit_case(c)["rheo"] for c in CASES}
    monkeypatch.setattr(rheo.algorithm.expansion, "fill_slots", planted)
    after = {c["id"]: audit_case(c)["rheo"] for c in CASES}
    assert any(
        abs(before[i]["expected_accepted"] - after[i]["expected_accepted"]) > 1e-3 for i in before
    )


def test_planted_temperature_on_all_proxies(monkeypatch) -> None:
    before = {c["id"]: audit_case(c)["rheo"] for c in CASES}
    real = rheo.algorithm.expansion.support

    def tempered(logits, S):
        s = real(logits, S)
        return s._replace(log_q=(s.logits / 0.3).log_softmax(-1))

    monkeypatch.setattr(rheo.algorithm.expansion, "support", tempered)
    after = {c["id"]: audit_case(c)["rheo"] for c in CASES}
    assert any(
        abs(before[i]["expected_accepted"] - after[i]["expected_accepted"]) > 1e-3 for i in before
    )


def test_planted_unnormalised_residual(monkeypatch) -> None:
    real = verify._test_probes

    def planted(r, q_tilde, children):
        accept, left, tested = real(r, q_tilde, children)
        probe_kept = (children.kept & (children.kind == PROBE)).any(-1, keepdim=True)
        outside = torch.where(probe_kept, 1 - left[..., :-1].sum(-1, keepdim=True), left[..., -1:])
        return accept, torch.cat([left[..., :-1], outside], -1), tested  # as if it summed to one

    monkeypatch.setattr(verify, "_test_probes", planted)
    assert worst_tv() > 1e-3


# Bad input: one sentence each.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "is not a case"),
        ('{"id": 1, "params": {"K": 2}, "world": {"vocab": 3}}', "is not a world"),
        (
            '{"id":1,"params":{"K":2,"depth":1,"R":2,"S":2},"world":{"vocab":2,"q":{"":[1,0]},"p":{}}}',
            "lacks a whole p",
        ),
        (
            '{"id":1,"params":{"K":2,"depth":1,"R":2,"S":2},'
            '"world":{"vocab":2,"q":{"":[1,-1]},"p":{"":[1,0],"0":[1,0],"1":[1,0]}}}',
            "no distribution",
        ),
        (
            '{"id":1,"params":{"K":2,"depth":1,"R":2,"S":2},"world":{"vocab":9,"q":{},"p":{}}}',
            "2 to 8",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(RheoError, match=said):
        list(audit_file(path))


def test_too_many_draws_are_refused() -> None:
    world = random_world(torch.Generator().manual_seed(1), 8, 3)
    with pytest.raises(RheoError, match="more than an audit enumerates"):
        audit(world, DecodeParams(m=0, K=3, R=9, depth=3, S=8))
