"""A Space's GPU, lent to one run at a time (ZeroGPU); elsewhere `lent` changes nothing.

There the decorated generator runs in a process forked for it: what it changes is lost, only plain
Python objects come back, and of an error only the name of its class. So a run that fails says why
as a value. Decorated is not `session.decode` itself, which Gradio binds and which keeps the
visitor's runs and sees the Stop button, but what it iterates: in the same thread and context, where
the decorator looks for the visitor whose GPU time it is.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import wraps
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.trace.schema import Run
from visual.words import refusals

ZERO = bool(os.getenv("SPACES_ZERO_GPU"))
if ZERO:
    import spaces  # before torch, or it refuses to lend anything

Pieces = Callable[..., Iterator[Run]]


def lent(seconds: Callable[..., int]) -> Callable[[Pieces], Pieces]:
    """Run a generator of runs on a lent GPU.

    Args:
        seconds: of the same arguments: how long the GPU is asked for.
    """

    def decorate(run: Pieces) -> Pieces:
        if not ZERO:
            return run
        return _said(spaces.GPU(duration=seconds)(_answers(run, seconds)), run)

    return decorate


def _answers(run: Pieces, seconds: Callable[..., int]) -> Callable[..., Iterator[Run | str]]:
    """In the worker: pieces, and at last the sentence of a run that failed or took too long."""

    def answers(*arguments: Any) -> Iterator[Run | str]:
        most = seconds(*arguments)
        end = time.monotonic() + most
        with closing(run(*arguments)) as pieces:
            try:
                for piece in pieces:
                    yield piece
                    if time.monotonic() > end and piece.rounds:  # before it is cut off
                        yield refusals.LENT_TIME_IS_UP.format(seconds=most)
                        return
            except RheoError as error:
                yield str(error)

    return answers


def _said(answers: Callable[..., Iterator[Run | str]], run: Pieces) -> Pieces:
    """In the main process: the pieces; a sentence, Gradio's own too, is a RheoError again."""

    @wraps(run)
    def pieces(*arguments: Any) -> Iterator[Run]:
        with closing(answers(*arguments)) as found:
            try:
                for answer in found:
                    if isinstance(answer, str):
                        raise RheoError(answer)
                    yield answer
            except gr.Error as error:  # no GPU free, the visitor's quota is used up
                raise RheoError(str(error.message)) from None

    return pieces
