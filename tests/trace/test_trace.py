"""The trace: recomputed by hand, written and read back, refused where it is broken."""

import dataclasses
import gzip
import json
import math

import pytest
import torch

from rheo.errors import RheoError
from rheo.params import strategy_fields
from rheo.trace.io import load, loads, save, to_json
from rheo.trace.residuals import residuals
from rheo.trace.schema import Run
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of
from tests.trace.recomputed import verdicts_by_hand

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module", params=DRAFTING)
def run(request, models, tmp_path_factory) -> Run:
    """A run of each strategy, saved and read back: what a reader has."""
    d = decoding(models, strategy=request.param, seed=11, max_new_tokens=120, T=0.9)
    new_tokens(d)
    path = tmp_path_factory.mktemp("trace") / "run.json.gz"
    save(run_of(d), path)
    return load(path)


def test_saved_and_loaded_is_the_same(models, tmp_path) -> None:
    d = decoding(models, seed=12)
    new_tokens(d)
    for name in ("a.json", "a.json.gz"):
        save(run_of(d), tmp_path / name)
        again = load(tmp_path / name)
        save(again, tmp_path / f"b-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"b-{name}").read_bytes()
        assert again.tau == run_of(d).tau and again.emissions() == run_of(d).emissions()


def test_every_verdict_recomputed_by_hand(run: Run) -> None:
    tested_first = strategy_fields(run.params["strategy"]).tests_deterministic_first
    probes = siblings = 0
    for r in run.rounds:
        for i, visit in enumerate(r.visits):
            got = [s.verdict for s in visit.steps]
            assert verdicts_by_hand(visit, r.uniforms.u1[i], r.uniforms.u2[i], tested_first) == got
            probes += sum(s.rule == "probe" for s in visit.steps)
            siblings += sum(s.rule == "sibling" for s in visit.steps)
    assert siblings > 20 and (probes > 20 or run.params["strategy"] == "topk")


def test_control_another_uniform_changes_a_verdict(run: Run) -> None:
    changed = 0
    for r in run.rounds:
        for i, visit in enumerate(r.visits):
            u1 = tuple(1 - u for u in r.uniforms.u1[i])
            tested_first = strategy_fields(run.params["strategy"]).tests_deterministic_first
            got = [s.verdict for s in visit.steps]
            changed += verdicts_by_hand(visit, u1, 1 - r.uniforms.u2[i], tested_first) != got
    assert changed > 10


def test_the_walk_in_the_trace_is_the_text(run: Run) -> None:
    """Visits follow accepted steps from the root; origins are the kinds of the nodes."""
    for r in run.rounds:
        assert r.visits[0].node == 0
        accepted = [s.child for v in r.visits for s in v.steps if s.verdict == "accept"]
        assert [v.node for v in r.visits[1:]] == accepted
        last = r.visits[-1].steps[-1]
        assert last.rule == "emit" and last.low <= last.share < last.high
        tokens = [r.nodes[i].token for i in accepted] + [last.token]
        kinds = [r.nodes[i].kind for i in accepted]
        kinds.append("residual" if any(n.parent == r.visits[-1].node for n in r.nodes) else "bonus")
        assert [(e.token, e.origin) for e in r.emitted] == list(zip(tokens, kinds, strict=True))[
            : len(r.emitted)
        ]


def test_nodes_carry_their_numbers(run: Run) -> None:
    for r in run.rounds:
        reach = [1.0]
        for node in r.nodes[1:]:
            assert node.score <= r.nodes[node.parent].score + 1e-6
            assert node.score == pytest.approx(
                r.nodes[node.parent].score + math.log(node.proxy), abs=1e-4
            )
            assert (node.true == 1.0) or node.kind == "probe"
            reach.append(reach[node.parent] * node.accept)
        assert math.fsum(reach[1:]) == pytest.approx(r.expected_accepted, abs=1e-8)
        for visit in r.visits:
            assert math.fsum([*visit.p, *visit.outside_p, visit.rest]) == pytest.approx(1, abs=1e-5)
            for stage in residuals(visit).distributions:
                assert math.fsum(stage) == pytest.approx(1, abs=1e-9)
        for node in r.nodes:
            slots = {n.slot for n in r.nodes if n.parent >= 0 and r.nodes[n.parent] is node}
            assert not slots & {g.slot for g in node.ghosts}
            if slots:
                assert len(slots) + len(node.ghosts) == run.params["K"]


def test_numbers_keep_every_bit_of_a_float32() -> None:
    generator = torch.Generator().manual_seed(1)
    values = torch.rand(1000, generator=generator) * 10 ** -(
        torch.rand(1000, generator=generator) * 9
    )
    for x in values.tolist():
        assert torch.tensor(to_json(x), dtype=torch.float32) == torch.tensor(x, dtype=torch.float32)


def broken(run: Run, change) -> bytes:
    data = to_json(run)
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(schema="other"), "not a RheoScope trace"),
        (lambda d: d.update(version=99), "version 99"),
        (lambda d: d.pop("rounds"), "lacks 'rounds'"),
        (lambda d: d.update(extra=1), "unknown field 'extra'"),
        (lambda d: d.update(text=3), "trace.text is '3'"),
        (lambda d: d["rounds"][0].update(accepted=True), "accepted is 'True'"),
        (lambda d: d["rounds"][0]["nodes"][1].update(kind="odd"), "kind is 'odd'"),
        (lambda d: d["rounds"][0]["nodes"][1].update(parent=7), "does not come after its parent"),
        (lambda d: d["rounds"][0]["nodes"].clear(), "does not begin with its root"),
        (lambda d: d["rounds"][0]["visits"][0].update(node=999), "points at a node"),
        (lambda d: d["rounds"][0]["visits"][0]["p"].pop(), "columns differ"),
        (lambda d: d.update(tokens={"x": "y"}), "trace.tokens has a key that is no id"),
        (lambda d: d["rounds"][0]["nodes"][1].update(token="x"), r"nodes\[1\].token is 'x'"),
        (lambda d: d["rounds"][0]["nodes"][1].update(p="0.5"), r"nodes\[1\].p is '0.5'"),
        (lambda d: d["rounds"][0]["nodes"][1].update(odd=1), r"nodes\[1\] has an unknown field"),
        (lambda d: d["rounds"][0]["nodes"][1].pop("slot"), r"nodes\[1\] lacks 'slot'"),
        (lambda d: d["rounds"][0]["nodes"][1].update(slot=2**63), "slot is a huge number"),
        (lambda d: d.update(text="\ud800"), "not a trace"),
        (lambda d: d.update(tokens=dict.fromkeys(map(str, range(5000)), 1)), "in 5,000 places"),
        (lambda d: d.update(tokens=dict.fromkeys(range(600_000), "x")), "more than 524,288 names"),
    ],
)
def test_broken_traces_are_refused_with_the_place(run: Run, change, said: str) -> None:
    with pytest.raises(RheoError, match=said):
        loads(broken(run, change))


