"""One server for many: the queue before the model, limits of a run, what the machine can hold."""

import json
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from rheo.errors import RheoError
from rheo.models import placement, requirements
from rheo.params import DecodeParams
from visual.runtime import live_run, queue
from visual.runtime.model_loader import Models
from visual.server import limits, settings
from visual.words import refusals

# The queue


def test_the_first_has_the_model_the_others_read_their_place():
    order, told = [], {}

    def visit(name: str, enter: threading.Event) -> None:
        def work():
            enter.wait(5)
            order.append(name)
            yield {"sentence": "done"}

        told[name] = [m["sentence"] for m in queue.in_turn(lambda: False, work())]

    gates = {name: threading.Event() for name in "abc"}
    threads = []
    for count, name in enumerate("abc", start=1):
        threads.append(threading.Thread(target=visit, args=(name, gates[name])))
        threads[-1].start()
        while len(queue.MODEL_QUEUE) < count:
            time.sleep(0.01)
    time.sleep(0.2)
    for name in "cba":  # b and c are ready first, and still wait their turn
        gates[name].set()
    for thread in threads:
        thread.join(10)
    assert order == ["a", "b", "c"] and len(queue.MODEL_QUEUE) == 0
    assert told["a"] == ["done"] and told["b"][0] == refusals.AHEAD.format(count=1)
    assert told["c"][0] == refusals.AHEAD.format(count=2)


def test_one_too_many_is_refused_with_the_length(monkeypatch):
    monkeypatch.setattr(queue, "current", lambda: settings.read({"RHEO_QUEUE": "2"}))
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(queue.MODEL_QUEUE.ticket(2))
        with pytest.raises(RheoError, match="2 visitors wait"):
            next(queue.in_turn(lambda: False, iter(())))
    assert len(queue.MODEL_QUEUE) == 0


def test_a_visitor_who_goes_leaves_the_queue():
    closed = []

    def work():
        try:
            yield {"sentence": "one"}
            yield {"sentence": "two"}
        finally:
            closed.append(True)

    first, second = queue.in_turn(lambda: False, work()), queue.in_turn(lambda: False, work())
    assert next(first)["sentence"] == "one" and "ahead" in next(second)["sentence"]
    second.close()
    assert len(queue.MODEL_QUEUE) == 1
    first.close()
    assert len(queue.MODEL_QUEUE) == 0 and closed


def test_a_run_that_fails_leaves_the_queue():
    def work():
        yield {"sentence": "one"}
        raise ValueError

    with pytest.raises(ValueError):
        list(queue.in_turn(lambda: False, work()))
    assert len(queue.MODEL_QUEUE) == 0


# Limits


@pytest.mark.parametrize(
    "field", [{"R": 129}, {"depth": 13}, {"max_new_tokens": 257}, {"K": 33}, {"probes": 5}]
)
def test_a_run_beyond_the_limits_is_one_sentence(field):
    with pytest.raises(RheoError, match="more than this server allows"):
        limits.check("smollm2-135m", DecodeParams(**field), settings.read({}))
    limits.check(
        "smollm2-135m", DecodeParams(**{k: v - 1 for k, v in field.items()}), settings.read({})
    )


@pytest.mark.parametrize(
    "pair", ["nothing", None, ["smollm2-135m"], {}, 3, "qwen3-8b", "x" * 10**6]
)
def test_only_offered_pairs(pair):
    with pytest.raises(RheoError, match="no such pair") as caught:
        limits.check(pair, DecodeParams(), settings.read({"RHEO_PAIRS": "smollm2-135m"}))
    assert len(str(caught.value)) < 200


def test_the_prompts_tokens_have_a_limit(monkeypatch):
    engine = SimpleNamespace(decode=lambda *_, **__: SimpleNamespace(prompt_ids=[1] * 1025))
    loaded = SimpleNamespace(engine=engine)
    monkeypatch.setattr(live_run.MODELS, "look", lambda name: loaded)
    with pytest.raises(RheoError, match="1,025 tokens and this server takes 1,024"):
        list(live_run.pieces("smollm2-135m", "x", DecodeParams()))


# The machine


@pytest.mark.parametrize(
    ("line_of_requirements", "said"),
    [
        ("torch>=99", "torch >=99 and 2"),
        ("transformers<1", "transformers <1"),
        ("safetensors>=9", "safetensors"),
    ],
)
def test_a_wrong_version_is_one_sentence(tmp_path, line_of_requirements, said):
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"# a comment\ngradio==0\n{line_of_requirements}\n")
    with pytest.raises(RheoError, match=said):
        requirements.check_versions(wanted)
    requirements.check_versions()


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(requirements, "_installed", lambda name: None)
    with pytest.raises(RheoError, match=r"torch .* and none is installed"):
        requirements.check_versions()


def test_no_gpu_is_one_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RheoError, match=r"torch .* sees no CUDA GPU"):
        placement.device("cuda")
    assert placement.device("auto") == placement.device(None) == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(RheoError, match="sees 2 CUDA GPUs"):
        placement.device("cuda:2")


def checkpoint(folder, numbers: int):
    """A file that says it holds so many numbers: the header is real, the data is a hole."""
    folder.mkdir(exist_ok=True)
    save_file({"a": torch.zeros(4)}, folder / "model.safetensors")
    head = {"w": {"dtype": "F32", "shape": [numbers], "data_offsets": [0, 4 * numbers]}}
    text = json.dumps(head).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 4 * numbers)
    return folder


def test_weights_are_counted_from_the_header(tmp_path):
    assert placement.weights(checkpoint(tmp_path / "a", 10**9)) == 10**9
    (tmp_path / "a" / "more.safetensors").write_bytes(b"junk")
    assert placement.weights(tmp_path / "a") == 10**9


def test_a_pair_too_large_is_refused_with_both_numbers(tmp_path, monkeypatch):
    folder, cpu = checkpoint(tmp_path / "a", 10**9), torch.device("cpu")
    monkeypatch.setattr(placement, "available", lambda on: 3_900_000_000)
    with pytest.raises(RheoError, match=r"p needs about 4\.0 GB in float32 .* 3\.9 GB free"):
        placement.check_fit("p", placement.weights(folder), cpu, None)
    placement.check_fit("p", placement.weights(folder), cpu, torch.bfloat16)


def test_free_memory_is_the_containers(tmp_path, monkeypatch):
    monkeypatch.setattr(placement, "CGROUP", tmp_path)
    free = placement.available(torch.device("cpu"))
    assert free > 0
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert placement.available(torch.device("cpu")) == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert placement.available(torch.device("cpu")) > 1000


def test_a_load_that_cannot_be_is_said_and_the_page_stays():
    for error, said in (
        (ImportError("libcuda.so: secret"), "could not be imported"),
        (RheoError("x is gated: set HF_TOKEN."), "HF_TOKEN. The recorded run below still works."),
    ):

        def load(name, progress, error=error):
            raise error

        loading = Models(load).want("a", wait=True)
        assert loading.over and said in loading.sentence and "secret" not in loading.sentence
