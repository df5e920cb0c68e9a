"""Opening and saving without a browser: what arrives is bounded and refused in one sentence."""

import base64
import csv
import gzip
import json
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace

import pytest

from rheo.errors import RheoError
from rheo.trace import io
from rheo.trace.schema import Run
from tests.visual import sample
from visual.browser import html_export
from visual.pages import recorded_runs, slider_constraints, url_state
from visual.pages.controls import RUN_INPUTS
from visual.round import round_table
from visual.runtime import run_settings, run_store
from visual.runtime.kept_runs import RUNS, KeptRuns
from visual.runtime.session import PlaygroundVisitor
from visual.words import labels, recordings

SKIPPED = {"__type__": "update"}


@pytest.fixture(scope="module")
def run() -> Run:
    made = sample.run(rounds=2, R=8, K=3)
    nodes = (replace(made.rounds[0].nodes[0], token=33), *made.rounds[0].nodes[1:])
    tokens = {**made.tokens, 33: "=1+1"}
    params = {**made.params, "seed": 7, "probes": 1, "max_new_tokens": 32, "S": 32}
    first = replace(made.rounds[0], nodes=nodes)
    made = replace(made, rounds=(first, *made.rounds[1:]), tokens=tokens, params=params)
    return io.loads(io.dumps(made, packed=False))  # with the digits that a file keeps


def sent(run: Run, packed: bool = True) -> str:
    return base64.b64encode(io.dumps(run, packed)).decode()


def answer(visitor: PlaygroundVisitor, **payload) -> tuple[dict, list]:
    event = SimpleNamespace(**payload)
    if "data" in payload:
        *_, (message, *controls) = recorded_runs.taken_in(event, visitor)
    else:
        message, *controls = recorded_runs.opened(event, visitor)
    return json.loads(message), controls


def test_an_own_trace_is_kept_and_its_settings_go_to_the_controls(run):
    visitor = PlaygroundVisitor(epoch=3, wanted=3, doing="decoding")
    for packed in (True, False):
        message, controls = answer(visitor, data=sent(run, packed))
        assert (message["type"], message["show"]) == ("run", 0)
        assert visitor.runs[message["key"]] == run
    assert (visitor.epoch, visitor.wanted, visitor.doing) == (5, 5, "nothing")
    assert message["n"][0] == 5  # newer than anything the run before may still say
    updates = dict(zip(RUN_INPUTS, controls, strict=True))
    assert updates["m"]["maximum"] == 2  # K - 1
    got = {name: update.get("value") for name, update in updates.items()}
    assert got["prompt"] == run.prompt and got["strategy"] == "rheo"
    assert {name: got[name] for name in ("m", "K", "T", "S", "seed")} == {
        "m": 1, "K": 3, "T": 1.0, "S": 32, "seed": 7,
    }  # fmt: skip


def test_settings_that_have_no_place_on_the_controls_are_left_alone(run):
    odd = replace(run, params={**run.params, "S": None, "max_new_tokens": 60000, "seed": 2**60})
    got = run_settings.made_with(odd)
    assert not {"max_new_tokens", "seed"} & set(got)
    assert got["m"] == 1 and got["S"] == "full"
    for params in ({"m": "<b>"}, {"T": [1]}, {"strategy": {"a": 1}}, {}):
        assert run_settings.made_with(replace(run, params=params)) == {"prompt": run.prompt}
    message, controls = answer(PlaygroundVisitor(), data=sent(odd))
    for name in ("pair = sample", "max_new_tokens = 60000", f"seed = {2**60}"):
        assert name in message["sentence"]  # what Run would do otherwise is said
    updates = dict(zip(RUN_INPUTS, controls, strict=True))
    assert updates["seed"] == updates["max_new_tokens"] == SKIPPED != updates["S"]


def test_what_the_link_locks_stays_where_it_is(run):
    visitor = PlaygroundVisitor(locked=("m", "prompt"))
    updates = dict(zip(RUN_INPUTS, answer(visitor, data=sent(run))[1], strict=True))
    assert updates["prompt"] == SKIPPED and "value" not in updates["m"]
    assert updates["seed"]["value"] == 7
    kept = slider_constraints._resolver("K")(visitor, *values(K=1, m=3))
    assert kept[:-1] == [SKIPPED] * 4 or "value" not in kept[0]
    assert "leaves no slot" in kept[-1]


def values(**changed):
    usual = {**url_state.defaults(), **changed}
    return [usual[name] for name in run_settings.FIELDS]


def test_only_so_many_runs_of_a_visitor_are_kept(run):
    visitor = PlaygroundVisitor()
    for _ in range(RUNS + 2):
        answer(visitor, data=sent(run))
    assert len(visitor.runs) == RUNS


def broken(run: Run, **changes) -> str:
    data = {**io.to_json(run), **changes}
    return base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()


