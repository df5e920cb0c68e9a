"""The parameters of a run and the fields of its strategy: what goes together, what is lossless."""

from dataclasses import asdict, dataclass
from typing import Literal

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.ranges import RANGES, shown


@dataclass(frozen=True)
class StrategyFields:
    """A strategy without its tensors: a row of the table in algorithm section 3.

    Code asks these fields and never a strategy's name, so that the next strategy is a row of
    `STRATEGY_FIELDS` and a rule in `rheo.algorithm.strategies`.

    Attributes:
        about: one sentence or two for a person.
        deterministic: slots filled with the most probable tokens: `m` of them, or all K.
        probes: probe slots a node: none, one, or `DecodeParams.probes`.
        draws_tree: whether rounds draft at all.
        tests_deterministic_first: verification tests deterministic children before the probe.
        uses_proxy: the probe is ranked by its proxy, not by its own q.
        structural_ties: nodes of equal score are ordered by structure, not by token id.
        lossless: what is emitted follows the target's distribution.
    """

    about: str
    deterministic: Literal["m", "all"] = "m"
    probes: Literal["none", "one", "probes"] = "one"
    draws_tree: bool = True
    tests_deterministic_first: bool = False
    uses_proxy: bool = True
    structural_ties: bool = True
    lossless: bool = True

    def deterministic_slots(self, m: int, K: int) -> int:
        """Return how many slots of a node hold deterministic tokens."""
        return K if self.deterministic == "all" else m

    def probe_slots(self, probes: int) -> int:
        """Return how many slots of a node follow for probes."""
        return {"none": 0, "one": 1, "probes": probes}[self.probes]

    def reads(self, name: str) -> bool:
        """Return whether a run of this strategy depends on the parameter of this name.

        >>> [STRATEGY_FIELDS[name].reads("m") for name in ("rheo", "topk", "autoregressive")]
        [True, False, False]
        """
        if name == "probes":
            return self.probes == "probes"
        if name == "m":
            return self.draws_tree and self.deterministic == "m"
        return self.draws_tree or name not in ("K", "R", "depth", "S")


STRATEGY_FIELDS: dict[str, StrategyFields] = {
    "rheo": StrategyFields(
        "RheoSampling: m deterministic tokens, one probe drawn from the tail and scored by its "
        "proxy, fillers; verified by RheoVerification."
    ),
    "topk": StrategyFields(
        "EAGLE-2/3: the K most probable tokens, each verified as a point mass (one-hot).",
        deterministic="all",
        probes="none",
    ),
    "rheo-rrsw": StrategyFields(
        "The same tree, verified by recursive rejection: deterministic children, then the probe, "
        "then fillers.",
        tests_deterministic_first=True,
    ),
    "rheo-multi": StrategyFields(
        "Several probes a node, drawn without replacement (beyond the paper).", probes="probes"
    ),
    "naive": StrategyFields(
        "BIASED, for comparison only: the probe is scored by its own q, so that whether it "
        "survives pruning depends on which token was drawn.",
        uses_proxy=False,
        lossless=False,
    ),
    "autoregressive": StrategyFields(
        "No draft: one target forward a token, the reference.", probes="none", draws_tree=False
    ),
}
STRATEGIES = tuple(STRATEGY_FIELDS)
BUDGETS = ("count", "auto")


def strategy_fields(name: object) -> StrategyFields:
    """Return a strategy's fields; for a name that only another version knows, those of `rheo`."""
    return STRATEGY_FIELDS.get(str(name), STRATEGY_FIELDS["rheo"])


def largest_m(strategy: object, K: int, probes: int) -> int:
    """Return the largest m that leaves slots for the probes; without any, the table's largest.

    >>> largest_m("rheo", 10, 1), largest_m("rheo-multi", 10, 3), largest_m("topk", 10, 1)
    (9, 7, 63)
    """
    J = strategy_fields(strategy).probe_slots(probes)
    return K - J if J else int(RANGES["m"].most)


