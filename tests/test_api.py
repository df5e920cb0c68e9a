"""The public API: light to import, and the same engine, audit, traces and figures behind it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rheo
import visual
from rheo.decoding.engine import Engine
from rheo.exact.audit import audit as audit_of
from rheo.exact.worlds import World
from rheo.models.hub.catalogue import ASSETS
from rheo.trace.io import save
from tests.tiny import tiny_folder
from visual.tree.figure import drawing

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).parents[1]
RECORDED = sorted((ASSETS / "traces").glob("*.json.gz"))[0]
HEAVY = {"torch", "transformers", "gradio", "plotly"}
ASKED = {"K": 4, "R": 12, "depth": 3, "S": 20, "max_new_tokens": 24, "seed": 7}
WORLD = {
    "vocab": 2,
    "q": {"": [0.7, 0.3]},
    "p": {"": [0.5, 0.5], "0": [0.9, 0.1], "1": [0.2, 0.8]},
}


def loaded_after(code: str) -> set[str]:
    """The heavy packages in a fresh interpreter's memory after it ran `code`."""
    shown = f"{code}\nimport sys; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stdout.split())


def test_importing_it_loads_nothing_heavy():
    assert not loaded_after("import rheo, visual; rheo.load, rheo.audit, visual.figure")


def test_opening_a_trace_needs_no_torch():
    assert not loaded_after(f"import rheo; rheo.open_trace({str(RECORDED)!r})")


def test_a_heavy_import_would_show():
    assert loaded_after("import rheo.decoding.loop") >= {"torch", "transformers"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    folder = tmp_path_factory.mktemp("pair")
    target = tiny_folder(folder / "target", seed=1)
    draft = tiny_folder(folder / "draft", seed=2)
    stages = []
    made = rheo.load(
        target=str(target), draft=str(draft), device="cpu", progress=lambda *s: stages.append(s[0])
    )
    assert stages == ["Ready", "Loading the target", "Loading the draft", "Ready"]
    return made


def test_generate_is_the_decoding_recorded(engine):
    stream = engine.generate("the cat", **ASKED)
    assert stream.tau is None and stream.text == ""
    rounds = list(stream)
    decoding = engine.decode("the cat", rheo.DecodeParams(**ASKED))
    texts = [decoded.text for decoded in decoding]
    run = engine.record(decoding, "the cat")
    untimed = [replace(r, ms=s.ms) for r, s in zip(rounds, run.rounds, strict=True)]
    assert tuple(untimed) == run.rounds and len(texts) == len(rounds) > 1
    assert stream.text == decoding.text == run.text and stream.stopped == run.stop == "length"
    assert stream.tau == run.tau == stream.run().tau
    assert stream.run().prompt == "the cat" and stream.run().tokens == run.tokens
    assert stream.run().params == rheo.DecodeParams(**ASKED).as_dict()


def test_a_stream_stops_early_and_takes_ids(engine):
    ids = engine.target.encode("the cat")
    with engine.generate(ids, **ASKED) as stream:
        first = next(stream)
    assert stream.stopped == "closed" and list(stream) == []
    assert len(stream.run().rounds) == 1 and stream.run().rounds[0] == first
    assert len(list(engine.generate(ids, **ASKED))) > 1  # the model is free again


def test_wrong_arguments_are_one_sentence(engine, tmp_path):
    with pytest.raises(rheo.RheoError, match="Unknown parameter 'temperature'"):
        engine.generate("x", temperature=1.0)
    with pytest.raises(rheo.RheoError, match="belong together"):
        rheo.load(target="somewhere")
    with pytest.raises(rheo.RheoError, match="smollm2-135m"):
        rheo.load("nothing-of-the-kind")
    with pytest.raises(rheo.RheoError):
        rheo.open_trace(tmp_path / "none.json.gz")
    with pytest.raises(rheo.RheoError, match="not a world"):
        rheo.audit({}, {})


def test_audit_is_the_exact_one():
    asked = {"m": 1, "K": 2, "R": 2, "depth": 1, "S": 2}
    params = rheo.DecodeParams(**asked)
    found = rheo.audit(WORLD, asked)
    assert found.as_dict() == audit_of(World.from_json(WORLD), params).as_dict()
    assert found.as_dict() == rheo.audit(World.from_json(WORLD), params).as_dict()
    assert found.tv < 1e-12 and found.expected_accepted > 0.5


def test_a_saved_run_opens_again(engine, tmp_path):
    stream = engine.generate("the cat", **ASKED)
    list(stream)
    save(stream.run(), tmp_path / "run.json.gz")
    opened = rheo.open_trace(tmp_path / "run.json.gz")
    assert opened.text == stream.text and opened.emissions() == stream.run().emissions()


def test_a_figure_without_a_server():
    run = rheo.open_trace(RECORDED)
    figure = visual.figure(run, 1, ghosts=True)
    kinds = [trace["name"] for trace in drawing(run, run.rounds[1], ghosts=True)["data"]]
    assert [trace.name for trace in figure.data] == kinds and len(kinds) > 3
    assert visual.figure(run, run.rounds[1], ghosts=True) == figure != visual.figure(run, 0)
    with pytest.raises(rheo.RheoError, match="there is no round 99"):
        visual.figure(run, 99)
