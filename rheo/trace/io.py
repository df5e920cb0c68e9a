"""Traces as versioned JSON: written whole, read with validation.

Numbers keep 9 significant digits, which is every bit of a float32 and of a uniform (a multiple of
1e-9); masses and interval ends, sums in float64, keep 17.
"""

import gzip
import json
import math
import sys
import zlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rheo.errors import RheoError
from rheo.trace.schema import SCHEMA, VERSION, Run
from rheo.trace.validate import check

MAX_BYTES = 64 * 2**20  # a trace larger than this unpacked is refused
_FULL = ("mass", "low", "high", "share")  # fields that keep 17 significant digits


def to_json(record: Any) -> Any:
    """A record as JSON values, numbers cut to the digits they keep."""
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
    part = path.with_name(path.name + ".part")
    part.write_bytes(blob)
    part.replace(path)


def dumps(run: Run, packed: bool) -> bytes:
    """What `save` writes."""
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
    """`load` from bytes, packed or not; `most` of them unpacked."""
    try:
        if blob[:2] == b"\x1f\x8b":
            unpacker = zlib.decompressobj(31)
            blob = unpacker.decompress(blob, most + 1)
            if not unpacker.eof and len(blob) <= most:
                raise ValueError("it ends in the middle")
        if len(blob) > most:
            raise RheoError(f"This trace is larger than {most >> 20} MB and was not opened.")
        data = json.loads(blob, parse_constant=_no_constant)
    except (ValueError, zlib.error, RecursionError) as error:
        raise RheoError(f"This file is not a trace: {error}.") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise RheoError("This file is not a RheoScope trace: its schema is missing.")
    if data.get("version") != VERSION:
        raise RheoError(
            f"This trace has version {str(data.get('version'))[:20]}; this program reads {VERSION}."
        )
    run = _build(Run, data, "trace")
    check(run)
    return run


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _build(kind: Any, value: Any, where: str) -> Any:
    """`value` as the annotated type `kind`, or a sentence naming the place."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _build_record(kind, value, where)
    if origin is Literal:
        if value in args:
            return value
    elif origin is UnionType:
        return None if value is None else _build(args[0], value, where)
    elif origin is tuple and isinstance(value, list) and _plain(args[0], value):
        return tuple(value)
    elif origin is tuple and isinstance(value, list):
        return tuple(_build(args[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    elif origin is dict and isinstance(value, dict):
        key = int if args[0] is int else str
        try:
            return {key(k): _build(args[1], v, f"{where}.{k[:20]}") for k, v in value.items()}
        except ValueError:
            raise RheoError(f"The trace is broken: {where} has a key that is no id.") from None
    elif kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:
        return float(value)
    elif kind in (int, str, bool) and type(value) is kind and _sound(value):
        return value
    raise RheoError(f"The trace is broken: {where} is {_short(value)}.")


def _plain(kind: Any, values: list) -> bool:
    """Whether all are the numbers they should be: most of a trace, without a place for each."""
    if kind is float:
        return all(type(x) is float and math.isfinite(x) for x in values)
    return kind is int and all(type(x) is int and _small(x) for x in values)


def _small(value: int) -> bool:
    return abs(value) < 2**63


def _sound(value: int | str) -> bool:
    """Whether it can be written again: JSON may hold halves of characters and any number."""
    if isinstance(value, int):
        return _small(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: Any) -> str:
    if type(value) is int and not _small(value):
        return "a huge number"  # Python may refuse to print it
    return repr(str(value)[:40])


def _build_record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RheoError(f"The trace is broken: {where} is {str(value)[:40]!r}.")
    hints = get_type_hints(kind)
    extra = set(value) - set(hints)
    if extra:
        raise RheoError(f"The trace is broken: {where} has an unknown field {min(extra)[:40]!r}.")
    built = {name: _build(hints[name], v, f"{where}.{name}") for name, v in value.items()}
    optional = {n: None for n, h in hints.items() if get_origin(h) is UnionType}
    try:
        return kind(**{**optional, **built})
    except TypeError:
        absent = [f.name for f in fields(kind) if f.name not in {**optional, **built}]
        raise RheoError(f"The trace is broken: {where} lacks {absent[0]!r}.") from None
