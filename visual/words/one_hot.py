"""The strings of the page "One-hot dilemma"; the viewer in it has its own."""

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
    "tabs": "What to look at",
    "rule": "Verified by",
    "again": "Draw again",
    "seed": "seed",
    "other": "Another world",
    "shipped": "The first world",
    "left": "First rule",
    "right": "Second rule",
    "simulate": "Play rounds",
    "stop": "Stop",
    "sweep": "Compute for this world",
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
SAME_WORDS = ("word", "{count} words")
ONE_PLACE = ("the only place", "one of the {count} places")
NODE_AHEAD = (
    "Guessing the same {words} every time is right {topk} of the time. Giving {place} to a word "
    "drawn at random makes it {rheo}: {gain} more words in a hundred for the same "
    "work, and the text’s distribution is untouched."
)
EVEN = (
    "Guessing the same {words} and giving {place} to a word drawn at random are right "
    " equally often here, {topk} of the time: {why}"
)
EVEN_COLD = "at this temperature there is hardly anything left to draw."
EVEN_PLAIN = "what the probe wins in the tail it loses among the likely words."
BEHIND = (
    "Here the fixed guesses win: {topk} against {rheo} with one slot drawn at random. The {last} "
    "guess was worth more than a draw from this tail; the text’s distribution is untouched either "
    "way."
)
AGAINST = (
    " On the same slots recursive rejection (RRSw) gets {rrsw}; no rule that keeps "
    "the probe’s slot gets more than {optimum}."
)
RRSW_AHEAD = (
    " RRSw is ahead here: with a filler behind the probe RheoSampling need not be the best rule."
)
PAPER_SENTENCE = (
    " The paper measured 80.0 %, 83.5 % and 85.4 % at depth 1; this node is made to match."
)
STACK_LABEL = "{rule}: {accepted} accepted; {parts}."
STACK_OPTIMUM = "most that any rule can accept that keeps the probe’s slot"

TICK_0 = "u₀"
STEP_FIXED = "Top-K draws nothing: {slots}, {tokens}."
FIXED_SLOTS = (
    "its slot is the word the draft likes best",
    "its slots are the {count} words the draft likes best",
)
STEP_DRAWN = "u₀ = {u} falls on {probe}: it is the probe. Fixed before the draw: {fixed}."
STEP_FILLERS = " Then the next best, {tokens}, fill up."
STEP_NO_PROBE = "The draft has no mass outside its top {m}: there is no probe."
NOTHING_FIXED = "nothing"

PLAN_TITLE = "{rule}: probe (row) → emitted word (column)"
PLAN_NOTE = (
    "{stays} stays with the probe, {moved} moves to another word: {accepted} of that still to a "
    "slot, {missed} is missed. Columns always add up to p."
)
PLAN_PROBE, PLAN_SUM, PLAN_TARGET = "probe", "Σ", "p"
PLAN_CELL = "probe {probe}, emitted {token}: {mass}, {how}"
MISSED = "missed"

VERDICT_HEAD = ("strategy", "distance (TV)", "in words", "furthest off", "accepted a round")
VERDICT_GOOD = "✓ lossless: the same distribution"
VERDICT_BAD = "✕ biased: {percent} misplaced"
VERDICT_WORST = "{sequence}: {share} instead of {target}"
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
BAND_OUT = "✕ {rule}: {out} outside the band after {rounds:,} rounds."
PAIRS_OUT = ("{count} of {{pairs}} word pairs is", "{count} of {{pairs}} word pairs are")
BAND_NOTE = (
    "A column is a pair of words: how much more or less often it came than the target says, in "
    "points of a hundred. Grey: what chance alone allows (exact binomial bounds); it narrows as "
    "rounds are played. All pairs and all {looks} looks are allowed for: a lossless strategy is "
    "outside at any look in at most one run in a hundred."
)
BAND_CELL = "{pair}: {seen} seen, {target} in the target’s distribution"
CURVE_ACCEPTED, CURVE_TV = "accepted words a round", "distance from the target (TV)"
CURVE_AXES = {"m": "m, fixed slots", "T": "T, temperature", "R": "R, tree size"}
CURVE_LABEL = "{what} against {axis}: {lines}"
CURVE_LINE = "{rule} {first} to {last}"
DIAL_NOTE = (
    "Turning m up turns the randomness down: at every m exactly one slot is random, and m moves it "
    "from the first to the last. The lossless three lie on zero distance wherever you look; the "
    "naive probe does not."
)
HONEST = (
    "In this small world RRSw accepts {rrsw} words a round and RheoSampling {rheo}: {gap} more. "
    "Both are lossless. The paper’s “strictly dominates” holds as “never less” for one probe "
    "without fillers at one node; with fillers, or over a whole round, RRSw can be ahead."
)
UNUSABLE = "These numbers are no situation: {error}"
WRONG = {  # what a browser may not send, by field
    "p": "p needs a number for each word.",
    "q": "q needs a number for each word.",
    "m": "m must be a whole number from 0 to 63.",
    "K": "K must be a whole number from 1 to 64.",
    "R": "R must be a whole number from 1 to 64.",
    "T": "T must be a number from 0 to 2, in a small world from 0.05.",
    "seed": "seed must be a whole number from 0 to 1,000,000.",
    "rule": "There is no such rule at a node.",
    "left": "There is no such strategy to play.",
    "right": "There is no such strategy to play.",
}
