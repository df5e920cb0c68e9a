"""The strings of the stepper: what a frame, its card and the local ranking say."""

# --- a sentence a frame ---
ROOT_CARD = "The root {token} is the last token of the text: the draft’s tree grows from it."
ROOT_ALONE = "The root {token} is the last token of the text, and nothing is drafted."
ROOT_BARE = (
    "The root {token} is the last token of the text; the draft proposes tokens behind it, and the "
    "budget keeps none of them."
)
LEVEL = (
    "Level {level}: the draft expands {parents} of level {above} and proposes {proposed}; {kept} "
    "will survive pruning{probes}."
)
LEVEL_OLDER = (
    "Level {level}: the draft proposes more than this older recording holds; {kept} will survive "
    "pruning{probes}."
)
LEVEL_ONE = (
    "Level 1: below the root the draft proposes {named}; {kept} will survive pruning{probes}."
)
NAMED = {  # by kind; fillers are counted
    "deterministic": "{tokens} (deterministic)",
    "probe": "{tokens} (drawn at random: the probe)",
    "cold probe": "{tokens} (the best of the tail, as T = 0: the probe)",
    "filler": "{tokens} by rank (fillers)",
}
AND = " and "
KEPT_ALL = ("it", "all of them")  # of one, of more
KEPT_SOME = ("the one shown here", "the {count} shown here")
PROBES = (", a probe among them", ", {count} probes among them")
PROBE_ALONE = ", the probe"  # where one node survives
PRUNE = "Pruning keeps {kept} of {candidates} by score and drops {dropped}{levels}."
LEVELS_GONE = (", all of level {first} among them", ", all of levels {first} to {last} among them")
NONE_DROPPED = "Pruning has nothing to drop: {candidates} in all."
PRUNE_OLDER = "Pruning keeps {kept} by score; how many it drops is not in this older recording."

# --- what a verdict's sentence ends with ---
GOES_ON = "; the walk goes on at {token}."
GOES_ON_LEAF = "; the walk goes on at {token}, a leaf."
TEXT_ENDS = "; the text ends with it."
LEFT = "; {mass} of {distribution} is left and is normalised."
WHOLE = "all"

# --- guess first ---
ASK_PROBE = "Will the probe {token} be accepted?"
ASK_SIBLING = "Will the sibling {token} be accepted?"
HINT_PROBE = "It will if u₁ falls below min(1, {distribution} / {draft})."
HINT_SIBLING = "It will if u₂ falls into its interval of {distribution}."

# --- cards ---
P_SYMBOL, RESIDUAL, RESIDUAL_NEXT, Q_TILDE_SYMBOL, NEXT = "p", "r", "r′", "q̃", "′"
RATIO = "min(1, {distribution} / {draft}) = min(1, {p} / {q_tilde}) = {ratio}"
RATIO_OUTCOME = "; u₁ = {u}: {verdict}"
TICK_1, TICK_2 = "u₁", "u₂"
RESIDUAL_FORMULA = "{next} = max(0, {distribution} − {draft}) / {mass}"
RESIDUAL_SAID = (
    "{mass} of {distribution} is left; stretched to 1 it is the distribution of the next draw."
)
INTERVAL = "its interval [{low}, {high}) of {distribution}"
INTERVAL_OUTCOME = " {holds} {share}: {verdict}"
NO_MASS = "{distribution} leaves it no mass"
NO_MASS_OUTCOME = ": {verdict}"
EMITTED = "its interval [{low}, {high}) of {distribution} holds {share}"
NOT_EMITTED = "drawn, but not emitted: the text had ended before it"

# --- the local ranking ---
RANKING = ("rank", "slot", "child", "kind", "proxy", "score", "pruning")
KEPT, PRUNED_TO = "kept", "pruned"
RULED_OUT = "ruled out"
RANK_PROBE = (
    "The probe’s proxy is min(q of the last deterministic token, tail mass z) = {proxy}, at least "
    "q of every filler: it stands right behind the deterministic slots, whatever token was drawn"
)
RANK_PROBE_FIRST = (
    "Without deterministic slots the probe’s proxy is q of the best token, {proxy}: it stands "
    "first, whatever token was drawn"
)
RANK_NAIVE = (
    "Here the probe is scored by its own q, {proxy}: where it stands depends on the token that was "
    "drawn, and that biases the distribution"
)
RANK_FIXED = "No probe was drawn here: the children stand in the order of q"
TEXT_CUT = "; the smallest score that pruning kept in this round is {cut}."
ALL_DROPPED = (
    "None of its children was kept: all fell below the smallest score that pruning kept, {cut}."
)
NOT_EXPANDED = "This node was not expanded: it has no children to rank."

# --- what became of a node ---
FATES = {
    "root": "The root, the last token of the text: the walk begins here.",
    "probe accepted": (
        "Tested as a probe and accepted: u₁ = {u} is below min(1, {distribution} / {draft}) = "
        "min(1, {p} / {q_tilde}) = {ratio}."
    ),
    "probe rejected": (
        "Tested as a probe and rejected: u₁ = {u} is not below min(1, {distribution} / {draft}) = "
        "min(1, {p} / {q_tilde}) = {ratio}; {mass} of {distribution} is left."
    ),
    "point accepted": (
        "Tested as a point mass and accepted, with {distribution}({token}) = {chance}: its "
        "interval [{low}, {high}) holds {share}."
    ),
    "point rejected": (
        "Tested as a point mass and rejected, with {distribution}({token}) = {chance}: its "
        "interval [{low}, {high}) does not hold {share}."
    ),
    "no mass": (
        "Tested as a point mass and rejected: {distribution}({token}) = 0, so it had no chance."
    ),
    "passed over": (
        "Not tested: at {parent} the walk had gone on to the {kind} {taken} before it was this "
        "child’s turn. Before that, the walk would have gone on here with probability {accept}."
    ),
    "after the end": "Not tested: the walk ended at {parent} before it was this child’s turn.",
    "behind a rejected one": "Never reached: {token}, on the way here, was rejected ({why}).",
    "behind one passed over": (
        "Never reached: at {parent} the walk went on to the {kind} {taken}, and not to {token}, "
        "which is on the way here and was not tested."
    ),
    "behind the end": "Never reached: the walk ended at {parent}, before {token} on the way here.",
    "pruned": (
        "Pruned, so that the target never looked at it: its score {score} is number {rank} of "
        "{count} candidates, and pruning keeps the best {kept}, down to {cut}."
    ),
    "pruned, rank unknown": (
        "Pruned, so that the target never looked at it: its score {score} is not among the best "
        "{kept} of this round’s candidates, which go down to {cut}."
    ),
}
FATE_CUT = " It was not emitted: the text had ended before it."
LOST = {  # why a node on the way was rejected, in brackets
    "probe rejected": "u₁ = {u}, not below min(1, {distribution} / {draft}) = {ratio}",
    "point rejected": "its interval [{low}, {high}) of {distribution} does not hold {share}",
    "no mass": "{distribution}({token}) = 0",
}
