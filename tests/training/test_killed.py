"""What is killed goes on to the same end, and nothing half-written is read as whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rheo.errors import RheoError
from rheo.training.corpus import _check_settings
from rheo.training.run import _Log
from tests.training.test_train import Recipe, advance, tiny_trainer

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_kind_of_job_survives_a_kill():
    done = subprocess.run(
        [sys.executable, "-m", "tests.training.killed", "3"], cwd=ROOT, capture_output=True,
        text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["kind"] for each in found] == ["corpus", "train", "traces", "gallery"]
    assert all(each["kills"] == 3 and each["different"] == 0 for each in found), found


@pytest.mark.parametrize("how", ["half", "empty", "no checkpoint", "another head"])
def test_a_checkpoint_that_is_unusable_is_one_sentence(how, tmp_path):
    path, recipe = tmp_path / "checkpoint.pt", Recipe(steps=4, tokens=80, unroll=2)
    trainer = tiny_trainer(tmp_path / "corpus", recipe)
    advance(trainer, 1)
    trainer.save(path)
    if how == "half":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no checkpoint":
        torch.save({"weights": {}}, path)
    else:
        state = torch.load(path, weights_only=True)
        state["weights"]["fc"] = torch.zeros(3, 3)
        torch.save(state, path)
    with pytest.raises(
        RheoError, match=r"checkpoint\.pt is damaged or belongs to another head"
    ) as e:
        tiny_trainer(tmp_path / "corpus", recipe).resume(path)
    assert "\n" not in str(e.value)


def test_settings_that_cannot_be_read_are_one_sentence(tmp_path):
    _check_settings(tmp_path, {"seed": 0})
    (tmp_path / "corpus.json").write_text('{"seed"')
    with pytest.raises(RheoError, match=r"corpus\.json cannot be read"):
        _check_settings(tmp_path, {"seed": 0})


def test_half_a_line_of_a_log_is_cut_off(tmp_path):
    log = _Log(tmp_path, lambda line: None)
    log(step=1)
    with log.path.open("a") as file:
        file.write('{"step": 2, "lo')
    _Log(tmp_path, lambda line: None)(step=2)
    assert [json.loads(x)["step"] for x in log.path.read_text().splitlines()] == [1, 2]
