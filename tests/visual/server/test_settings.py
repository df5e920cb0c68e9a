"""Settings: read once, refused in one sentence, shown in one table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from rheo.errors import RheoError
from visual.server import settings

ROOT = Path(__file__).parents[3]
FIELDS = settings.Settings.model_fields


def test_the_defaults_are_those_of_the_table():
    made = settings.read({})
    shown = {f.json_schema_extra["variable"]: f.json_schema_extra["shown"] for f in FIELDS.values()}
    typed = {k: v for k, v in shown.items() if v.isdigit() or v in ("auto", "all", made.pair)}
    assert len(typed) == 17 and settings.read(typed) == made
    with pytest.raises(ValidationError):
        made.R = 3


def test_arguments_come_before_the_environment():
    environ = {"RHEO_HOST": "0.0.0.0", "RHEO_PORT": "8000", "RHEO_MAX_R": " 64 "}
    made = settings.read(environ, port="9000", host=None)
    assert (made.host, made.port, made.R) == ("0.0.0.0", 9000, 64)
    assert settings.read({"RHEO_PORT": ""}).port is None


def test_pairs_are_names_with_commas():
    made = settings.read({"RHEO_PAIRS": "qwen3-8b, smollm2-135m", "RHEO_PAIR": "qwen3-8b"})
    assert made.pairs == ("qwen3-8b", "smollm2-135m") and made.pair == "qwen3-8b"


NONSENSE = {
    "RHEO_PAIR": ("nothing", "../etc", "<b>"),
    "RHEO_PAIRS": ("smollm2-135m,nothing", ",", "qwen3-8b"),  # the last: without the default pair
    "RHEO_DEVICE": ("gpu", "cuda:x", "cuda:0;rm"),
    "RHEO_DTYPE": ("int8", "float"),
    "RHEO_FORWARD": ("quick", "1"),
    "RHEO_HOME": (__file__, "~nobody-of-that-name"),
    "RHEO_MAX_PROMPT_TOKENS": ("0", "-1", "1e3", "nan"),
    "RHEO_MAX_NEW_TOKENS": ("0", "many", "9" * 30),
    "RHEO_MAX_R": ("0", "513", "١٢"),
    "RHEO_MAX_DEPTH": ("0", "33", "true"),
    "RHEO_MAX_K": ("0", "65", "full"),
    "RHEO_MAX_S": ("0", "1048577", "all"),
    "RHEO_MAX_PROBES": ("0", "64", "-1"),
    "RHEO_QUEUE": ("0", "65"),
    "RHEO_SECONDS": ("inf", "0"),
    "RHEO_HOST": ("a host", "http://x"),
    "RHEO_PORT": ("0", "70000", "80 80"),
    "RHEO_ROOT_PATH": ("rheo", "/a b", "javascript:x"),
    "RHEO_RATE": ("-5", "fast"),
    "RHEO_MAX_BODY_KB": ("1", "x" * 5000),
    "RHEO_KEPT_MB": ("15", "all"),
    "RHEO_CONNECTIONS": ("-1", "all"),
    "RHEO_PROXIES": ("10", "yes"),
    "RHEO_HOSTS": ("http://a.org", "a b", "a/*", "*org"),
    "RHEO_FRAMES": ("*", "https://a.b; script-src *", "a\nb"),
}


def test_every_setting_has_its_nonsense():
    assert set(NONSENSE) == set(settings.variables())


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_nonsense_is_one_sentence_with_the_name(name, value):
    with pytest.raises(RheoError) as caught:
        settings.read({name: value})
    said = str(caught.value)
    assert name in said and said.endswith(".") and "\n" not in said and len(said) < 300


def test_an_argument_is_named_as_it_was_typed():
    with pytest.raises(RheoError, match=r"^--root-path must be"):
        settings.read({}, root_path="no")


def test_the_readme_shows_the_table():
    assert settings.table() in (ROOT / "README.md").read_text(encoding="utf-8")


def app(*arguments: str, **environ: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "app.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_app_does_not_open_with_nonsense():
    done = app("--port", "many")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "--port must be a whole number from 1 to 65535, not 'many'."
    ]


def test_help_lists_every_variable():
    done = app("--help")
    assert done.returncode == 0
    assert all(variable in done.stdout for variable in settings.variables())
