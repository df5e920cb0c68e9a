"""The settings of a server, from its environment: read and checked once, shown as one table.

Every value has its default here and is refused here, in one sentence, if it makes no sense: the
page then does not open at all (exit code 2), for a server that guesses what its owner meant is
worse than none. What only the machine can know (whether there is a GPU, whether the pair fits its
memory) is found out when the pair is loaded, behind the open page.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from rheo.errors import RheoError
from rheo.models.cpu.forwards import FORWARDS
from rheo.models.hub.catalogue import DEFAULT, PAIRS
from rheo.ranges import FULL, RANGES

DTYPES = ("auto", "float32", "bfloat16", "float16")
SPACE_FRAMES = "https://huggingface.co https://*.hf.space"
_ORIGIN = r"https?://[\w.*:-]+"
_ON_SPACE = bool(os.environ.get("SPACE_ID"))
_DEFAULT_FRAMES = SPACE_FRAMES if _ON_SPACE else "none"
# a Space is reached through Hugging Face's proxy alone, under a name below hf.space
_DEFAULT_HOSTS = ("*.hf.space", "huggingface.co") if _ON_SPACE else ()
_LONGEST = 200  # characters of a value


def _whole(low: int, high: int) -> BeforeValidator:
    """Take a whole number in ASCII digits."""

    def check(value: object) -> int:
        if re.fullmatch(r"[0-9]{1,9}", str(value)) and low <= int(str(value)) <= high:
            return int(str(value))
        raise ValueError(f"a whole number from {low} to {high}")

    return BeforeValidator(check)


def _limit(name: str) -> BeforeValidator:
    """Take what a field of a run can be at most: a value of its range; None is "full"."""

    def check(value: object) -> object:
        row = RANGES[name]
        if value is None or (row.full and value == FULL):
            return None
        if re.fullmatch(r"[0-9]{1,9}", str(value)) and row.holds(number := int(str(value))):
            return number
        raise ValueError(row.values)

    return BeforeValidator(check)


def _like(pattern: str, what: str) -> BeforeValidator:
    """Take a text that a regular expression matches as a whole."""

    def check(value: object) -> str:
        if re.fullmatch(pattern, str(value)):
            return str(value)
        raise ValueError(what)

    return BeforeValidator(check)


def _pairs(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(PAIRS) if value == "all" else tuple(name.strip() for name in value.split(","))
    if not all(name in PAIRS for name in names):
        raise ValueError(f"all, or some of {', '.join(PAIRS)} with commas between")
    return names


def _hosts(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    if not all(re.fullmatch(r"\*|(\*\.)?[a-z0-9._-]+|[0-9a-f:.]+", name) for name in names):
        raise ValueError("names such as rheo.example.org with commas between, or *")
    return names


def _folder(value: object) -> Path:
    try:
        folder = Path(str(value)).expanduser()
    except RuntimeError:  # ~name of nobody
        raise ValueError("a folder") from None
    if folder.exists() and not folder.is_dir():
        raise ValueError("a folder")
    return folder


def _set(default: object, variable: str, shown: str, text: str) -> Any:
    """Return a setting's field: its variable, the default as it is shown, and its meaning."""
    about: dict[str, Any] = {"variable": variable, "shown": shown}
    return Field(default, description=text, json_schema_extra=about)


_Pair = Annotated[str, _like("|".join(map(re.escape, PAIRS)), f"one of {', '.join(PAIRS)}")]
_Pairs = Annotated[tuple[str, ...], BeforeValidator(_pairs)]
_Hosts = Annotated[tuple[str, ...], BeforeValidator(_hosts)]
_Device = Annotated[str, _like(r"auto|cpu|mps|cuda(:\d)?", "auto, cpu, mps, cuda or cuda:N")]
_Dtype = Annotated[str, _like("|".join(DTYPES), f"one of {', '.join(DTYPES)}")]
_Forward = Annotated[str, _like("|".join(FORWARDS), f"one of {', '.join(FORWARDS)}")]
_Folder = Annotated[Path, BeforeValidator(_folder)]
_Host = Annotated[str, _like(r"[\w.:-]+", "a host name or an address")]
_Root = Annotated[
    str, _like(r"/[\w./-]*|https?://[\w.:/-]+", "a path such as /rheo or a whole URL")
]
_Frames = Annotated[
    str, _like(rf"none|{_ORIGIN}( {_ORIGIN})*", "none, or origins with spaces between")
]


