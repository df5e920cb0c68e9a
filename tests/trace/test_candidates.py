"""All candidates of a round in the trace: complete, ranked as pruning ranked them, and checked."""

import json
from dataclasses import replace

import pytest

from rheo.errors import RheoError
from rheo.trace.candidates import candidates, ghost_kind, proposed, ranked, unknown
from rheo.trace.io import dumps, loads, to_json
from rheo.trace.schema import Ghost, Run
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of

pytestmark = pytest.mark.usefixtures("one_thread")
K, R, DEPTH = 4, 12, 3  # of `tiny_runs`


@pytest.fixture(scope="module", params=DRAFTING)
def run(request, models) -> Run:
    """A run of each strategy, saved and read back."""
    d = decoding(models, strategy=request.param, seed=11, max_new_tokens=30, T=0.9)
    new_tokens(d)
    return loads(dumps(run_of(d), packed=False))


def test_every_candidate_is_there_with_its_place(run: Run) -> None:
    for r in run.rounds:
        found = candidates(r)
        assert len(found) == K + (DEPTH - 1) * K * K == len(r.candidates.tokens)
        assert [proposed(r, level) for level in (1, 2, 3, 4)] == [(1, 4), (4, 16), (4, 16), (0, 0)]
        assert [c.slot for c in found] == [i % K for i in range(len(found))]
        for c in found:
            assert c.level == 1 if c.parent < 0 else c.level == found[c.parent].level + 1
            assert c.parent < 0 or (found[c.parent].expanded and c.score <= found[c.parent].score)
        for level in (1, 2):  # the beam is the K best of its level
            there = [c for c in found if c.level == level]
            assert sorted(c.index for c in ranked(there)[:K]) == [
                c.index for c in there if c.expanded
            ]
        assert not any(c.expanded for c in found if c.level == DEPTH)


def test_the_kept_nodes_are_the_first_of_the_ranking(run: Run) -> None:
    for r in run.rounds:
        order = ranked(candidates(r))
        assert {c.node for c in order[:R]} == set(range(1, R + 1))
        assert all(c.node is None for c in order[R:])
        for c in order[:R]:
            node = r.nodes[c.node]
            assert (c.token, c.kind, c.slot, c.level, c.expanded) == (
                node.token,
                node.kind,
                node.slot,
                node.depth,
                node.expanded,
            )
            assert c.score == node.score


def test_a_dropped_sibling_is_its_candidate(run: Run) -> None:
    for r in run.rounds:
        by_place = {(c.parent, c.slot): c for c in candidates(r)}
        place = {c.node: c.index for c in by_place.values() if c.node is not None} | {0: -1}
        for i, node in enumerate(r.nodes):
            for ghost in node.ghosts:
                c = by_place[place[i], ghost.slot]
                assert (c.token, c.kind, c.node) == (ghost.token, ghost.kind, None)


def test_nothing_drafted_has_no_candidates(models) -> None:
    d = decoding(models, strategy="autoregressive", max_new_tokens=4)
    new_tokens(d)
    run = run_of(d)
    assert all(r.candidates is None for r in run.rounds) and unknown(run) == ()


def older(run: Run) -> dict:
    """A run as version 1 wrote it."""
    data = to_json(run) | {"version": 1}
    data.pop("end_tokens", None)
    for r in data["rounds"]:
        r.pop("candidates")
        for node in r["nodes"]:
            for ghost in node.get("ghosts", ()):
                ghost.pop("kind")
    return data


def test_a_trace_of_version_1_is_read_and_says_what_it_lacks(run: Run) -> None:
    old = loads(json.dumps(older(run)).encode())
    assert unknown(old) == ("candidates", "end tokens") and unknown(run) == ()
    assert old.emissions() == run.emissions() and not candidates(old.rounds[0])
    assert dumps(old, packed=False) == json.dumps(older(run), separators=(",", ":")).encode()


def _swapped_beam(made: dict) -> None:
    made["expanded"][1], made["expanded"][2] = made["expanded"][2], made["expanded"][1]


def _better_dropped(made: dict) -> None:
    made["scores"][made["scores"].index(min(made["scores"]))] = 0.5


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["tokens"].append(1),
        lambda c: c["expanded"].append(1),
        lambda c: c["expanded"].clear(),
        lambda c: c.update(kinds=c["kinds"][:-1]),
        lambda c: c.update(kinds="x" + c["kinds"][1:]),
        lambda c: c["scores"].pop(),
        lambda c: c["scores"].__setitem__(0, 2.0),
        lambda c: c["tokens"].__setitem__(0, 2**40),
        lambda c: c["tokens"].__setitem__(0, c["tokens"][0] + 1),
        lambda c: c["expanded"].__setitem__(0, 0),
        lambda c: c["expanded"].__setitem__(5, 3),
        lambda c: c.update(expanded=[], tokens=[], kinds="", scores=[]),
        lambda c: [c[name].extend(c[name] * 30) for name in ("expanded", "tokens", "scores")],
        _swapped_beam,
        _better_dropped,
    ],
)
def test_candidates_that_no_round_has_are_refused(run: Run, change) -> None:
    data = to_json(run)
    change(data["rounds"][0]["candidates"])
    with pytest.raises(RheoError, match=r"round 0|not a trace"):
        loads(json.dumps(data).encode())


@pytest.mark.parametrize(
    ("strategy", "probes", "T", "kinds"),
    [
        ("rheo", 1, 1.0, "dpff"),
        ("rheo", 1, 0.0, "dpff"),
        ("rheo-rrsw", 1, 1.0, "dpff"),
        ("naive", 1, 1.0, "dpff"),
        ("rheo-multi", 2, 1.0, "dppf"),
        ("rheo-multi", 2, 0.0, "dpff"),
        ("topk", 1, 1.0, "dddd"),
    ],
)
def test_in_an_old_trace_the_slot_says_what_was_dropped(run, strategy, probes, T, kinds) -> None:
    params = {**run.params, "strategy": strategy, "m": 1, "probes": probes, "T": T}
    made = replace(run, params=params)
    found = [ghost_kind(made, Ghost(slot, 7, 0.1)) for slot in range(4)]
    assert "".join(kind[0] for kind in found) == kinds
    assert ghost_kind(made, Ghost(1, 7, 0.1, "filler")) == "filler"  # what is stored says it


def test_fillers_in_the_slots_of_probes_are_stored_as_fillers(models) -> None:
    """At T = 0 the tail has mass for one probe a node; counted by slots there were three."""
    d = decoding(models, strategy="rheo-multi", m=0, probes=3, T=0.0, R=20, max_new_tokens=30)
    new_tokens(d)
    run = loads(dumps(run_of(d), packed=False))
    families = kept = lost = guessed = 0
    for r in run.rounds:
        assert r.candidates.kinds == "pfff" * 9
        parents = {node.parent for node in r.nodes[1:]}
        families += len(parents)
        kept += sum(node.kind == "probe" for node in r.nodes)
        lost += sum(g.kind == "probe" for node in r.nodes for g in node.ghosts)
        guessed += sum(g.slot < 3 for node in r.nodes for g in node.ghosts)
    assert kept + lost == families and guessed > lost
