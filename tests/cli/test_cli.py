"""The command line as a user types it: one JSON object, one sentence, the right exit code."""

import io
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from rheo.cli import main
from rheo.decoding import loop
from rheo.errors import RheoError
from rheo.trace.io import load
from rheo.trace.schema import Run
from tests.tiny import tiny_folder

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors" / "exact_rounds.jsonl"
SMALL = ["--k", "3", "--nodes", "8", "--depth", "3", "--support", "20", "--max-new-tokens", "12"]
TYPES = {
    "text": str, "token_ids": list, "prompt_token_ids": list, "stop": str, "eos_ids": list,
    "error": type(None), "head": type(None),  # no fault, and no EAGLE-3 head
    "rounds": int,
    "tau": float, "accepted_by_kind": dict, "expected_accepted": float, "coverage": float,
    "tokens_per_s": float, "prefill_ms": float, "ms": dict, "plain_step": dict,
    "pair": str, "lossless": bool,
    "params": dict, "device": str, "dtype": str,
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> list[str]:
    """--target and --draft of two tiny random models with one tokenizer."""
    folder = tmp_path_factory.mktemp("pair")
    target = tiny_folder(folder / "target", seed=0)
    draft = tiny_folder(folder / "draft", seed=1, num_hidden_layers=2)
    return ["--target", str(target), "--draft", str(draft)]


def rheo(*arguments: str, **options) -> subprocess.CompletedProcess:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "rheo", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment, **options
    )


@pytest.fixture(scope="module")
def answered(models, tmp_path_factory) -> SimpleNamespace:
    """One run as a process, with a trace."""
    trace = tmp_path_factory.mktemp("trace") / "run.json.gz"
    arguments = ["generate", *models, "--prompt", "the end", *SMALL, "--seed", "5"]
    done = rheo(*arguments, "--json", "--trace", str(trace))
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(arguments=arguments, done=done, trace=trace)


def test_json_is_one_object_alone(answered):
    value = json.loads(answered.done.stdout)  # anything beside it would not parse
    assert answered.done.stdout.count("\n") == 1
    assert {name: type(value[name]) for name in value} == TYPES
    assert set(value["accepted_by_kind"]) == {"deterministic", "probe", "filler"}
    assert set(value["ms"]) == {"draft", "target", "verify", "other", "total"}
    assert len(value["token_ids"]) == 12
    assert value["stop"] == "length"
    assert value["params"]["strategy"] == "rheo"
    assert value["params"]["seed"] == 5
    assert value["ms"]["total"] == pytest.approx(sum(value["ms"].values()) / 2)
    assert 0 < value["coverage"] <= 1


def test_progress_goes_to_standard_error(answered):
    assert "Loading the target" in answered.done.stderr


def test_json_says_what_the_trace_says(answered):
    value, run = json.loads(answered.done.stdout), load(answered.trace)
    assert isinstance(run, Run)
    assert value["token_ids"] == [e.token for e in run.emissions()]
    assert value["text"] == run.text
    assert value["tau"] == pytest.approx(run.tau)
    plain = value["plain_step"]
    assert plain["steps"] >= 1 and plain["fastest_ms"] <= plain["ms"] <= plain["slowest_ms"]
    a_token = value["ms"]["total"] / (len(value["token_ids"]) - 1)
    assert plain["ratio"] == pytest.approx(plain["ms"] / a_token)
    assert value["accepted_by_kind"] == run.accepted_by_kind()
    assert value["expected_accepted"] == pytest.approx(run.expected_accepted, rel=1e-8)
    covered = [n.coverage for r in run.rounds for n in r.nodes if n.expanded]
    assert value["coverage"] == pytest.approx(sum(covered) / len(covered), rel=1e-8)


def run(capsys, *arguments: str) -> SimpleNamespace:
    """The same in this process."""
    capsys.readouterr()
    code = main.main(arguments)
    out, err = capsys.readouterr()
    return SimpleNamespace(code=code, out=out, err=err)


def test_same_seed_same_output(answered, capsys):
    value = json.loads(answered.done.stdout)
    again = json.loads(run(capsys, *answered.arguments, "--json").out)
    volatile = {"ms", "prefill_ms", "tokens_per_s", "plain_step"}
    assert {k: v for k, v in again.items() if k not in volatile} == {
        k: v for k, v in value.items() if k not in volatile
    }
    other = json.loads(run(capsys, *answered.arguments, "--json", "--seed", "6").out)
    assert other["token_ids"] != value["token_ids"]


