"""Runs on the GPU that a Space gives to one run at a time (ZeroGPU); elsewhere nothing changes.

There the generator that `on_gpu` decorates runs in a process forked for it: what it changes is
lost, only plain Python objects come back, and of an error only the name of its class. So a run that
fails says why as a value. Decorated is not `session.decode` itself, which Gradio
binds and which keeps the visitor's runs and sees the Stop button, but what it iterates: in the same
thread and context, where the decorator looks for the visitor whose GPU time it is.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import closing
from functools import wraps
from typing import Any

import gradio as gr

from rheo.decoding.watch import Watch
from rheo.errors import RheoError
from rheo.trace.schema import Run
from visual.words import refusals

ZERO = bool(os.getenv("SPACES_ZERO_GPU"))
if ZERO:
    import spaces  # before torch, or it refuses to work

Pieces = Callable[..., Generator[Run, None, None]]
_Answers = Callable[..., Generator[Run | str | float, None, None]]


def on_gpu(seconds: Callable[..., int]) -> Callable[[Pieces], Pieces]:
    """Return a decorator that runs a generator of runs on the Space's GPU.

    Args:
        seconds: how long the GPU is asked for, of the generator's arguments.
    """

    def decorate(run: Pieces) -> Pieces:
        if not ZERO:
            return run
        return _raised(spaces.GPU(duration=seconds)(_answering(run, seconds)), run)

    return decorate


def _answering(run: Pieces, seconds: Callable[..., int]) -> _Answers:
    """Return the worker's side: pieces, the ms of plain steps beside them, and last a sentence if
    the run failed or took too long."""

    def answers(*arguments: Any) -> Generator[Run | str | float, None, None]:
        most = seconds(*arguments)
        end = time.monotonic() + most
        watch = Watch(over=lambda: time.monotonic() > end, times_plain=True)
        with closing(run(*arguments, watch=watch)) as pieces:
            try:
                for piece in pieces:
                    yield piece
                    yield from watch.plain_ms
                    watch.plain_ms.clear()
                    if watch.over() and piece.stop == "closed":  # before it is cut off
                        yield refusals.GPU_TIME_IS_UP.format(seconds=most)
                        return
            except RheoError as error:
                yield str(error)

    return answers


def _raised(answers: _Answers, run: Pieces) -> Pieces:
    """Return the page's side: the pieces; a sentence, Gradio's own too, is a RheoError again.

    The page's own watch stays on its side, where it is asked between two pieces; it is told what
    plain steps took.
    """

    @wraps(run)
    def pieces(*arguments: Any, watch: Watch | None = None) -> Generator[Run, None, None]:
        with closing(answers(*arguments)) as found:
            try:
                for answer in found:
                    if isinstance(answer, str):
                        raise RheoError(answer)
                    if isinstance(answer, float):
                        if watch is not None:
                            watch.plain_ms.append(answer)
                        continue
                    yield answer
            except gr.Error as error:  # no GPU free, the visitor's quota is used up
                raise RheoError(str(error.message)) from None

    return pieces
