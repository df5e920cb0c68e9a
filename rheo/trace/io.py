"""Traces as versioned JSON: written whole, read by pydantic and checked.

Reading takes three steps: Python's JSON refuses what is no trace (NaN, another schema or version),
pydantic makes the records of `rheo.trace.schema`, whose annotations say every type, and
`rheo.trace.validate` refuses what no run can have written.

Numbers keep 9 significant digits, which is every bit of a float32 and of a uniform (a multiple of
1e-9); masses and interval ends, sums in float64, keep 17.
"""

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.trace.schema import READS, SCHEMA, Run
from rheo.trace.validate import check
from rheo.whole_file import whole_file

MAX_BYTES = 64 * 2**20  # a trace larger than this unpacked is refused
_LARGE = 64  # fields of an object that is no record
_MOST_FIELDS = 2**19  # of all such objects
_MOST_ERRORS = 1000  # of which each is made a record before the first can be read
_READER = TypeAdapter(Run)  # built once: a tenth of a second
_FULL = ("mass", "low", "high", "share")  # fields that keep 17 significant digits


def to_json(record: Any) -> Any:
    """Return a record as JSON values, numbers cut to the digits they keep."""
    if is_dataclass(record):
        out = {}
        for f in fields(record):
            value = getattr(record, f.name)
            if value is None or (f.default == () and not value):
                continue
            out[f.name] = value if f.name in _FULL else to_json(value)
        return out
    if isinstance(record, dict):
        return {str(k): to_json(v) for k, v in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(v) for v in record]
    if isinstance(record, float):
        return float(f"{record:.9g}")
    return record


def save(run: Run, path: Path | str) -> None:
    """Write .json, or .json.gz by the name; the file appears whole or not at all."""
    path = Path(path)
    blob = dumps(run, packed=path.suffix == ".gz")
    with whole_file(path) as part:
        part.write_bytes(blob)


def dumps(run: Run, packed: bool) -> bytes:
    """Return the bytes that `save` writes."""
    blob = json.dumps(to_json(run), separators=(",", ":"), allow_nan=False).encode()
    return gzip.compress(blob, mtime=0) if packed else blob


def load(path: Path | str) -> Run:
    """Read what `save` wrote.

    Raises:
        RheoError: not a trace, a newer version, or a field that is missing or of a wrong type.
    """
    try:
        blob = Path(path).read_bytes()
    except OSError as error:
        raise RheoError(f"{path} could not be read: {error.strerror}.") from None
    return loads(blob)


def loads(blob: bytes, most: int = MAX_BYTES) -> Run:
    """Read a trace from bytes, packed or not; `most` of them unpacked."""
    text = _unpacked(blob, most)
    try:
        head = json.loads(text, parse_constant=_no_constant, object_hook=_large_objects())
    except json.JSONDecodeError as error:
        raise RheoError(f"This file is not a trace: {_json_fault(error)}.") from None
    except RecursionError:
        raise RheoError("This file is not a trace: it nests its values too deeply.") from None
    except ValueError as error:  # our own, of the two hooks, or a number of too many digits
        said = str(error) if isinstance(error, _Refused) else "it holds a number that is too long"
        raise RheoError(f"This file is not a trace: {said}.") from None
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        raise RheoError("This file is not a RheoScope trace: its schema is missing.")
    version = head.get("version")
    if type(version) is not int or version not in READS:
        raise RheoError(
            f"This trace has version {str(version)[:20]}; this program reads "
            f"{READS[0]} to {READS[-1]}."
        )
    del head  # as large as the run itself
    try:
        run = _READER.validate_json(text)
    except ValidationError as error:
        raise RheoError(_sentence(error)) from None
    check(run)
    return run


def _unpacked(blob: bytes, most: int) -> str:
    try:
        if blob[:2] == b"\x1f\x8b":
            unpacker = zlib.decompressobj(31)
            blob = unpacker.decompress(blob, most + 1)
            if not unpacker.eof and len(blob) <= most:
                raise RheoError("This file is not a trace: it is packed and ends in the middle.")
        if len(blob) > most:
            raise RheoError(f"This trace is larger than {most >> 20} MB and was not opened.")
        return blob.decode(json.detect_encoding(blob))
    except zlib.error:
        raise RheoError("This file is not a trace: it is packed and cannot be unpacked.") from None
    except UnicodeDecodeError:
        raise RheoError("This file is not a trace: it is no text.") from None


class _Refused(ValueError):
    """What our own hooks refuse while JSON is read, in words for a reader."""


def _json_fault(error: json.JSONDecodeError) -> str:
    """Return where JSON ends being JSON, in words.

    >>> _json_fault(json.JSONDecodeError("Expecting value", "[1,\\n x]", 5))
    'it is no JSON (line 2, column 2)'
    """
    if not error.doc.strip():
        return "it is empty"
    return f"it is no JSON (line {error.lineno}, column {error.colno})"


def _no_constant(name: str) -> float:
    raise _Refused(f"{name} is not a number")


def _large_objects() -> Callable[[JsonObject], JsonObject]:
    """Return a hook that refuses a file whose large objects have more fields than any vocabulary
    has tokens: pydantic would make an error of each."""
    count = 0

    def hook(fields: JsonObject) -> JsonObject:
        nonlocal count
        count += len(fields) if len(fields) > _LARGE else 0
        if count > _MOST_FIELDS:
            raise _Refused(f"it has more than {_MOST_FIELDS:,} names")
        return fields

    return hook


def _sentence(error: ValidationError) -> str:
    """Return what is wrong with a trace, and where: the first of pydantic's errors."""
    if error.error_count() > _MOST_ERRORS:
        return f"The trace is broken in {error.error_count():,} places."
    first = error.errors(include_url=False)[0]
    kind, place = first["type"], first["loc"]
    if kind == "json_invalid":  # Python's reader takes more than pydantic's
        return f"This file is not a trace: {first['ctx']['error']}."
    if kind == "missing":
        return f"The trace is broken: {_where(place[:-1])} lacks {place[-1]!r}."
    if kind == "unexpected_keyword_argument":
        name = str(place[-1])[:40]
        return f"The trace is broken: {_where(place[:-1])} has an unknown field {name!r}."
    if place[-1] == "[key]":
        return f"The trace is broken: {_where(place[:-2])} has a key that is no id."
    return f"The trace is broken: {_where(place)} is {_short(first['input'])}."


def _where(place: tuple[int | str, ...]) -> str:
    """Return a place in a trace as its Python expression.

    >>> _where(("rounds", 0, "nodes", 3, "token"))
    'trace.rounds[0].nodes[3].token'
    """
    return "trace" + "".join(f"[{x}]" if isinstance(x, int) else f".{x[:20]}" for x in place)


def _short(value: Any) -> str:
    if type(value) is int and abs(value) >= 2**63:
        return "a huge number"  # Python may refuse to print it
    return repr(str(value)[:40])
