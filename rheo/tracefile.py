"""Traces as versioned JSON: written whole, read with validation.

Numbers keep 9 significant digits, which is every bit of a float32 and of a uniform (a multiple of
1e-9); masses and interval ends, sums in float64, keep 17.
"""

import gzip
import json
import sys
import zlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rheo.errors import RheoError
from rheo.trace import SCHEMA, VERSION, Round, Run

MAX_BYTES = 64 * 2**20  # a trace larger than this unpacked is refused
FULL = ("mass", "low", "high", "share")  # fields that keep 17 significant digits


def to_json(record: Any) -> Any:
    """A record as JSON values, numbers cut to the digits they keep."""
    if is_dataclass(record):
        out = {}
        for f in fields(record):
            value = getattr(record, f.name)
            if value is None or (f.name == "ghosts" and not value):
                continue
            out[f.name] = value if f.name in FULL else to_json(value)
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
    blob = json.dumps(to_json(run), separators=(",", ":"), allow_nan=False).encode()
    if path.suffix == ".gz":
        blob = gzip.compress(blob, mtime=0)
    part = path.with_name(path.name + ".part")
    part.write_bytes(blob)
    part.replace(path)


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


def loads(blob: bytes) -> Run:
    """`load` from bytes, packed or not."""
    try:
        if blob[:2] == b"\x1f\x8b":
            blob = zlib.decompressobj(31).decompress(blob, MAX_BYTES + 1)
        if len(blob) > MAX_BYTES:
            raise RheoError(f"This trace is larger than {MAX_BYTES >> 20} MB and was not opened.")
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
    for r in run.rounds:
        _check_round(r)
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
    elif kind in (int, str, bool) and type(value) is kind and (kind is not int or _small(value)):
        return value
    raise RheoError(f"The trace is broken: {where} is {_short(value)}.")


def _small(value: int) -> bool:
    return abs(value) < 2**63


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


def _check_round(r: Round) -> None:
    """Indices point where they may: parents before children, steps at children that exist."""
    where = f"The trace is broken: round {r.index}"
    if not r.nodes or r.nodes[0].parent != -1 or r.nodes[0].kind != "root":
        raise RheoError(f"{where} does not begin with its root.")
    for i, node in enumerate(r.nodes[1:], start=1):
        if not 0 <= node.parent < i or node.depth != r.nodes[node.parent].depth + 1:
            raise RheoError(f"{where}, node {i} does not come after its parent.")
    count = len(r.nodes)
    children = [s.child for v in r.visits for s in v.steps if s.child is not None]
    children += [e.node for e in r.emitted if e.node is not None]
    if not all(0 <= i < count for i in [*children, *(v.node for v in r.visits)]):
        raise RheoError(f"{where} points at a node that it does not have.")
    for visit in r.visits:
        columns = (visit.ids, visit.p, visit.q, *visit.q_tilde)
        if len({len(c) for c in columns}) > 1 or len(visit.outside_ids) != len(visit.outside_p):
            raise RheoError(f"{where} has a visit whose columns differ in length.")
        probes = sum(step.rule == "probe" for step in visit.steps)
        tested = {step.token for step in visit.steps if step.rule == "sibling"}
        if probes > len(visit.q_tilde) or not tested <= set(visit.ids):
            raise RheoError(f"{where} has a step at a token that its visit does not have.")