def bomb() -> str:
    return base64.b64encode(gzip.compress(b" " * (recorded_runs.PLAIN + 1))).decode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda run: 7, "is larger than"),
        (lambda run: "A" * (recorded_runs.packed() * 4 // 3 + 8), "is larger than"),
        (lambda run: "not base64!", "is not a trace"),
        (lambda run: "", "is not a trace"),
        (lambda run: sent(run)[:-40], "trace"),
        (lambda run: bomb(), "larger than 16 MB"),
        (lambda run: broken(run, rounds=[]), "no rounds"),
        (lambda run: broken(run, extra=1), "unknown field"),
        (lambda run: broken(run, note="x" * 5000), "a text of 5,000 characters"),
        (lambda run: broken(run, tokens={"1": "y" * 5000}), "a text of 5,000 characters"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence_and_nothing_changes(run, data, said):
    visitor = PlaygroundVisitor(epoch=3, wanted=2, doing="decoding")
    message, controls = answer(visitor, data=data(run))
    assert (message["type"], message["state"]) == ("say", "wrong")
    assert said in message["sentence"] and len(message["sentence"]) < 200
    assert controls == [SKIPPED] * len(RUN_INPUTS)
    assert (visitor.epoch, visitor.wanted, visitor.doing) == (3, 2, "decoding")
    assert not visitor.runs


def test_more_rounds_or_nodes_than_can_be_shown_are_one_sentence(run, monkeypatch):
    monkeypatch.setattr(recorded_runs, "_NODES", 4)
    assert "a round of 9 nodes" in answer(PlaygroundVisitor(), data=sent(run))[0]["sentence"]
    monkeypatch.setattr(recorded_runs, "_ROUNDS", 1)
    assert "2 rounds" in answer(PlaygroundVisitor(), data=sent(run))[0]["sentence"]


def test_a_view_that_fails_at_a_trace_is_one_sentence(run, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(recorded_runs.messages, "whole", fail)
    assert answer(PlaygroundVisitor(), data=sent(run))[0]["sentence"] == recordings.UNDRAWABLE


@pytest.mark.parametrize("key", [None, 3, "", "recorded", "gallery/none", "gallery/../x", ["a"]])
def test_a_key_that_names_no_shipped_run_is_one_sentence(key):
    message, _ = answer(PlaygroundVisitor(), key=key)
    assert message["sentence"] == recordings.NOT_THERE


def test_a_shipped_run_opens_at_its_round(run, tmp_path, monkeypatch):
    io.save(run, tmp_path / "one.json.gz")
    entry = {"name": "one", "title": "One", "sentence": "It is.", "round": 1}
    (tmp_path / "index.json").write_text(json.dumps([entry, {**entry, "name": "gone"}]))
    monkeypatch.setattr(run_store, "TRACES", tmp_path)
    for cached in (run_store.gallery, run_store._shipped):
        monkeypatch.setattr(run_store, cached.__name__, cached.__wrapped__)
    message, _ = answer(PlaygroundVisitor(), key="gallery/one")
    assert (message["key"], message["show"]) == ("gallery/one", 1)
    assert message["sentence"].startswith(recordings.GALLERY_RUN.format(title="One"))
    assert run_store.find({}, "gallery/one") == run
    assert answer(PlaygroundVisitor(), key="gallery/gone")[0]["sentence"] == recordings.NOT_THERE


# Saving


def file(made: Run, **asked) -> dict:
    payload, own = {"run": "mine", "round": 0, "n": 4, **asked}, KeptRuns()
    own.keep("mine", made)
    return json.loads(
        recorded_runs.saved(SimpleNamespace(**payload), PlaygroundVisitor(own))["saved"]
    )


def test_the_saved_trace_is_the_run(run):
    got = file(run, what="json")
    assert (got["n"], got["what"]) == (4, "json")
    assert io.loads(base64.b64decode(got["data"])) == run


def test_the_saved_table_is_the_round(run):
    text = base64.b64decode(file(run, what="csv", round=1)["data"]).decode("utf-8-sig")
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", "")
    back = list(csv.DictReader(StringIO(text, newline="")))
    rows = round_table.rows(run, run.rounds[1])
    assert [row[labels.COLUMNS["token"]] for row in back] == [row["token"] for row in rows]


def test_no_cell_of_a_saved_table_is_a_formula(run):
    text = base64.b64decode(file(run, what="csv")["data"]).decode("utf-8-sig")
    cells = [cell for row in csv.reader(StringIO(text)) for cell in row]
    assert "'=1+1" in cells
    assert not [c for c in cells if c[:1] in "=+-@" and len(c) > 1 and not number(c)]


def number(cell: str) -> bool:
    try:
        return bool(cell) and float(cell) is not None
    except ValueError:
        return False


def test_the_saved_page_is_in_two_parts(run, monkeypatch):
    monkeypatch.setattr(html_export, "page", lambda run, show: (f"before {show}", "behind"))
    assert file(run, what="html", round=1)["data"] == ["before 1", "behind"]


@pytest.mark.parametrize(
    "asked",
    [
        {"what": "json", "run": "other"},
        {"what": "trace"},
        {"what": None},
        {"what": "csv", "round": 9},
        {"what": "csv", "round": -1},
        {"what": "csv", "round": True},
        {"what": ["json"]},
    ],
    ids=str,
)
def test_what_cannot_be_saved_has_no_data(run, asked):
    assert file(run, **asked) == {"n": 4, "what": "", "data": None}


def test_a_view_that_fails_has_no_data(run, monkeypatch):
    def fail(run, show):
        raise ZeroDivisionError

    monkeypatch.setattr(html_export, "page", fail)
    assert file(run, what="html", n="x") == {"n": 0, "what": "", "data": None}


def test_a_trace_that_is_too_large_says_so():
    with pytest.raises(RheoError, match=r"larger than 1\.5 MB"):
        recorded_runs.read("A" * 3_000_000)
