"""ZeroGPU's conditions, with the real `spaces` package in its emulation; see `zero`."""

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
import torch

from rheo.decoding.watch import Watch
from rheo.errors import RheoError
from rheo.models.draft.eagle3 import Eagle3
from rheo.params import DecodeParams
from rheo.training.init_head import initial_head, save
from tests.needs import skip_unless_required
from tests.tiny import tiny_folder, tiny_model
from visual.runtime import live_run, model_loader, zero_gpu

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Path:
    """A tiny target and a new head."""
    folder = tmp_path_factory.mktemp("pair")
    tiny_folder(folder / "target")
    model = tiny_model(vocab=288)
    config, checkpoint = initial_head(model, torch.arange(200))
    save(Eagle3(checkpoint, model.get_input_embeddings().weight, 8), config, folder / "head")
    return folder


def run(mode: str, pair: Path) -> dict:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GRADIO_ANALYTICS_ENABLED": "False"}
    environment.pop("SPACES_ZERO_GPU", None)
    command = [sys.executable, "-m", "tests.space.zero", mode, str(pair)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_run_on_a_spaces_gpu_is_the_run_at_home(pair):
    if importlib.util.find_spec("spaces") is None:
        skip_unless_required("spaces", "the package spaces is not installed")
    home, lent_run = run("plain", pair), run("zero", pair)
    assert (home["placed"], lent_run["placed"]) == ("cpu", "cuda:0")
    assert home["agreement"] == lent_run["agreement"] is not None
    assert home["first"]["run"]["stop"] == "length" and home["first"]["pieces"] > 5
    for which in ("first", "second", "after"):  # a new worker, the same one again, after a Stop
        assert lent_run[which] == home[which]
    assert home["refused"] == lent_run["refused"] and "prompt has" in home["refused"]["said"]
    assert lent_run["leases"] == [{"seconds": 16}] * 5 and home["leases"] == []


@pytest.mark.parametrize(("tokens", "seconds"), [(1, 10), (24, 16), (100, 35), (4000, 60)])
def test_the_time_asked_for_is_computed_and_clamped(tokens, seconds):
    assert live_run.gpu_seconds("any", "", DecodeParams(max_new_tokens=tokens)) == seconds


def test_only_the_pair_of_the_start_is_served_and_nothing_is_loaded_later(monkeypatch):
    asked = []
    held = model_loader.Models(lambda name, progress: asked.append(name) or object())
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    first = held.want("one", wait=True)
    assert held.want("one") is first and held.look("one") is first
    other = held.want("two")
    assert "RHEO_PAIR" in other.sentence and held.look("one") is first and asked == ["one"]
    monkeypatch.delenv("SPACES_ZERO_GPU")
    assert not held.want("two").error


def test_elsewhere_the_generator_is_left_as_it_is():
    def pieces():
        yield 1

    assert zero_gpu.on_gpu(lambda: 1)(pieces) is pieces


class Borrowed:
    """A `spaces` that has no GPU but calls through, and may refuse."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal

    def GPU(self, duration):
        def decorate(task):
            def handler(*arguments):
                if self.refusal:
                    raise gr.Error(self.refusal)
                assert duration(*arguments) == 7
                yield from task(*arguments)

            return handler

        return decorate


def decorated(monkeypatch, spaces: Borrowed, pieces):
    monkeypatch.setattr(zero_gpu, "ZERO", True)
    monkeypatch.setattr(zero_gpu, "spaces", spaces, raising=False)
    return zero_gpu.on_gpu(lambda *arguments: 7)(pieces)


def test_an_error_crosses_as_its_sentence(monkeypatch):
    def pieces(watch):
        yield from ()
        raise RheoError("The prompt is empty.")

    with pytest.raises(RheoError, match="prompt is empty"):
        list(decorated(monkeypatch, Borrowed(), pieces)())


def test_a_refused_lease_is_one_sentence(monkeypatch):
    said = "You have exceeded your ZeroGPU quota"
    with pytest.raises(RheoError, match=said):
        list(decorated(monkeypatch, Borrowed(said), lambda: iter(()))())


def test_a_run_ends_itself_before_its_gpu_time_is_cut_off(monkeypatch):
    clock = itertools.count(0, 4)  # seconds at each look
    monkeypatch.setattr(zero_gpu, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    def pieces(watch):
        for _ in range(9):
            watch.plain_ms.append(5.0)
            yield SimpleNamespace(rounds=(1,), stop="closed")

    shown, beside = [], Watch()
    with pytest.raises(RheoError, match="lent for 7 s"):
        for piece in decorated(monkeypatch, Borrowed(), pieces)(watch=beside):
            shown.append(piece)
    assert len(shown) == 2 and beside.plain_ms == [5.0, 5.0]  # told, and no piece


def test_what_gradio_binds_hands_its_request_down():
    """`spaces` reads the visitor from a context variable when the inner generator first runs."""
    from gradio.context import LocalContext

    seen = []

    def inner():
        seen.append(LocalContext.request.get(None))
        yield "x"

    def bound():
        yield from inner()

    with gr.Blocks(analytics_enabled=False) as blocks:
        out = gr.Textbox()
        gr.Button().click(bound, None, out, api_name="go")
    blocks.queue(max_size=2)
    _, url, _ = blocks.launch(prevent_thread_lock=True, quiet=True, run_history=False)
    try:
        from gradio_client import Client

        Client(url, verbose=False).predict(api_name="/go")
    finally:
        blocks.close()
    assert seen and seen[0] is not None
