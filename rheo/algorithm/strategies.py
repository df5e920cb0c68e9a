"""The strategies as a table: fields x verification rule (algorithm section 3).

To add one: a row in `rheo.params.STRATEGY_FIELDS`, a row here with its rule (a new rule is a
function in `verify`), its name for a person in `visual/words/labels.py`, from which the page makes
its menu. What its tree keeps may never depend on a sampled token in a way that its rule does not
model; the audit (`rheo.exact.audit`) decides, and `tests/exact/test_audit.py` runs it over every
lossless row.
"""

from dataclasses import dataclass

from rheo.algorithm import verify
from rheo.algorithm.expansion import Policy
from rheo.params import STRATEGY_FIELDS, DecodeParams, StrategyFields


@dataclass(frozen=True)
class Strategy:
    """One row of the table: how trees are drawn, and what judges them."""

    fields: StrategyFields
    rule: verify.Rule

    def policy(self, params: DecodeParams) -> Policy:
        """Return how a tree with these parameters is filled and ranked."""
        return Policy(
            m=self.fields.deterministic_slots(params.m, params.K),
            J=self.fields.probe_slots(params.probes),
            proxy=self.fields.uses_proxy,
            ties="structure" if self.fields.structural_ties else "token",
        )


_RULES: dict[str, verify.Rule] = {
    "rheo": verify.rheo,
    "topk": verify.one_hot,
    "rheo-rrsw": verify.rrsw,
    "rheo-multi": verify.rheo,
    "naive": verify.rheo,
    "autoregressive": verify.one_hot,
}
TABLE: dict[str, Strategy] = {
    name: Strategy(STRATEGY_FIELDS[name], rule) for name, rule in _RULES.items()
}
