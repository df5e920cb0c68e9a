"""The parameters of a run and the fields of its strategy: every default, range and pair rule."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rheo.errors import RheoError
from rheo.json_object import JsonObject


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


def strategy_fields(name: object) -> StrategyFields:
    """Return a strategy's fields; for a name that only another version knows, those of `rheo`."""
    return STRATEGY_FIELDS.get(str(name), STRATEGY_FIELDS["rheo"])


# name -> (lowest, highest). The highest keep a round's tensors and its drawing within reason.
RANGES: dict[str, tuple[float, float]] = {
    "m": (0, 63),
    "K": (1, 64),
    "R": (1, 512),
    "depth": (1, 32),
    "T": (0.0, 2.0),
    "S": (1, 1 << 20),
    "probes": (1, 63),
    "top_p": (0.0, 1.0),
    "top_k": (0, 1 << 20),
    "seed": (0, 2**63 - 1),
    "max_new_tokens": (1, 65536),
}
REAL = ("T", "top_p")


@dataclass(frozen=True)
class DecodeParams:
    """The parameters of a run: the symbols of algorithm section 1, validated once.

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

    Raises:
        RheoError: a value out of its range, or a pair of values that cannot go together.

    >>> DecodeParams(m=10, K=10)
    Traceback (most recent call last):
        ...
    rheo.errors.RheoError: m = 10 leaves no slot for the probe: choose m from 0 to K - 1 = 9.
    """

    strategy: str = "rheo"
    m: int = 1
    K: int = 10
    R: int = 60
    depth: int = 8
    T: float = 1.0
    S: int | None = 128
    probes: int = 1
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise RheoError(
                f"There is no strategy {_shown(self.strategy)}: choose one of "
                f"{', '.join(STRATEGIES)}."
            )
        for name in RANGES:
            object.__setattr__(self, name, _number(name, getattr(self, name)))
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
        if self.J and self.J + self.m > self.K:
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


def _number(name: str, value: Any) -> float | int | None:
    """Return `value` as the plain number `name` wants; refuse bools, NaN and strings."""
    if name == "S" and (value is None or value == "full"):
        return None
    low, high = RANGES[name]
    kind = "number" if name in REAL else "whole number"
    sentence = f"{name} must be a {kind} from {low:g} to {high:g}, not {_shown(value)}."
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        raise RheoError(sentence)
    try:
        real = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RheoError(sentence) from None
    if not math.isfinite(real) or not low <= value <= high or (name not in REAL and real % 1):
        raise RheoError(sentence)
    return real if name in REAL else int(value)


def _shown(value: Any) -> str:
    """Return a wrong value, short enough for a sentence."""
    if isinstance(value, str | float | bool | None):
        return repr(value[:40] if isinstance(value, str) else value)
    if isinstance(value, int) and abs(value) < 2**64:  # Python may refuse to print a larger one
        return repr(str(value))
    return "a number this large" if isinstance(value, int) else f"a {type(value).__name__}"