def test_text_is_streamed_and_nothing_else(answered, capsys):
    assert run(capsys, *answered.arguments).out == json.loads(answered.done.stdout)["text"] + "\n"


def test_autoregressive_works_alike(models, capsys):
    arguments = ["generate", *models, "--prompt", "the", *SMALL, "--json"]
    value = json.loads(run(capsys, *arguments, "--strategy", "autoregressive").out)
    assert set(value) == set(TYPES)
    assert value["tau"] == 1
    assert value["coverage"] is None and value["plain_step"] is None  # it is one itself
    assert value["rounds"] == len(value["token_ids"]) - 1


def test_prompt_from_standard_input(models, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"the end")))
    piped = json.loads(run(capsys, "generate", *models, "--prompt", "-", *SMALL, "--json").out)
    typed = run(capsys, "generate", *models, "--prompt", "the end", *SMALL, "--json").out
    raw = run(capsys, "generate", *models, "--prompt", "the end", *SMALL, "--json", "--raw").out
    assert piped["token_ids"] == json.loads(typed)["token_ids"]
    assert piped["prompt_token_ids"] != json.loads(raw)["prompt_token_ids"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--m", "x"],
        ["--m", "-1"],
        ["--m", "10"],
        ["--k", "0"],
        ["--support", "some"],
        ["--support", "5"],
        ["--temperature", "nan"],
        ["--top-p", "0"],
        ["--max-new-tokens", "0"],
        ["--strategy", "greedy"],
        ["--strategy", "rheo-multi", "--probes", "10"],
        ["--trace", "run.txt"],
        ["--trace", "nowhere/run.json"],
        ["--pair", "gpt"],
        ["--target", "somewhere"],
        ["--target", "not a folder", "--draft", "nor this"],
        ["--device", "abacus"],
        ["--prompt", ""],
        ["--tokens", "3"],
    ],
    ids=" ".join,
)
def test_bad_values_are_one_sentence(wrong, models, capsys):
    pair = [] if wrong[0] in ("--pair", "--target") else models
    try:
        done = run(capsys, "generate", *pair, "--prompt", "hi", *wrong)
    except SystemExit as stop:  # argparse found it
        out, err = capsys.readouterr()
        done = SimpleNamespace(code=stop.code, out=out, err=err)
    said = [line for line in done.err.splitlines() if not line.startswith(("Load", "Ready"))]
    said = [line for line in said if line.strip() and "it/s" not in line]
    assert done.code == 2
    assert done.out == ""
    assert len(said) == 1, done.err
    assert said[0].endswith(".")
    assert "Traceback" not in done.err


def test_a_bad_value_as_a_process(models):
    done = rheo("generate", *models, "--prompt", "hi", "--m", "10")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("m = 10 leaves no slot for the probe: choose m from 0 to K - 1 = 9.\n")


