"""Audits of one small world side by side: strategies, planted mistakes, the rheostat's curves."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from rheo.algorithm.strategies import TABLE, Strategy
from rheo.exact.audit import audit
from rheo.exact.biased import BIASED_STRATEGIES
from rheo.exact.worlds import World, tempered
from rheo.json_object import JsonObject
from rheo.params import DecodeParams

LOSSLESS = ("topk", "rheo-rrsw", "rheo")
ROWS: dict[str, Strategy] = {**{name: TABLE[name] for name in LOSSLESS}, **BIASED_STRATEGIES}
_LINES = ("topk", "rheo-rrsw", "rheo", "naive")  # of a curve
SWEPT = ("m", "T", "R")


@dataclass(frozen=True)
class AuditVerdict:
    """One strategy's figures in a world, exactly; see `audit.Audit`."""

    strategy: str
    lossless: bool
    tv: float
    expected_accepted: float
    first_acceptance: float
    worst: tuple[int, ...]
    worst_law: float
    worst_target: float

    def as_dict(self) -> JsonObject:
        """Return plain values, for JSON."""
        return asdict(self)


def verdict(world: World, params: DecodeParams, name: str) -> AuditVerdict:
    """Audit one row. The world's p is untempered here: params.T is applied to it."""
    found = audit(tempered(world, params.T), params, ROWS[name])
    return AuditVerdict(
        name,
        ROWS[name].fields.lossless,
        found.tv,
        found.expected_accepted,
        found.first_acceptance,
        found.worst,
        found.worst_law,
        found.worst_target,
    )


def survey(world: World, params: DecodeParams) -> Iterator[AuditVerdict]:
    """Yield the verdict of every row, one at a time."""
    return (verdict(world, params, name) for name in ROWS)


def values(params: DecodeParams) -> dict[str, Sequence[float]]:
    """Return the values of m, T and R where the curves are computed."""
    most = params.K + (params.depth - 1) * params.K**2
    return {
        "m": range(params.K),
        "T": (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
        "R": range(1, most + 1),
    }


def curves(world: World, params: DecodeParams) -> Iterator[JsonObject]:
    """Yield points of the rheostat's curves: parameter, value, and accepted and tv by strategy."""
    for name, swept in values(params).items():
        for value in swept:
            changed: JsonObject = {name: value}
            at = replace(params, **changed)
            rows = [verdict(world, at, line) for line in _LINES]
            yield {
                "parameter": name,
                "value": value,
                "accepted": {row.strategy: row.expected_accepted for row in rows},
                "tv": {row.strategy: row.tv for row in rows},
            }
