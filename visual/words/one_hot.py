"""The strings of the page "One-hot dilemma"; see `strings` for the words it shares."""

DILEMMA = {
    "title": "The one-hot dilemma",
    "presets": "Situations",
    "token": "next word",
    "p": "target p",
    "q": "draft q",
    "tilde": "q̃ probe",
    "m": "m · fixed slots",
    "K": "K · slots",
    "T": "T · temperature",
    "cold": "The thin line is p at this temperature.",
    "hint": "Drag a bar or type a number: the others make room.",
    "tab_draw": "One draw",
    "tab_plan": "Where the mass goes",
    "tab_cheat": "Does it cheat?",
    "tab_dial": "The rheostat",
    "tab_honest": "When RRSw is ahead",
    "rule": "Verified by",
    "again": "Draw again",
    "seed": "seed",
    "previous": "Previous step",
    "play": "Play",
    "pause": "Pause",
    "next": "Next step",
    "guess": "Guess first",
    "guess_hint": "Say accept or reject before each verdict is shown",
    "accept": "Accept",
    "reject": "Reject",
    "right": "You said so.",
    "wrong": "You said otherwise.",
    "other": "Another world",
    "shipped": "The first world",
    "simulate": "Play rounds",
    "stop": "Stop",
    "sweep": "Compute for this world",
    "keys": "Keys here: ← → steps, space plays, Home and End",
    "working": "Computing …",
}
RULE_NAMES = {
    "topk": "Top-K (one-hot)",
    "rheo-rrsw": "Rheo tree + RRSw",
    "rheo": "RheoSampling",
    "optimum": "Optimum, same slots",
    "naive": "Proxy off (naive)",
    "token-ties": "Ties by token id",
    "fillers-first": "RRSw, fillers first",
}
SPLIT = {
    "deterministic": "deterministic accepted",
    "probe": "probe accepted",
    "filler": "filler accepted",
    "missed": "missed: the target speaks alone",
}
NODE_PERCENT = "{value:.1f}\u00a0%"
NODE_AHEAD = (
    "Guessing the same {K} words every time is right {topk} of the time. Giving one of the {K} "
    "places to a word drawn at random makes it {rheo}: {gain} more words in a hundred for the same "
    "work, and the text’s law is untouched."
)
EVEN = (
    "Guessing the same {K} words and giving one of the {K} places to a word drawn at random are "
    "right equally often here, {topk} of the time: {why}"
)
EVEN_COLD = "at this temperature there is hardly anything left to draw."
EVEN_PLAIN = "what the probe wins in the tail it loses among the likely words."
BEHIND = (
    "Here the fixed guesses win: {topk} against {rheo} with one slot drawn at random. The {K}-th "
    "guess was worth more than a draw from this tail; the text’s law is untouched either way."
)
AGAINST = (
    " On the same slots recursive rejection (RRSw) gets {rrsw}; no rule gets more than {optimum}."
)
RRSW_AHEAD = (
    " RRSw is ahead here: with a filler behind the probe RheoSampling need not be the best rule."
)
PAPER_SENTENCE = (
    " The paper measured 80.0 %, 83.5 % and 85.4 % at depth 1; this node is made to match."
)
STACK_LABEL = "{rule}: {accepted} accepted; {parts}."
STACK_OPTIMUM = "most that any rule can accept with these slots"

