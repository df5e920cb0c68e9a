"""Steps of fixed shapes as CUDA graphs: one launch a step instead of one a kernel.

A graph repeats the kernels of one call on the very same memory. So a step that is to be captured
takes everything that changes as a tensor, where rows go included, and its shapes come in few kinds
(rows of a level or of a tree by columns rounded up to a bucket). Off unless RHEO_CUDA_GRAPHS is 1.
"""

import os
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

GraphStep = Callable[..., tuple[Tensor, ...]]
_Kind = tuple[tuple[object, ...], ...]  # shape and dtype of each input
CALLS = 3  # of one kind before it is captured: a shape of the last rounds only is not worth it
GRAPH_KINDS = 64  # captured at most
_WARM_UP = 2  # calls before a capture: libraries set themselves up in the first


class Graph(Protocol):
    """A captured step; `replay` runs it on the inputs it was captured with."""

    def replay(self) -> tuple[Tensor, ...]:
        """Return the outputs, in memory that the next replay overwrites."""


Capture = Callable[[GraphStep, tuple[Tensor, ...]], Graph]


class CudaGraph:
    """One call of `step` on `inputs`, recorded by CUDA."""

    def __init__(self, step: GraphStep, inputs: tuple[Tensor, ...]) -> None:
        side = torch.cuda.Stream(inputs[0].device)
        side.wait_stream(torch.cuda.current_stream(inputs[0].device))
        with torch.cuda.stream(side):
            for _ in range(_WARM_UP):
                step(*inputs)
        torch.cuda.current_stream(inputs[0].device).wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._outputs = step(*inputs)

    def replay(self) -> tuple[Tensor, ...]:
        """See `Graph`."""
        self._graph.replay()
        return self._outputs


class Graphs:
    """A step that is captured once for each kind of its inputs' shapes, where there is a GPU.

    Args:
        step: tensors in, tensors out. What it reads and writes besides must stay where it is until
            `clear`; it must do the same twice for the same inputs.
        device: where it runs.
        capture: makes a Graph of a call; None is `CudaGraph` on a GPU if RHEO_CUDA_GRAPHS is 1,
            and plain calls otherwise.

    Attributes:
        note: how steps were run, for the trace: "" where nothing was ever captured or tried.
    """

    def __init__(
        self,
        step: GraphStep,
        device: torch.device,
        capture: "Capture | None" = None,
    ) -> None:
        wanted = os.environ.get("RHEO_CUDA_GRAPHS") == "1" and device.type == "cuda"
        self.capture: Capture | None = capture or (CudaGraph if wanted else None)
        self.step, self.note = step, ""
        self.clear()

    def clear(self) -> None:
        """Forget all graphs: the memory they know of is gone."""
        self._calls: Counter[_Kind] = Counter()
        self._graphs: dict[_Kind, tuple[Graph, tuple[Tensor, ...]]] = {}

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return what `step` returns, in memory of its own."""
        capture = self.capture
        if capture is None:
            return self.step(*inputs)
        kind = tuple((*x.shape, x.dtype) for x in inputs)
        if kind not in self._graphs:
            self._calls[kind] += 1
            due = self._calls[kind] >= CALLS and len(self._graphs) < GRAPH_KINDS
            if not (due and self._add(capture, kind, inputs)):
                return self.step(*inputs)
        graph, buffers = self._graphs[kind]
        for buffer, value in zip(buffers, inputs, strict=True):
            buffer.copy_(value)
        return tuple(output.clone() for output in graph.replay())

    def _add(self, capture: Capture, kind: _Kind, inputs: tuple[Tensor, ...]) -> bool:
        """Capture one more kind; a failure leaves the plain calls for good."""
        buffers = tuple(x.clone() for x in inputs)
        try:
            self._graphs[kind] = (capture(self.step, buffers), buffers)
        except Exception as error:  # whatever a driver, a kernel or a library says
            self.clear()
            self.capture, self.note = None, f"off: {type(error).__name__}"
            return False
        self.note = f"{len(self._graphs)} captured"
        return True
