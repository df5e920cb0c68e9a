"""What the run's box, the sliders that teach and the second run say."""

# --- how many, and under which settings ---
COUNTS = {  # noun -> (one, more), for `rheo.counting.counted`
    "node": ("{count} node", "{count:,} nodes"),
    "token": ("{count} token", "{count:,} tokens"),
    "draft token": ("{count} draft token", "{count:,} draft tokens"),
    "draft node": ("{count} draft node", "{count:,} draft nodes"),
    "level": ("{count} level", "{count:,} levels"),
    "best node": ("the best node", "the {count:,} best nodes"),
    "candidate": ("{count} candidate", "{count:,} candidates"),
    "kept child": ("the kept child", "the {count:,} kept children"),
    "no kept child": ("not the kept child", "none of the {count:,} kept children"),
    "thread": ("{count} thread", "{count:,} threads"),
    "row": ("{count} row", "{count:,} rows"),
    "step": ("{count} step", "{count:,} steps"),
    "slot": ("{count} slot", "{count:,} slots"),
}

SETTING_FORMS = {
    "m": "m = {m}",
    "K": "K = {K}",
    "R": "R = {R}",
    "depth": "depth = {depth}",
    "T": "T = {T:g}",
    "S": "S = {S}",
}

# --- figures of a run ---
FIGURES = {
    "tau": "τ, tokens per round",
    "accepted": "accepted per round",
    "expected": "expected accepted per round",
    "kinds": "accepted by kind",
    "ended": "rounds ended by",
    "survival": "probes kept after pruning",
    "tests": "probes accepted when tested",
    "speed": "tokens/s after prefill",
}
OF = "{part} of {whole} ({percent})"
NONE_OF = "none"
COUNT = "{letter} {count}"
SURVIVAL_HINT = "Of the probes below nodes that kept a child."
TESTS_HINT = "On average these tests are passed with probability {mean}."
EXPECTED_OLDER = (
    "This older recording does not say which tokens end the text, so nodes behind one are counted "
    "too; τ does not count them."
)
PERCENT = "{value:.0f} %"
SHARES = {"draft": "draft", "target": "target", "verify": "verify", "other": "other"}
PART_SHARE = "{name} {percent}"
SHARE_TITLE = "{name}: {ms:.1f} ms a round"
SHARES_LABEL = "Where a round's {total:.0f} ms go: {parts}"
ROUND_COST = "A round takes {total:.0f} ms"
TIMELINE_LABEL = "Tokens by round: {counts}. On average {tau}."
ROUNDS_HINT = "Choose a bar to see its round."

# --- speed against plain decoding ---
ENDED = "; {ratio:.2f}× the speed of plain decoding beside it ({low:.2f} to {high:.2f}×)"
UNMEASURED = (
    "This run was too short to time plain decoding beside it, so there is no speed-up to tell."
)
MADE_ELSEWHERE = (
    "Measured on another machine ({device}): {speed:.1f} tokens/s there. A speed-up compares with "
    "plain decoding on the same machine, which this trace does not have."
)
THE_REFERENCE = "This is plain decoding itself: {ms:.0f} ms a token, the reference for speed-ups."
MEASURED = (
    "Speed-up on this machine: {ratio:.2f}× ({low:.2f} to {high:.2f}×). A token took {ms:.0f} ms, "
    "a plain step {plain:.0f} ms: the median of {steps} between this run’s rounds, which "
    "took {fastest:.0f} to {slowest:.0f} ms."
)
MEASURED_BEFORE = (
    "Speed-up on this machine: about {ratio:.2f}×. A token took {ms:.0f} ms; this run was too "
    "short to time plain steps beside it, which took {plain:.0f} ms when the model was loaded "
    "(median of {steps}, {fastest:.0f} to {slowest:.0f} ms)."
)
WHY_SLOW = (
    "Why below 1: this device pays for every row. One verification of {rows} took as long as "
    "{steps:.1f} plain steps, and a round gave {tau:.2f} tokens. A GPU reads the weights once for "
    "all rows, so that there they cost little more than one."
)
WHY_SLOW_DRAFT = (
    "Why below 1: a round took as long as {round:.1f} plain steps and gave {tau:.2f} tokens."
)
DEVICES = {"cpu": "CPU", "cuda": "GPU", "mps": "Apple GPU"}
THREADS = "{device}, {threads}"

MEASURING = "Measuring plain decoding"

# --- the projection ---
PROJECTION = "Projected on a GPU"
PROJECTION_FORMULA = (
    "speed-up = τ / (1 + overhead + depth × draft) = {tau} / (1 + {overhead} + {depth} × {draft}) "
    "= {ratio}×"
)
DRAFT_COST = "draft: one level, in target steps"
OVERHEAD = "overhead: verifying a tree, beyond one step"
PROJECTION_WHY = (
    "A step is one plain forward pass of the target. With {draft} and {overhead} the formula gives "
    "the paper's six speed-ups on an A6000, depth 8, to within 5 %: the lowest is 2.84× at τ 5.04, "
    "the highest 3.43× at τ 5.89. Those are targets of 8 to 13 billion parameters; for another "
    "size, as this run's may be, both costs differ."
)

# --- sliders that teach ---
WHATIF = {
    "hint": "Move T, m or K, or choose a strategy: this node answers at once.",
    "again": "Run again, same seed",
}
WITH = "With {settings}"
RUN_HAD = "the run: {settings}"
WHATIF_ROWS = {
    "z": "tail mass z",
    "probe": "probe",
    "proxy": "its proxy",
    "ratio": "accepted when tested",
    "overlap": "mean over all draws",
    "residual": "left if all probes are rejected",
}
WHATIF_COLUMNS = ("slot", "proxy", "true", "accept")
BARS = {"run": "run", "whatif": "now"}
BAR_LABEL = "{name}: {percent} accepted at this node"
ALL_OTHERS = "others {mass}"
NOTHING = "–"
CHANGE = "{before} → {after}"
NO_PROBE_HERE = "none kept"
TOP_K = "Top-K has no probe: m changes nothing here."
ALL_PRUNED = "Pruning kept no child of this node, so nothing is tested here."
ERROR = (
    "The trace keeps p on {known} and the mass of the rest ({rest}), so probabilities at "
    "this T are right to ± {error}."
)
UNSURE = "Which uniform drew this node's probe is not certain; one is used that draws the same."
STAND_IN = "The run drew no such probe here: u = {u} stands in for its random number."
NEEDS_RUN = "The children that pruning kept stay kept; which others would be needs a new draft."

# --- impossible pairs, prevented ---
M_LOWERED = "m is now {m}: K = {K} leaves slots for m from 0 to {m}."
M_LOWERED_PROBES = "m is now {m}: K = {K} slots less {probes} probes leave no more."
PROBES_LOWERED = "probes is now {probes}: m = {m} leaves {probes} of K = {K} slots."
S_RAISED = "S is now {S}: a support cannot fill K = {K} slots with fewer tokens."
K_LOWERED = "K is now {K}: a support of S = {S} tokens fills no more slots."

# --- two runs ---
OLD, NEW = "old", "new"
FLIP = "Old or new run"
FLIP_HINT = "Key: x"
COMPARED_SAID = (
    "{changed}: τ {old_tau} → {new_tau}, expected accepted per round {old_expected} → "
    "{new_expected}; {parting}. τ of one short run is luck: compare the expectation."
)
SAME_SETTINGS = "Same settings"
SETTING = "{name} {old} → {new}"
PARTED = "the texts part in round {round}"
SAME_TEXT = "the text is the same"
NO_RUN_AGAIN = "This run is no longer known here: press Run."
