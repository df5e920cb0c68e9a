"""What a GPU would need, as far as a CPU can tell."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.needs import skip_unless_required
from tests.space import gpu_check

ROOT = Path(__file__).parents[2]


def run(module: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("first", ["cpu", "cuda"])
def test_a_target_on_two_devices_is_the_target_on_one(first):
    if importlib.util.find_spec("spaces") is None:
        skip_unless_required("spaces", "the package spaces, which pretends a GPU, is missing")
    done = run("tests.space.two_devices", first)
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout.split()[-1]) < 1e-4


@pytest.mark.slow
def test_without_a_gpu_the_check_says_so_and_its_cpu_parts_run():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: run tests.space.gpu_check itself")
    done = run("tests.space.gpu_check")
    assert done.returncode == 0 and "no GPU here" in done.stdout
    done = run("tests.space.gpu_check", "--cpu")
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "24 tokens equal" in done.stdout and "distribution: 150 runs" in done.stdout


def test_the_law_check_can_fail(monkeypatch):
    """Runs at half the temperature that the distribution is computed for."""
    target, head = gpu_check.loaded(gpu_check.tiny_model(vocab=24), torch.device("cpu"), 20)
    run = gpu_check.run
    monkeypatch.setattr(gpu_check, "run", lambda *a, **k: run(*a, **(k | {"T": 0.5})))
    _, exact = gpu_check.distribution(target, head, gpu_check.SMALL, 150)
    assert not exact