def test_a_trace_from_before_the_octaves_is_read(run: Run) -> None:
    data = to_json(run)
    for round in data["rounds"]:
        for visit in round["visits"]:
            assert visit.pop("rest_counts", None) is not None or not visit["rest"]
            visit.pop("rest_masses", None)
    old = loads(json.dumps(data).encode())
    assert all(visit.rest_counts == () for r in old.rounds for visit in r.visits)
    assert old.emissions() == run.emissions() and "version" in data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_an_editor_saved_in_its_own_encoding_is_read(run: Run, encoding: str) -> None:
    assert loads(json.dumps(to_json(run), ensure_ascii=False).encode(encoding)) == run


@pytest.mark.parametrize(
    "blob", [b"", b"\x1f\x8b\x08broken", b"[1]", b"{", b"\xff\xfe", b"[" * 100_000]
)
def test_other_files_are_refused(blob: bytes) -> None:
    with pytest.raises(RheoError, match="not a"):
        loads(blob)


def test_nan_and_bombs_are_refused(run: Run) -> None:
    with pytest.raises(RheoError, match="NaN is not a number"):
        loads(broken(run, lambda d: d["rounds"][0].update(expected_accepted=float("nan"))))
    with pytest.raises(RheoError, match="larger than"):
        loads(gzip.compress(b" " * (70 * 2**20)))


def test_a_failed_write_leaves_the_old_file(run: Run, tmp_path) -> None:
    path = tmp_path / "run.json"
    save(run, path)
    before = path.read_bytes()
    with pytest.raises(ValueError):
        save(dataclasses.replace(run, note=float("inf")), path)
    assert path.read_bytes() == before
