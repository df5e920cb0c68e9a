"""Prompts of any characters, by argument, file and pipe, in any locale: an answer or a sentence."""

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rheo.bench.prompts import read_prompts
from rheo.cli import streams
from rheo.errors import RheoError

ROOT = Path(__file__).parents[2]
LOCALES = {
    "utf-8": {"LC_ALL": "C.UTF-8"},
    "C": {"LC_ALL": "C"},
    "C, bare": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
# what becomes of a prompt: read, echoed as text and as JSON, and a file of its name looked for
ECHO = """
import json, sys
from rheo.cli.arguments import parser
from rheo.cli.streams import is_unicode, prepare_output, read_stdin
prepare_output()
args = parser().parse_args()
prompt = read_stdin() if args.prompt == "-" else args.prompt
print(prompt)
print(json.dumps(prompt, ensure_ascii=not is_unicode(sys.stdout)))
print(prompt, file=sys.stderr)
"""


def echo(prompt: bytes, locale: dict, piped: bool = False) -> subprocess.CompletedProcess:
    given = b"-" if piped else prompt
    return subprocess.run(
        [sys.executable, "-c", ECHO, "generate", b"--prompt", given],
        input=prompt if piped else None, capture_output=True, timeout=120, cwd=ROOT,
        env={**os.environ, **locale},
    )  # fmt: skip


@pytest.mark.parametrize("piped", [False, True], ids=["argument", "pipe"])
@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
def test_any_text_goes_in_and_out(locale, piped):
    prompt = "naïve 🙂 日本\u2028 ümlaut"
    done = echo(prompt.encode(), locale, piped)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().split("\n")
    assert lines[0] == prompt and json.loads(lines[1]) == prompt
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
def test_bytes_that_are_no_text_are_one_sentence(locale):
    done = echo(b"caf\xe9 \xff", locale)
    assert done.returncode == 2 and b"Traceback" not in done.stderr
    assert b"not UTF-8 text" in done.stderr and done.stderr.count(b"\n") == 1


def test_a_pipe_of_no_text_or_none_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\xff\xfe")))
    with pytest.raises(RheoError, match="not UTF-8"):
        streams.read_stdin()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(RheoError, match="closed"):
        streams.read_stdin()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\r\nb\rc\n")))
    assert streams.read_stdin() == "a\nb\nc\n"


@pytest.mark.parametrize("argument", ["\ud83d", "a\udcff"])
def test_a_lone_surrogate_is_no_text(argument):
    with pytest.raises(argparse.ArgumentTypeError):
        streams.typed(argument)


def test_another_encoding_shows_what_it_lacks_as_an_escape(monkeypatch):
    for encoding, shown in (("latin-1", b"na\xefve \\U0001f642"), ("ascii", "naïve 🙂".encode())):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        streams.prepare_output()
        assert streams.is_unicode(sys.stdout) == (encoding == "ascii")
        print("naïve 🙂", end="", flush=True)
        assert raw.getvalue() == shown


def test_a_file_of_prompts_in_any_characters(tmp_path):
    file = tmp_path / "prompts.jsonl"
    row = {"suite": "a", "id": "1", "prompt": "a\u2028b\x85 🙂 " + "x" * 2**20}
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n\n", encoding="utf-8")
    assert [p.text for p in read_prompts([file])] == [row["prompt"]]
    for bad in (b'{"suite": "a", "id": "1", "prompt": "\xff"}', b"\xff\xfe\x00"):
        file.write_bytes(bad)
        with pytest.raises(RheoError, match="could not be read"):
            read_prompts([file])
    for prompt in (r"\ud83d", " \\n ", ""):
        file.write_text(f'{{"suite": "a", "id": "1", "prompt": "{prompt}"}}')
        with pytest.raises(RheoError, match="Line 1"):
            read_prompts([file])
