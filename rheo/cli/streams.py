"""Text in and out of a process, whatever the locale: UTF-8 comes in, and no output is an error."""

import argparse
import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator

from rheo.errors import RheoError


def typed(argument: str) -> str:
    """Read an argument as UTF-8; under LC_ALL=C without its UTF-8 mode, Python itself does not.

    Raises:
        argparse.ArgumentTypeError: its bytes are no UTF-8.

    >>> typed("naïve 🙂")
    'naïve 🙂'
    """
    with contextlib.suppress(UnicodeError):
        return os.fsencode(argument).decode()  # the bytes that the shell gave
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("it is not UTF-8 text") from None
    return argument


def read_stdin() -> str:
    """Read all of standard input as UTF-8. Raises RheoError."""
    if sys.stdin is None:
        raise RheoError("Standard input is closed, so there is no prompt to read.")
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise RheoError("Standard input is not UTF-8 text.") from None
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def prepare_output() -> None:
    """Let standard output and error take any character: ASCII is UTF-8 from now on, which it is a
    part of; another encoding shows what it lacks as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ascii_only = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="backslashreplace")


def is_unicode(stream: io.TextIOBase) -> bool:
    """Return whether a stream can write every character as itself."""
    return codecs.lookup(getattr(stream, "encoding", None) or "utf-8").name.startswith("utf")


@contextlib.contextmanager
def quiet_stdout() -> Iterator[None]:
    """Send what a library prints to standard error: standard output is for results."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
