"""What happens at one node, as plain records: no tensors, so that a page can show them at once."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Split:
    """Where one token of a node comes from; the four masses sum to 1."""

    deterministic: float
    probe: float
    filler: float
    missed: float

    @property
    def accepted(self) -> float:
        """The probability that a child of the node is accepted."""
        return self.deterministic + self.probe + self.filler


@dataclass(frozen=True)
class Coupling:
    """The joint law that a rule realises: rows are probe tokens, columns are emitted tokens.

    Attributes:
        probes: of each row the probe's token, None where there is none.
        plan: rows x V masses; row sums are the probe's law, column sums the target's.
        kinds: rows x V: "deterministic", "probe", "filler" where the token is a child, else "".
        split: of the emitted token.
    """

    probes: tuple[int | None, ...]
    plan: tuple[tuple[float, ...], ...]
    kinds: tuple[tuple[str, ...], ...]
    split: Split

    @property
    def moved(self) -> float:
        """The mass off the diagonal: another token than the probe's was emitted."""
        rows = zip(self.probes, self.plan, strict=True)
        return sum(x for u, row in rows for t, x in enumerate(row) if t != u)


@dataclass(frozen=True)
class OneNode:
    """One node with all K slots kept, under several rules.

    Attributes:
        p, q, q_tilde: by token; q is at temperature 1, p and q_tilde are at T.
        order: tokens in the node's order (q descending, id ascending).
        couplings: by strategy.
        optimum: the best acceptance that any coupling of these slots has.
    """

    m: int
    K: int
    T: float
    p: tuple[float, ...]
    q: tuple[float, ...]
    q_tilde: tuple[float, ...]
    order: tuple[int, ...]
    couplings: dict[str, Coupling]
    optimum: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "OneNode":
        """The inverse of `as_dict`, from JSON's lists too."""
        couplings = {
            name: Coupling(
                tuple(c["probes"]),
                tuple(map(tuple, c["plan"])),
                tuple(map(tuple, c["kinds"])),
                Split(**c["split"]),
            )
            for name, c in data["couplings"].items()
        }
        laws = {name: tuple(data[name]) for name in ("p", "q", "q_tilde", "order")}
        rest = {name: data[name] for name in ("m", "K", "T", "optimum")}
        return cls(**laws, **rest, couplings=couplings)


@dataclass(frozen=True)
class Draw:
    """One verified draw at a node.

    Attributes:
        strategy: whose rule judged.
        uniforms: of the probe's draw, of its test, of the draw that follows.
        children: (token, kind) by slot.
        tail: (token, low, high): the probe's draw as intervals of uniforms[0].
        probe: the probe's token, None where there is none.
        tested: p, or what the head left of it, that the probe is tested against, by token.
        accept: the probability with which the probe is accepted.
        tested_first: (token, low, high) of children tested first, as intervals of uniforms[2].
        residual: by token, sums to 1: what the last draw is from.
        intervals: (token, low, high) of the residual's draw: kept children by slot, then the rest.
        share: what the residual's draw is decided with: uniforms[2], rescaled behind a missed head.
        taken: the accepted token, None where no child was.
        emitted: the token that the node gives.
    """

    strategy: str
    uniforms: tuple[float, float, float]
    children: tuple[tuple[int, str], ...]
    tail: tuple[tuple[int, float, float], ...]
    probe: int | None
    tested: tuple[float, ...]
    accept: float
    tested_first: tuple[tuple[int, float, float], ...]
    residual: tuple[float, ...]
    intervals: tuple[tuple[int, float, float], ...]
    share: float
    taken: int | None
    emitted: int

    @property
    def was_tested_first(self) -> bool:
        """Whether a child was taken before the probe's test."""
        return any(low <= self.uniforms[2] < high for _, low, high in self.tested_first)

    @property
    def probe_accepted(self) -> bool:
        """Whether the probe's test came and was passed."""
        return (
            self.probe is not None and not self.was_tested_first and self.uniforms[1] < self.accept
        )
