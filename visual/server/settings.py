"""What a server is told by its environment: read and checked once, shown as one table.

Every value has its default here and is refused here, in one sentence, if it makes no sense: the
page then does not open at all (exit code 2), for a server that guesses what its owner meant is
worse than none. What only the machine can know (whether there is a GPU, whether the pair fits its
memory) is found out when the pair is loaded, behind the open page.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from rheo.errors import RheoError
from rheo.models.hub.catalogue import DEFAULT, PAIRS

DTYPES = ("auto", "float32", "bfloat16", "float16")
SPACE_FRAMES = "https://huggingface.co https://*.hf.space"
_LONGEST = 200  # characters of a value


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high:
            return int(text)
        raise ValueError(f"a whole number from {low} to {high}")

    return parse


def _like(pattern: str, what: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if re.fullmatch(pattern, text):
            return text
        raise ValueError(what)

    return parse


def _pair(text: str) -> str:
    if text not in PAIRS:
        raise ValueError(f"one of {', '.join(PAIRS)}")
    return text


def _pairs(text: str) -> tuple[str, ...]:
    names = tuple(PAIRS) if text == "all" else tuple(name.strip() for name in text.split(","))
    if not all(name in PAIRS for name in names):
        raise ValueError(f"all, or some of {', '.join(PAIRS)} with commas between")
    return names


def _folder(text: str) -> Path:
    folder = Path(text).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError("a folder")
    return folder


def _set(default: Any, variable: str, shown: str, text: str, parse: Callable[[str], Any]) -> Any:
    about = {"variable": variable, "shown": shown, "text": text, "parse": parse}
    return field(default=default, metadata=about)


_HOST = _like(r"[\w.:-]+", "a host name or an address")
_ROOT = _like(r"/[\w./-]*|https?://[\w.:/-]+", "a path such as /rheo or a whole URL")
_DEVICE = _like(r"auto|cpu|mps|cuda(:\d)?", "auto, cpu, mps, cuda or cuda:N")
_DTYPE = _like("|".join(DTYPES), f"one of {', '.join(DTYPES)}")
_ORIGIN = r"https?://[\w.*:-]+"
_FRAMES = _like(rf"none|{_ORIGIN}( {_ORIGIN})*", "none, or origins with spaces between")
_DEFAULT_FRAMES = SPACE_FRAMES if os.environ.get("SPACE_ID") else "none"


@dataclass(frozen=True)
class Settings:
    """What the page is served with; `configure` makes the one in force, `current` returns it."""

    pair: str = _set(DEFAULT, "RHEO_PAIR", DEFAULT, "the pair that is loaded at start", _pair)
    pairs: tuple[str, ...] = _set(
        tuple(PAIRS), "RHEO_PAIRS", "all", "the pairs that a visitor may choose, by name", _pairs
    )
    device: str = _set("auto", "RHEO_DEVICE", "auto", "`cpu`, `cuda`, `cuda:N`, `mps`", _DEVICE)
    dtype: str = _set("auto", "RHEO_DTYPE", "auto", "`float32`, `bfloat16`, `float16`", _DTYPE)
    home: Path | None = _set(  # noqa: RUF009
        None, "RHEO_HOME", "the cache folder", "where converted weights are kept", _folder
    )
    prompt_tokens: int = _set(
        1024, "RHEO_MAX_PROMPT_TOKENS", "1024", "longest prompt in tokens", _whole(1, 65536)
    )
    new_tokens: int = _set(
        256, "RHEO_MAX_NEW_TOKENS", "256", "most new tokens of a run", _whole(1, 65536)
    )
    R: int = _set(128, "RHEO_MAX_R", "128", "largest tree", _whole(4, 512))
    depth: int = _set(12, "RHEO_MAX_DEPTH", "12", "deepest tree", _whole(1, 32))
    queue: int = _set(
        16, "RHEO_QUEUE", "16", "visitors that may wait for the model; others are refused",
        _whole(1, 64),
    )  # fmt: skip
    seconds: int = _set(300, "RHEO_SECONDS", "300", "longest run in seconds", _whole(5, 3600))
    host: str | None = _set(None, "RHEO_HOST", "this machine only", "address to serve at", _HOST)
    port: int | None = _set(
        None, "RHEO_PORT", "first free from 7860", "port to serve at", _whole(1, 65535)
    )
    root_path: str | None = _set(
        None, "RHEO_ROOT_PATH", "/", "the path that a proxy in front cuts off", _ROOT
    )
    rate: int = _set(
        1200, "RHEO_RATE", "1200", "requests a minute from one address, files not counted; 0: any",
        _whole(0, 1_000_000),
    )  # fmt: skip
    body_kb: int = _set(
        2048, "RHEO_MAX_BODY_KB", "2048", "largest request in kB", _whole(16, 65536)
    )
    proxies: int = _set(
        0, "RHEO_PROXIES", "0",
        "proxies in front whose X-Forwarded-For is believed; 0 believes none", _whole(0, 9),
    )  # fmt: skip
    frames: str = _set(
        _DEFAULT_FRAMES, "RHEO_FRAMES", "none; on a Space: Hugging Face",
        "origins that may show the page in a frame", _FRAMES,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.pair not in self.pairs:
            raise RheoError(
                f"RHEO_PAIR is {self.pair}, which RHEO_PAIRS does not offer: name it there too."
            )


def read(environ: Mapping[str, str], **arguments: str | None) -> Settings:
    """Settings from environment variables; `arguments` (by field, None: not given) come first.

    Raises:
        RheoError: the first value that makes no sense.

    >>> read({"RHEO_PORT": "8000"}, port="9000").port
    9000
    >>> read({"RHEO_MAX_R": "many"})
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: RHEO_MAX_R must be a whole number from 4 to 512, not 'many'.
    """
    values: dict[str, Any] = {}
    for f in fields(Settings):
        given = arguments.get(f.name)
        name = f.metadata["variable"] if given is None else f"--{f.name.replace('_', '-')}"
        text = environ.get(f.metadata["variable"], "").strip() if given is None else str(given)
        if text or given is not None:
            values[f.name] = _value(f, name, text)
    return Settings(**values)


def _value(f: Field, name: str, text: str) -> Any:
    try:
        if len(text) > _LONGEST or not text.isprintable():
            raise ValueError("short and printable")
        return f.metadata["parse"](text)
    except ValueError as error:
        raise RheoError(f"{name} must be {error}, not {text[:40]!r}.") from None


_current: Settings | None = None


def current() -> Settings:
    """The settings in force; read from this process's environment if nobody has yet."""
    return _current or configure()


def configure(**arguments: str | None) -> Settings:
    """Read the settings again and put them in force. Raises RheoError as `read` does."""
    global _current
    _current = read(os.environ, **arguments)
    return _current


def table() -> str:
    """All settings as a Markdown table, for the README.

    >>> print(table().splitlines()[2])
    | `RHEO_PAIR` | smollm2-135m | the pair that is loaded at start |
    """
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    rows += ["| `{variable}` | {shown} | {text} |".format(**f.metadata) for f in fields(Settings)]
    return "\n".join(rows)


def listing() -> str:
    """The same for a terminal, as `app.py --help` prints it."""
    width = max(len(f.metadata["variable"]) for f in fields(Settings))
    return "\n".join(
        f"  {f.metadata['variable']:{width}}  {f.metadata['text'].replace('`', '')} "
        f"(default: {f.metadata['shown']})"
        for f in fields(Settings)
    )
