"""Records of one node under several rules: plain values, which a page shows before torch loads."""

from dataclasses import asdict, dataclass

from rheo.json_object import JsonObject


@dataclass(frozen=True)
class Split:
    """Where one token of a node comes from; the four masses sum to 1."""

    deterministic: float
    probe: float
    filler: float
    missed: float

    @property
    def accepted(self) -> float:
        """Return the probability that a child of the node is accepted."""
        return self.deterministic + self.probe + self.filler


@dataclass(frozen=True)
class Coupling:
    """The joint distribution that a rule realises: rows are probe tokens, columns emitted ones.

    Attributes:
        probes: of each row the probe's token, None where there is none.
        plan: rows x V masses; row sums are q-tilde, column sums p.
        kinds: rows x V: "deterministic", "probe", "filler" where the token is a child, else "".
        split: of the emitted token.
    """

    probes: tuple[int | None, ...]
    plan: tuple[tuple[float, ...], ...]
    kinds: tuple[tuple[str, ...], ...]
    split: Split

    @property
    def moved(self) -> float:
        """Return the mass off the diagonal: another token than the probe's was emitted."""
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

    def as_dict(self) -> JsonObject:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: JsonObject) -> "OneNode":
        """Build the node that `as_dict` gave, from JSON's lists too."""
        couplings = {
            name: Coupling(
                tuple(c["probes"]),
                tuple(map(tuple, c["plan"])),
                tuple(map(tuple, c["kinds"])),
                Split(**c["split"]),
            )
            for name, c in data["couplings"].items()
        }
        rows: JsonObject = {name: tuple(data[name]) for name in ("p", "q", "q_tilde", "order")}
        rest = {name: data[name] for name in ("m", "K", "T", "optimum")}
        return cls(**rows, **rest, couplings=couplings)
