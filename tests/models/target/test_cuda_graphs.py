"""Captured steps against plain ones, without a GPU: the capture is played by a tracer.

Like CUDA, it records one call as a fixed list of operations on fixed memory, with every Python
number of that call baked in, and replays it blindly. So a length or a row's place that slips past
the tensors shows: the next call would use the former one.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from rheo.decoding.loop import Decoding
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.target import cuda_graphs
from rheo.models.target.cuda_graphs import CALLS, Graphs
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.training.init_head import initial_head
from tests.tiny import byte_level_tokenizer, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
PROMPT = [5, 9, 33, 12, 60, 7]
ASKED = {"K": 4, "R": 12, "depth": 3, "S": 20, "max_new_tokens": 80, "seed": 4}


class Traced:
    """A graph that replays the operations of the call it was made with."""

    def __init__(self, step, inputs) -> None:
        step(*inputs)  # CUDA's warm-up runs it too
        self.inputs = inputs
        self.program = make_fx(lambda *x: step(*x), tracing_mode="real")(*inputs)
        self.outputs = None

    def replay(self):
        found = self.program(*self.inputs)
        if self.outputs is None:
            self.outputs = tuple(x.clone() for x in found)
        for kept, new in zip(self.outputs, found, strict=True):
            kept.copy_(new)  # the same memory each time: who keeps it sees it change
        return self.outputs


def pair(family: str = "llama", capture=None, bucket: int = 64) -> tuple[Target, Eagle3]:
    model = tiny_model(family, seed=1, num_hidden_layers=3)
    _, checkpoint = initial_head(model, torch.arange(0, 90))
    target = Target(model, byte_level_tokenizer(), bucket=bucket)
    target.eos_ids = frozenset()
    checkpoint = replace(checkpoint, config=checkpoint.config.reading((1, 2, 3)))
    head = Eagle3(checkpoint, target.embeddings, target.layers)
    target.tap(head.feature_layers)
    head.bucket = bucket
    target.graphs.capture = head.graphs.capture = capture
    return target, head


def decoded(target: Target, head: Eagle3, **params) -> Decoding:
    d = Decoding(target, head, DecodeParams(**(ASKED | params)), PROMPT)
    for _ in d:
        pass
    return d


def same(one: Decoding, two: Decoding) -> bool:
    tokens = [[e.token for r in d.rounds for e in r.emitted] for d in (one, two)]
    return tokens[0] == tokens[1] and all(
        np.array_equal(a.buffer.p, b.buffer.p) for a, b in zip(one.rounds, two.rounds, strict=True)
    )


@pytest.mark.parametrize(("family", "T"), [("llama", 1.0), ("qwen3", 0.0)])
def test_captured_rounds_are_the_plain_ones_to_the_bit(family, T):
    plain = decoded(*pair(family), T=T)
    target, head = pair(family, Traced)
    captured = decoded(target, head, T=T)
    assert len(captured.rounds) > 25
    assert same(plain, captured)
    # the text grew through two buckets of columns
    assert len(target.graphs._graphs) >= 2 and len(head.graphs._graphs) >= 2
    assert target.graphs.note.endswith("captured") and not pair()[0].graphs.note


def test_another_run_on_the_same_graphs_and_one_in_new_buffers():
    target, head = pair(capture=Traced)
    for count in (80, 80, 160):  # 160 need other buffers
        asked = {"max_new_tokens": count, "seed": count}
        assert same(decoded(*pair(), **asked), decoded(target, head, **asked))


def test_a_place_that_slips_past_the_tensors_shows(monkeypatch):
    """The cache as it writes without graphs: its start is a Python number."""
    plain = decoded(*pair(), T=0.0)
    target, head = pair(capture=Traced)
    monkeypatch.setattr(target.cache, "write_at", lambda slots: None)
    assert not same(plain, decoded(target, head, T=0.0))


def test_stale_graphs_after_new_buffers_would_show(monkeypatch):
    target, head = pair(capture=Traced)
    decoded(target, head)
    monkeypatch.setattr(target, "_forget_graphs", lambda: None)
    asked = {"max_new_tokens": 160, "seed": 9}
    assert not same(decoded(*pair(), **asked), decoded(target, head, **asked))


def test_an_output_survives_the_next_replay():
    double = Graphs(lambda x: (x * 2,), CPU, Traced)
    found = [double(torch.full((2,), float(i)))[0] for i in range(6)]
    assert [x[0].item() for x in found] == [0, 2, 4, 6, 8, 10]


def test_a_kind_is_captured_at_its_third_call_and_no_more_kinds_than_fit(monkeypatch):
    made = []

    def capture(step, inputs):
        made.append(inputs[0].shape[0])
        return Traced(step, inputs)

    monkeypatch.setattr(cuda_graphs, "GRAPH_KINDS", 2)
    step = Graphs(lambda x: (x + 1,), CPU, capture)
    for size in (1, 2, 3) * (CALLS + 1):
        assert torch.equal(step(torch.zeros(size))[0], torch.ones(size))
    assert made == [1, 2]


def test_a_capture_that_fails_leaves_the_plain_calls():
    tries = []

    def capture(step, inputs):
        tries.append(1)
        raise RuntimeError("operation not permitted when stream is capturing")

    target, head = pair(capture=capture)
    assert same(decoded(*pair()), decoded(target, head))
    assert len(tries) == 2  # one of the target's, one of the head's
    assert target.graphs.note == head.graphs.note == "off: RuntimeError"


def test_off_unless_asked_for(monkeypatch):
    gpu = torch.device("cuda")
    assert Graphs(lambda x: (x,), gpu).capture is None
    monkeypatch.setenv("RHEO_CUDA_GRAPHS", "1")
    assert Graphs(lambda x: (x,), CPU).capture is None
    assert Graphs(lambda x: (x,), gpu).capture is cuda_graphs.CudaGraph