@pytest.mark.parametrize(
    "command", [[], ["generate"], ["bench"], ["fetch"], ["audit"], ["gallery"]]
)
def test_help_needs_no_heavy_import(command):
    code = (
        "import sys\nfrom rheo.cli.main import main\n"
        f"try:\n    main({[*command, '--help']!r})\n"
        "except SystemExit as stop:\n    assert stop.code == 0\n"
        "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


def test_interrupted_json_keeps_what_there_is(models, capsys, monkeypatch):
    def two_rounds(decoding):
        steps = iter(decoding)
        next(steps), next(steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_count", two_rounds)
    done = run(capsys, "generate", *models, "--prompt", "hi", *SMALL, "--json")
    value = json.loads(done.out)
    assert done.code == 130
    assert (value["rounds"], value["stop"]) == (2, "closed")
    assert len(value["token_ids"]) >= 3


def test_ctrl_c_ends_a_process_without_a_traceback(models):
    command = [sys.executable, "-u", "-m", "rheo", "generate", *models, "--prompt", "the"]
    command += ["--strategy", "autoregressive", "--temperature", "0", "--max-new-tokens", "3900"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        # a shell's background jobs, CI's among them, inherit a Ctrl-C that is ignored
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    begun = process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=120)
    assert begun
    assert process.returncode == 130, errors
    assert rest.endswith(b"\n")
    assert b"Traceback" not in errors


def test_what_may_begin_a_stop_string_is_held_back(capsys):
    class Scripted:
        """The texts of a run that ends at the stop string "STOP"."""

        stop = ("STOP", "##")
        text = ""

        def __iter__(self):
            for self.text in ("one ", "one two ST", "one two STILL S", "one two STILL "):
                yield self
                assert "STO" not in capsys_text()

    pieces = []

    def capsys_text() -> str:
        pieces.append(capsys.readouterr().out)
        return "".join(pieces)

    main._stream(Scripted())
    assert capsys_text() == "one two STILL \n"


def test_stop_string_cuts_the_text(answered, capsys):
    text = json.loads(answered.done.stdout)["text"]
    stop = text[5:7]
    done = run(capsys, *answered.arguments, "--stop", stop)
    assert done.out == text[: text.index(stop)] + "\n"


def test_a_sweep_compares_one_strategy_at_several_values(models, capsys):
    arguments = [*SMALL, "--contexts", "2", "--draws", "1", "--limit", "2", "--strategies", "rheo"]
    done = run(capsys, "bench", *models, "--expected", "--sweep", "m=0,1", *arguments, "--json")
    assert set(json.loads(done.out)["strategies"]) == {"rheo m=0", "rheo m=1"}


@pytest.mark.parametrize("sweep", ["m=0,9", "m=x", "seed=1", "m"])
def test_a_sweep_that_cannot_be_is_one_sentence(models, sweep):
    done = rheo("bench", *models, "--expected", "--sweep", sweep, *SMALL)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_audit_reproduces_the_vectors(capsys):
    done = run(capsys, "audit", str(VECTORS))
    found = [json.loads(line) for line in done.out.splitlines()]
    wanted = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert [case["id"] for case in found] == [case["id"] for case in wanted]
    for ours, case in zip(found, wanted, strict=True):
        for name, figures in case["expected"].items():
            for key in figures.keys() - {"accepted_by_kind"}:
                assert ours[name][key] == pytest.approx(figures[key], abs=1e-9)


def test_audit_of_no_file_is_one_sentence(capsys):
    done = run(capsys, "audit", "nowhere.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


def test_a_gallery_without_its_folder_is_one_sentence(capsys):
    done = run(capsys, "gallery", "--out", "nowhere")
    assert (done.code, done.out) == (2, "")
    assert done.err == "There is no folder nowhere to record the gallery into.\n"


def test_fetch_names_the_folders(capsys, monkeypatch, tmp_path):
    paths = SimpleNamespace(target=tmp_path / "t", draft=tmp_path / "d", kind="eagle3")
    monkeypatch.setattr("rheo.models.hub.fetch.ensure", lambda chosen, progress: paths)
    done = run(capsys, "fetch")
    assert done.out == f"target: {tmp_path / 't'}\ndraft:  {tmp_path / 'd'} (eagle3)\n"


@pytest.mark.embedded
def test_the_embedded_pair_answers(embedded_folder):
    arguments = ["--prompt", "What is the capital of France?", "--temperature", "0"]
    done = rheo("generate", *arguments, "--max-new-tokens", "16", "--json")
    value = json.loads(done.stdout)
    assert "Paris" in value["text"]
    assert value["tau"] > 1
    assert value["pair"] == "smollm2-135m"


def test_debug_shows_the_cause(models, capsys, tmp_path):
    folder = tiny_folder(tmp_path)
    config = json.loads((folder / "config.json").read_text()) | {"initializer_range": 1}
    (folder / "config.json").write_text(json.dumps(config))
    arguments = ["generate", "--target", str(folder), *models[2:], "--prompt", "x"]
    assert main.main([*arguments]) == 2
    quiet = capsys.readouterr().err
    assert "Traceback" not in quiet and quiet.strip().splitlines()[-1].count("initializer_range")
    assert main.main([*arguments, "--debug"]) == 2
    loud = capsys.readouterr().err
    assert "Traceback" in loud and "direct cause" in loud
    assert quiet.strip().endswith(loud.strip().splitlines()[-1])


def test_a_run_that_breaks_off_keeps_its_trace(models, capsys, monkeypatch, tmp_path):
    rounds = loop.Decoding._round

    def breaks(self, *arguments):
        if len(self.rounds) == 2:
            raise RheoError("The target's logits are not finite in round 3.")
        return rounds(self, *arguments)

    monkeypatch.setattr(loop.Decoding, "_round", breaks)
    trace = tmp_path / "run.json"
    arguments = ["generate", *models, "--prompt", "the end", *SMALL, "--trace", str(trace)]
    assert main.main([*arguments, "--json"]) == 2
    said = capsys.readouterr()
    assert said.err.strip().endswith("in round 3.")
    assert len(load(trace).rounds) == 2
    value = json.loads(said.out)  # the object holds what there is, and why there is no more
    assert (value["rounds"], value["stop"]) == (2, "closed") and len(value["token_ids"]) >= 3
    assert value["error"] == said.err.strip().splitlines()[-1]
