"""The shipped gallery: every trace loads, adds up, and shows by its numbers what its note says."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rheo.errors import RheoError
from rheo.exact import what_if
from rheo.gallery import criteria, listing, record
from rheo.params import STRATEGIES, STRATEGY_FIELDS
from rheo.trace.candidates import candidates, ranked, unknown
from rheo.trace.io import dumps, load
from rheo.trace.schema import Round, Run
from tests.trace.recomputed import verdicts_by_hand

TRACES = Path(__file__).parents[2] / "assets" / "traces"
GROUPS = json.loads(record.SPEC.read_text(encoding="utf-8"))
NAMES = [about["name"] for group in GROUPS for about in group["runs"]]
LARGEST = 300_000  # bytes of a trace
LARGEST_ROUND = 60_000  # packed


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {name: load(TRACES / f"{name}.json.gz") for name in NAMES}


def test_the_index_is_complete():
    index = listing.read_index(TRACES)
    assert [entry.name for entry in index] == NAMES
    assert {path.name for path in TRACES.glob("*.json.gz")} == {f"{n}.json.gz" for n in NAMES}
    for entry, about in zip(index, (r for g in GROUPS for r in g["runs"]), strict=True):
        assert (entry.title, entry.sentence) == (about["title"], about["sentence"])


def test_there_is_one_of_everything(runs):
    assert len(runs) >= 8
    assert {run.params["strategy"] for run in runs.values()} == set(STRATEGIES)
    assert {0.0, 0.7, 1.0, 1.3} <= {run.params["T"] for run in runs.values()}
    assert len({run.prompt for run in runs.values()}) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_small(name):
    assert (TRACES / f"{name}.json.gz").stat().st_size < LARGEST


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["runs"][0]["name"])
def test_every_note_is_proved_by_the_numbers(group, runs):
    names = [about["name"] for about in group["runs"]]
    index = {entry.name: entry for entry in listing.read_index(TRACES)}
    found = criteria.CRITERIA[group["wanted"]](lambda at: runs[names[at]])
    assert found is not None
    for about, one in zip(group["runs"], found, strict=True):
        run = runs[about["name"]]
        assert run.note == one.note(about["note"])
        assert run.prompt == group["prompt"]
        assert index[about["name"]].round == one.round < len(run.rounds)
    assert len({runs[name].params["seed"] for name in names}) == 1
    first = {
        (runs[n].first.token, runs[n].rounds[0].root, runs[n].rounds[0].uniforms.u2) for n in names
    }
    assert len(first) == 1  # one moment


def test_rrsw_was_lucky_and_not_better(runs):
    rrsw, rheo = (runs[name].rounds[0] for name in ("rrsw-luckier", "rrsw-luckier-rheo"))
    assert rrsw.accepted > rheo.accepted and rrsw.expected_accepted < rheo.expected_accepted


@pytest.mark.parametrize("name", NAMES)
def test_the_rest_is_known_well_enough_for_any_temperature(name, runs):
    run = runs[name]
    nodes = [(r, v.node) for r in run.rounds for v in r.visits if v.ids] if run.params["T"] else []
    for T in (0.5, 1.2, 2.0):
        for r, node in nodes:
            assert what_if.recompute(run, r, node, run.params["m"], T, run.params["K"]).error < 0.02


def verdicts(round: Round, strategy: str) -> list[tuple[list[str], list[str]]]:
    """(recomputed, recorded) of each visit."""
    pairs = []
    for i, visit in enumerate(round.visits):
        u1, u2 = round.uniforms.u1[i], round.uniforms.u2[i]
        first = STRATEGY_FIELDS[strategy].tests_deterministic_first
        recomputed = verdicts_by_hand(visit, u1, u2, first)
        pairs.append((recomputed, [step.verdict for step in visit.steps]))
    return pairs


@pytest.mark.parametrize("name", NAMES)
def test_every_verdict_is_recomputed(name, runs):
    run = runs[name]
    text = "".join(run.tokens[e.token] for e in run.emissions())
    assert run.rounds and text.startswith(run.text.rstrip("�")[:20])
    for round in run.rounds:
        for recomputed, recorded in verdicts(round, run.params["strategy"]):
            assert recomputed == recorded
        below = round.below_end(run.end_tokens)
        assert math.fsum(
            math.prod(n.accept for n in path(round, i))
            for i in range(1, len(round.nodes))
            if not below[i]
        ) == pytest.approx(round.expected_accepted, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_every_candidate_is_shipped(name, runs):
    run = runs[name]
    assert unknown(run) == () and run.end_tokens
    K, R, depth = (run.params[key] for key in ("K", "R", "depth"))
    for round in run.rounds:
        if len(round.nodes) == 1:
            assert round.candidates is None and run.params["strategy"] == "autoregressive"
            continue
        order = ranked(candidates(round))
        assert len(order) == K + (depth - 1) * K * K
        assert {c.node for c in order[:R]} == set(range(1, R + 1))
        assert len(dumps(replace(run, rounds=(round,), tokens={}), True)) < LARGEST_ROUND


def path(round: Round, i: int) -> list:
    nodes = []
    while i > 0:
        nodes.append(round.nodes[i])
        i = round.nodes[i].parent
    return nodes


def test_a_criterion_can_fail(runs):
    assert criteria.probe_saves(lambda at: runs["one-hot-loses"]) is None
    assert criteria.rrsw_luckier(lambda at: runs["rrsw-luckier"]) is None
    assert criteria.naive_prunes(lambda at: runs["naive-rheo"]) is None
    assert criteria.later_probe(lambda at: runs["arithmetic"]) is None


# The search, with runs that are made up


@pytest.fixture
def spec(tmp_path) -> Path:
    group = {"wanted": "longest", "prompt": "x", "seeds": 3, "params": {}}
    about = {"title": "t", "sentence": "s", "note": "Round {round}: {accepted}.", "params": {}}
    path = tmp_path / "gallery.json"
    path.write_text(json.dumps([{**group, "runs": [{"name": n, **about}]} for n in ("a", "b")]))
    return path


@pytest.fixture
def decoded(monkeypatch, runs) -> list[tuple[int, int | None]]:
    """What was decoded, as (seed, rounds); seed 2 gives a run, the others give none."""
    asked = []

    def decode(engine, prompt, params, rounds):
        asked.append((params.seed, rounds))
        full = runs["arithmetic"]
        return full if params.seed == 2 else SimpleNamespace(rounds=())

    monkeypatch.setattr(record, "_decode", decode)
    return asked


def test_seeds_are_tried_in_turn_and_the_index_is_written(spec, decoded, tmp_path):
    assert len(list(record.record(None, tmp_path, spec=spec))) == 2
    assert [seed for seed, _ in decoded] == [0, 1, 2] * 2
    assert [entry.name for entry in listing.read_index(tmp_path)] == ["a", "b"]
    assert load(tmp_path / "a.json.gz").note.startswith("Round ")


def test_the_best_seed_is_kept_where_none_is_perfect(spec, decoded, tmp_path, monkeypatch):
    def scored(at):
        seed = at(0).params["seed"]
        return [criteria.Found(0, {"accepted": seed}, score=seed / 10)]

    def decode(engine, prompt, params, rounds):
        decoded.append((params.seed, rounds))
        return replace(runs_of["arithmetic"], params={"seed": params.seed})

    runs_of = {"arithmetic": load(TRACES / "arithmetic.json.gz")}
    monkeypatch.setattr(record, "_decode", decode)
    monkeypatch.setitem(criteria.CRITERIA, "longest", scored)
    list(record.record(None, tmp_path, "a", spec))
    assert load(tmp_path / "a.json.gz").note == "Round 1: 2."
    assert [seed for seed, _ in decoded] == [0, 1, 2]


def test_one_run_alone_keeps_the_others_in_the_index(spec, decoded, tmp_path):
    list(record.record(None, tmp_path, spec=spec))
    before = (tmp_path / "a.json.gz").stat().st_mtime_ns
    list(record.record(None, tmp_path, "b", spec))
    assert [entry.name for entry in listing.read_index(tmp_path)] == ["a", "b"]
    assert (tmp_path / "a.json.gz").stat().st_mtime_ns == before


WRONG = {
    "[0].runs[0].name": ("0.runs.0.name", lambda groups: groups[0]["runs"][0].pop("name")),
    "a name that is a path": (
        "0.runs.0.name",
        lambda groups: groups[0]["runs"][0].update(name="../a"),
    ),
    "a number as text": ("1.seeds", lambda groups: groups[1].update(seeds="3")),
    "no runs": ("1.runs", lambda groups: groups[1].update(runs=[])),
    "an unknown field": ("0.colour", lambda groups: groups[0].update(colour="red")),
}


@pytest.mark.parametrize(("place", "spoil"), WRONG.values(), ids=WRONG)
def test_a_broken_list_is_one_sentence_with_its_place(spec, decoded, tmp_path, place, spoil):
    groups = json.loads(spec.read_text())
    spoil(groups)
    spec.write_text(json.dumps(groups))
    with pytest.raises(RheoError, match=rf"^The gallery's gallery\.json is broken at {place}\.$"):
        list(record.record(None, tmp_path, spec=spec))
    assert not decoded


def test_what_is_no_list_at_all_is_one_sentence(spec, tmp_path):
    spec.write_text("[{")
    with pytest.raises(RheoError, match=r"is broken at its first character\.$"):
        listing.read_groups(spec)
    with pytest.raises(RheoError, match="could not be read"):
        listing.read_groups(tmp_path / "none.json")
    (tmp_path / listing.INDEX).write_text('[{"name": "a", "title": "t", "sentence": "s"}]')
    with pytest.raises(RheoError, match=r"index\.json is broken at 0\.round\.$"):
        listing.read_index(tmp_path)


def test_an_unknown_criterion_is_one_sentence(spec, decoded, tmp_path):
    spec.write_text(spec.read_text().replace("longest", "shortest"))
    with pytest.raises(RheoError, match="no criterion 'shortest': choose one of probe saves,"):
        list(record.record(None, tmp_path, spec=spec))


def test_the_index_is_written_as_it_was():
    text = (TRACES / listing.INDEX).read_bytes()
    entries = listing.read_index(TRACES)
    assert listing._ENTRIES.dump_json(entries, indent=2) + b"\n" == text


def test_no_good_seed_and_no_such_name_are_one_sentence(spec, decoded, tmp_path):
    with pytest.raises(RheoError, match="no run 'c': choose one of a, b"):
        list(record.record(None, tmp_path, "c", spec))
    spec.write_text(spec.read_text().replace('"seeds": 3', '"seeds": 2'))
    with pytest.raises(RheoError, match="None of 2 seeds is good for a"):
        list(record.record(None, tmp_path, spec=spec))