@dataclass(frozen=True)
class DecodeParams:
    """The parameters of a run: the symbols of algorithm section 1, validated once by their ranges.

    Attributes:
        strategy: a row of the table in algorithm section 3.
        m: deterministic tokens kept per node (the rheostat), 0..K-1. `topk` keeps K and ignores it.
        K: child slots per expanded node, and the beam.
        R: draft nodes kept after global pruning, the root not counted.
        depth: levels of draft nodes.
        T: temperature of the target and of the probe's draw; 0 is greedy.
        S: draft logits kept before the softmax; None is "full".
        probes: probe slots per node, used by `rheo-multi` alone.
        top_p, top_k: processors of the target, as in plain sampling; 1.0 and 0 switch them off.
        seed: of the one generator that every uniform comes from.
        max_new_tokens: tokens after the prompt, an EOS included.
        budget: "count" keeps R nodes; "auto" as many of them as pay on this machine, by costs
            measured before the run (algorithm section 7).

    Raises:
        RheoError: a value out of its range, or a pair of values that cannot go together.

    >>> DecodeParams(m=10, K=10)
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: m = 10 leaves no slot for the probe: choose m from 0 to K - 1 = 9.
    """

    strategy: str = "rheo"
    m: int = int(RANGES["m"].default)
    K: int = int(RANGES["K"].default)
    R: int = int(RANGES["R"].default)
    depth: int = int(RANGES["depth"].default)
    T: float = RANGES["T"].default
    S: int | None = int(RANGES["S"].default)
    probes: int = int(RANGES["probes"].default)
    top_p: float = RANGES["top_p"].default
    top_k: int = int(RANGES["top_k"].default)
    seed: int = int(RANGES["seed"].default)
    max_new_tokens: int = int(RANGES["max_new_tokens"].default)
    budget: str = "count"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise RheoError(
                f"There is no strategy {shown(self.strategy)}: choose one of "
                f"{', '.join(STRATEGIES)}."
            )
        if self.budget not in BUDGETS:
            raise RheoError(
                f"There is no budget {shown(self.budget)}: choose one of {', '.join(BUDGETS)}."
            )
        for name, row in RANGES.items():
            object.__setattr__(self, name, row.read(getattr(self, name)))
        if self.top_p == 0.0:
            raise RheoError("top_p = 0 keeps no token: choose it above 0, or 1 to switch it off.")
        self._check_pairs()

    def _check_pairs(self) -> None:
        if 0 < self.T < 1e-6:
            raise RheoError(f"T = {self.T:g} is too small to divide by: choose 0, which is greedy.")
        if self.J and self.m >= self.K:
            raise RheoError(
                f"m = {self.m} leaves no slot for the probe: choose m from 0 to "
                f"K - 1 = {self.K - 1}."
            )
        if self.m > largest_m(self.strategy, self.K, self.probes):
            raise RheoError(
                f"m = {self.m} and {self.J} probes need {self.m + self.J} slots and K is "
                f"{self.K}: choose fewer probes, a smaller m or a larger K."
            )
        if self.S is not None and self.S < self.K:
            raise RheoError(
                f"A support of S = {self.S} cannot fill K = {self.K} slots: choose S >= K."
            )

    @property
    def fields(self) -> StrategyFields:
        """Return the strategy's row of `STRATEGY_FIELDS`."""
        return STRATEGY_FIELDS[self.strategy]

    @property
    def drafts(self) -> bool:
        """Tell whether the strategy draws draft trees at all."""
        return self.fields.draws_tree

    @property
    def J(self) -> int:
        """Return the number of probe slots per node."""
        return self.fields.probe_slots(self.probes)

    def as_dict(self) -> JsonObject:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: JsonObject) -> "DecodeParams":
        """Read what `as_dict` gave; names it does not know are refused."""
        unknown = sorted(set(values) - set(cls.__dataclass_fields__))
        if unknown:
            raise RheoError(f"Unknown parameter {unknown[0]!r}.")
        return cls(**values)