STEP_SLOTS = "The slots are filled"
STEP_FIXED = "Top-K draws nothing: its slots are the {K} words the draft likes best, {tokens}."
STEP_DRAWN = "u₀ = {u} falls on {probe}: it is the probe. Fixed before the draw: {fixed}."
STEP_FILLERS = " Then the next best, {tokens}, fill up."
STEP_NO_PROBE = "The draft has no mass outside its top {m}: there is no probe."
NOTHING_FIXED = "nothing"
STEP_HEAD = "RRSw looks at the fixed words first"
STEP_HEAD_TAKEN = "u₂ = {u} falls on {token}, whose share is p = {p}: accepted."
STEP_HEAD_MISSED = (
    "u₂ = {u} falls behind their {mass}: rejected; what is left of p is stretched to 1."
)
STEP_TEST = "The probe {token} is tested"
STEP_PASSED = "p / q̃ = {p} / {q} = {ratio}, and u₁ = {u} is below it: {token} is accepted."
STEP_FAILED = "p / q̃ = {p} / {q} = {ratio}, and u₁ = {u} is not below it: {token} is rejected."
STEP_CERTAIN = "p = {p} is at least q̃ = {q}: the probe {token} is always accepted."
STEP_RESIDUAL = "What the rejection leaves"
STEP_LEFT = (
    "norm(max(0, p − q̃)): the hatched {mass} was the probe’s to give and is taken out; the rest is "
    "stretched to 1. This pays back exactly what the draw had preferred."
)
STEP_SIBLINGS = "One draw decides the other slots"
STEP_TAKEN = "u₂ = {u} falls on {token}: {kind}, accepted."
STEP_EMITTED = "u₂ = {u} falls on no slot: all are rejected and {token} is emitted from {law}."
LAW_P, LAW_RESIDUAL = "p", "the residual"
QUESTIONS = {
    "head": "Is one of the fixed words accepted?",
    "test": "Is the probe accepted?",
    "siblings": "Is one of the slots accepted?",
}
NODE_BAR_LABEL = "{parts}; the uniform is {u}"

PLAN_TITLE = "{rule}: probe (row) → emitted word (column)"
PLAN_NOTE = (
    "{stays} stays with the probe, {moved} moves to another word: {accepted} of that still to a "
    "slot, {missed} is missed. Columns always add up to p."
)
PLAN_PROBE, PLAN_SUM, PLAN_TARGET = "probe", "Σ", "p"
PLAN_CELL = "probe {probe}, emitted {token}: {mass}, {how}"
MISSED = "missed"

VERDICT_HEAD = ("strategy", "distance (TV)", "in words", "furthest off", "accepted a round")
VERDICT_GOOD = "✓ lossless: the same law"
VERDICT_BAD = "✕ biased: {percent} misplaced"
VERDICT_WORST = "{sequence}: {law} instead of {target}"
VERDICT_SAME = "nowhere"
CHEATING_PAYS = (
    "Cheating pays: {names} accept more than every lossless strategy. That is what the distance "
    "is for."
)
SABOTAGED = "sabotage"
WORLD_WORDS = "abcdefgh"
SURVEYING = "{done} of {all} strategies enumerated …"
SURVEYED = "All draws of {all} strategies enumerated in {seconds:.1f} s."
SHIPPED_WORLD = (
    "A world of five words, a to e. Computed before and shipped; the same code gives the same "
    "numbers."
)
SHIPPED = "Computed before and shipped; the same code gives the same numbers."
SWEEPING = "{done} of {all} points …"
PLAYED = "{rounds:,} rounds each, {speed:,.0f} rounds/s, seed {seed}."
BAND_IN = "✓ {rule}: all {pairs} word pairs are inside the band after {rounds:,} rounds."
BAND_OUT = "✕ {rule}: {out} of {pairs} word pairs are outside the band after {rounds:,} rounds."
BAND_NOTE = (
    "A column is a pair of words: how much more or less often it came than the target says, in "
    "points of a hundred. Grey: 4.5 standard errors; it narrows as rounds are played, and a "
    "lossless strategy leaves it in fewer than one run in a hundred."
)
BAND_CELL = "{pair}: {seen} seen, {law} in the target’s law"
CURVE_ACCEPTED, CURVE_TV = "accepted words a round", "distance from the target (TV)"
CURVE_AXES = {"m": "m, fixed slots", "T": "T, temperature", "R": "R, tree size"}
CURVE_LABEL = "{what} against {axis}: {lines}"
CURVE_LINE = "{rule} {first} to {last}"
DIAL_NOTE = (
    "Turning m up turns the randomness down: with m = K − 1 only the last slot is random. The "
    "lossless three lie on zero distance wherever you look; the naive probe does not."
)
HONEST = (
    "In this small world RRSw accepts {rrsw} words a round and RheoSampling {rheo}: {gap} more. "
    "Both are lossless. The paper’s “strictly dominates” is about one probe without fillers at one "
    "level; with fillers, or over a whole round, RRSw can be ahead."
)
UNUSABLE = "These numbers are no situation: {error}"
