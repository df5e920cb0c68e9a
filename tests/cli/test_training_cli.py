"""`python -m rheo corpus` and `train` as a user types them, on a tiny random target."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rheo.cli import main
from rheo.models.draft.checkpoints import read
from rheo.training.corpus_files import shards
from tests.tiny import tiny_folder

ROOT = Path(__file__).parents[2]
FEW = ["--max-new-tokens", "12", "--batch", "4", "--limit", "6", "--seed", "3"]
SHORT = ["--tokens", "64", "--unroll", "2", "--warmup", "2", "--evaluate", "4", "--checkpoint", "2",
         "--draft-vocab", "40"]  # fmt: skip


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> list[str]:
    return ["--target", str(tiny_folder(tmp_path_factory.mktemp("target")))]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("prompts") / "own.jsonl"
    lines = ({"suite": "own", "id": i, "prompt": f"the prompt {i}"} for i in range(9))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(target, prompts, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    arguments = ["corpus", *target, "--prompts", str(prompts), "--out", str(folder), *FEW]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "rheo", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "shard 2 of 2" in done.stdout and "left" in done.stdout  # progress, and an estimate
    return folder


def test_a_corpus_holds_answers_to_the_prompts_of_a_file(corpus):
    texts = [text for shard in shards([corpus]) for text in shard.texts]
    assert len(texts) == 6
    assert all(1 <= len(text.answer) <= 12 for text in texts)
    assert len({text.temperature for text in texts}) > 1


def test_a_corpus_goes_on_with_what_is_missing_and_refuses_other_settings(
    corpus, target, prompts, capsys
):
    last = max(corpus.glob("shard-*"))
    before = load_file(last)
    last.unlink()
    arguments = ["corpus", *target, "--prompts", str(prompts), "--out", str(corpus), *FEW]
    assert main.main(arguments) == 0
    assert capsys.readouterr().out.count("shard ") == 1
    after = load_file(last)
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert main.main([*arguments[:-1], "4"]) == 2
    assert "other prompts or settings" in capsys.readouterr().err


def test_a_head_is_trained_written_and_goes_on(corpus, target, tmp_path, capsys):
    arguments = ["train", *target, "--corpus", str(corpus), "--out", str(tmp_path), *SHORT]
    assert main.main([*arguments, "--steps", "4"]) == 0
    *lines, folder = capsys.readouterr().out.splitlines()
    told = [json.loads(line) for line in lines]
    assert 0 < told[0]["coverage"] <= 1
    assert any("loss" in line for line in told)
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    assert config["draft_vocab_size"] == 40 and "rope_theta" in config
    assert len(read(Path(folder)).target_ids) == 40
    assert main.main([*arguments, "--steps", "6"]) == 0  # from the checkpoint: two more
    steps = [json.loads(line).get("step") for line in capsys.readouterr().out.splitlines()[:-1]]
    assert 6 in steps and 2 not in steps


def test_a_folder_without_a_corpus_is_one_sentence(target, tmp_path, capsys):
    arguments = ["train", *target, "--corpus", str(tmp_path / "no"), "--out", str(tmp_path)]
    assert main.main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("No corpus in ")


@pytest.mark.parametrize("option", [["--steps", "0"], ["--tokens", "x"], ["--rate", "fast"]])
def test_a_number_that_cannot_be_is_refused(option, target, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main.main(["train", *target, "--corpus", "c", "--out", str(tmp_path), *option])
    assert stop.value.code == 2 and option[0] in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--rate", "nan"], ["--tv", "1.5"], ["--decay", "-1"]])
def test_a_recipe_that_cannot_be_is_one_sentence(option, target, corpus, tmp_path, capsys):
    arguments = ["train", *target, "--corpus", str(corpus), "--out", str(tmp_path), *option]
    assert main.main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert option[0][2:] in last and last.count(".") == 1
    assert not list(tmp_path.iterdir())