class Settings(BaseModel):
    """What the page is served with; `configure` makes the one in force, `current` returns it."""

    model_config = ConfigDict(frozen=True)

    pair: _Pair = _set(DEFAULT, "RHEO_PAIR", DEFAULT, "the pair that is loaded at start")
    pairs: _Pairs = _set(
        tuple(PAIRS), "RHEO_PAIRS", "all", "the pairs that a visitor may choose, by name"
    )
    device: _Device = _set("auto", "RHEO_DEVICE", "auto", "`cpu`, `cuda`, `cuda:N`, `mps`")
    dtype: _Dtype = _set("auto", "RHEO_DTYPE", "auto", "`float32`, `bfloat16`, `float16`")
    forward: _Forward = _set(
        "auto", "RHEO_FORWARD", "auto", "on a CPU: `packed`, `plain`, `transformers`"
    )
    home: _Folder | None = _set(
        None, "RHEO_HOME", "the cache folder", "where converted weights are kept"
    )
    prompt_tokens: Annotated[int, _whole(1, 65536)] = _set(
        1024, "RHEO_MAX_PROMPT_TOKENS", "1024", "longest prompt in tokens"
    )
    new_tokens: Annotated[int, _limit("max_new_tokens")] = _set(
        256, "RHEO_MAX_NEW_TOKENS", "256", "most new tokens of a run"
    )
    R: Annotated[int, _limit("R")] = _set(128, "RHEO_MAX_R", "128", "largest tree")
    depth: Annotated[int, _limit("depth")] = _set(12, "RHEO_MAX_DEPTH", "12", "deepest tree")
    K: Annotated[int, _limit("K")] = _set(32, "RHEO_MAX_K", "32", "most child slots of a node")
    S: Annotated[int | None, _limit("S")] = _set(
        1024 if _ON_SPACE else None,
        "RHEO_MAX_S",
        "full; on a Space: 1024",
        "largest support; `full` allows the draft's whole vocabulary",
    )
    probes: Annotated[int, _limit("probes")] = _set(
        4, "RHEO_MAX_PROBES", "4", "most probe slots of a node"
    )
    queue: Annotated[int, _whole(1, 64)] = _set(
        16, "RHEO_QUEUE", "16", "visitors that may wait for the model; others are refused"
    )
    seconds: Annotated[int, _whole(5, 3600)] = _set(
        300, "RHEO_SECONDS", "300", "longest run in seconds"
    )
    host: _Host | None = _set(None, "RHEO_HOST", "this machine only", "address to serve at")
    port: Annotated[int, _whole(1, 65535)] | None = _set(
        None, "RHEO_PORT", "first free from 7860", "port to serve at"
    )
    root_path: _Root | None = _set(
        None, "RHEO_ROOT_PATH", "/", "the path that a proxy in front cuts off"
    )
    rate: Annotated[int, _whole(0, 1_000_000)] = _set(
        1200, "RHEO_RATE", "1200", "requests a minute from one address, files not counted; 0: any"
    )
    body_kb: Annotated[int, _whole(16, 65536)] = _set(
        2048, "RHEO_MAX_BODY_KB", "2048", "largest request in kB"
    )
    kept_mb: Annotated[int, _whole(16, 65536)] = _set(
        128, "RHEO_KEPT_MB", "128", "MB of runs kept for all visitors, packed; the oldest go first"
    )
    connections: Annotated[int, _whole(0, 1_000_000)] = _set(
        256, "RHEO_CONNECTIONS", "256", "requests of one address that are open at once; 0: any"
    )
    proxies: Annotated[int, _whole(0, 9)] = _set(
        int(_ON_SPACE),
        "RHEO_PROXIES",
        "0; on a Space: 1",
        "proxies in front whose X-Forwarded headers are believed; 0 believes none",
    )
    hosts: _Hosts = _set(
        _DEFAULT_HOSTS,
        "RHEO_HOSTS",
        "none; on a Space: its own",
        "names that the page is asked for under, besides this machine's own; `*`: any",
    )
    frames: _Frames = _set(
        _DEFAULT_FRAMES,
        "RHEO_FRAMES",
        "none; on a Space: Hugging Face",
        "origins that may show the page in a frame",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: object) -> object:
        if isinstance(value, str) and (len(value) > _LONGEST or not value.isprintable()):
            raise ValueError("short and printable")
        return value

    @model_validator(mode="after")
    def _offered(self) -> "Settings":
        if self.pair not in self.pairs:
            raise RheoError(
                f"RHEO_PAIR is {self.pair}, which RHEO_PAIRS does not offer: name it there too."
            )
        return self


def read(environ: Mapping[str, str], **arguments: str | None) -> Settings:
    """Return the settings of environment variables; `arguments`, by field, come first.

    Args:
        arguments: what was typed; None where it was not given.

    Raises:
        RheoError: the first value that makes no sense.

    >>> read({"RHEO_PORT": "8000"}, port="9000").port
    9000
    >>> read({"RHEO_MAX_R": "many"})
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: RHEO_MAX_R must be a whole number from 1 to 512, not 'many'.
    """
    values: dict[str, Any] = {}
    names: dict[str, str] = {}  # of each field, as its value was given
    for field, variable, *_ in _rows():
        given = arguments.get(field)
        names[field] = variable if given is None else f"--{field.replace('_', '-')}"
        text = environ.get(variable, "").strip() if given is None else str(given)
        if text or given is not None:
            values[field] = text
    try:
        return Settings(**values)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        field, why = str(first["loc"][0]), first["ctx"]["error"]
        raise RheoError(f"{names[field]} must be {why}, not {values[field][:40]!r}.") from None


_current: Settings | None = None


def current() -> Settings:
    """Return the settings in force; they are read from the environment if nobody has yet."""
    return _current or configure()


def configure(**arguments: str | None) -> Settings:
    """Read the settings again and put them in force. Raises RheoError as `read` does."""
    global _current
    _current = read(os.environ, **arguments)
    return _current


def _rows() -> list[tuple[str, str, str, str]]:
    """Return (field, variable, default as it is shown, meaning) of every setting."""
    rows = []
    for name, field in Settings.model_fields.items():
        about = field.json_schema_extra
        assert isinstance(about, dict)
        rows.append((name, str(about["variable"]), str(about["shown"]), field.description or ""))
    return rows


def variables() -> list[str]:
    """Return the name of every setting's environment variable."""
    return [variable for _, variable, *_ in _rows()]


def table() -> str:
    """Return all settings as a Markdown table, for the README.

    >>> print(table().splitlines()[2])
    | `RHEO_PAIR` | smollm2-135m | the pair that is loaded at start |
    """
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    rows += [f"| `{variable}` | {shown} | {text} |" for _, variable, shown, text in _rows()]
    return "\n".join(rows)


def listing() -> str:
    """Return the same for a terminal, as `app.py --help` prints it."""
    width = max(map(len, variables()))
    return "\n".join(
        f"  {variable:{width}}  {text.replace('`', '')} (default: {shown})"
        for _, variable, shown, text in _rows()
    )
