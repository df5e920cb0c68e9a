"""The strings of the card "Optimal transport" at a node."""

PLAN_HEAD = "Optimal transport"
PLAN_SAID = (
    "Verification couples the probe u ∼ q̃ with the emitted token t ∼ p: a plan that carries q̃ to "
    "p. A pair (u, t) costs 1 where t is {children}, else 0. Over all draws of the probe:"
)
RULE_COST = "{stays} stays (t = u) + {moved} to another kept child; cost {cost}"
LEAST_COST = "least 1 − p(B) − Σ min(p, q̂) = 1 − {sure} − {drawn} = {least}"
WHERE = "B: {best}; the sum is over all others; q̂: q̃ with B’s share moved to the {next} best."
BEST = ("the draft’s best token", "the draft’s {count} best tokens")
EMPTY = "no token"
GAP = "Gap: {cost} − {least} = {gap}. {rule} leaves that much to a better plan."
NO_GAP = "Gap: 0. No rule that keeps these slots accepts more than {rule}."
ONE_PLAN = (
    "No probe is kept here, so nothing is drawn and there is one plan from the slots to p: it "
    "costs 1 − p({children}) = {cost}, the least there can be."
)
BAR_PARTS = {"stays": "t = u", "moved": "another child", "cost": "cost"}  # of the bar
VERIFIERS = {True: "RRSw", False: "RheoVerification"}  # by who tests deterministic first
