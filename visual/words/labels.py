"""The strings of the page and its viewer; a second language would be a second module."""

# --- the page ---
TITLE = "RheoScope"
TAGLINE = "A small model guesses, a large one checks, and nothing is lost."
PAGES = {"playground": "Playground", "dilemma": "One-hot dilemma"}
PROMPT = "Prompt"
PROMPT_HINT = "Ask the model something"
EXAMPLES = (
    ("A story", "Write the opening of a story about a lighthouse keeper who finds a letter."),
    ("Arithmetic", "A baker uses 350 g of flour for each loaf. How much flour do 12 loaves need?"),
    ("Code", "Write a Python function that returns the n-th Fibonacci number."),
)
PAIR = "Model pair"
STRATEGY = "Strategy"
RUN = "Run"
STOP = "Stop"
MORE = "More settings"
RAIL = "Prompt and settings"
SETTING_NAMES = {  # what each one is: `rheo.ranges`
    "m": "m · deterministic",
    "R": "R · tree size",
    "depth": "depth · levels",
    "T": "T · temperature",
    "K": "K · slots",
    "S": "S · support",
    "probes": "probes",
    "top_p": "top-p",
    "top_k": "top-k",
    "max_new_tokens": "Max new tokens",
    "seed": "Seed",
}
STRATEGY_NAMES = {
    "rheo": "RheoSampling",
    "topk": "Top-K (EAGLE-2/3, one-hot)",
    "rheo-rrsw": "RheoSampling tree, RRSw verification",
    "rheo-multi": "RheoSampling with several probes",
    "naive": "Naive probe (biased, for comparison)",
    "autoregressive": "Autoregressive (no draft)",
}

BIASED_NOTE = "This strategy changes the text's distribution on purpose: it shows what goes wrong."

# --- the status line, the notices ---
LOADING = "The model is loading"
LOADING_STAGE = "{stage} …"
LOADING_PART = "{stage} … {percent} %"
READY = "Model ready"
NOT_LOADED = "{error} The recorded run below still works."
RECORDED_RUN = "Recorded on another machine; stopped {stop}"
WAITING = "Waiting for the model …"
DRAFTING = "Drafting the first round …"
RUNNING = "Decoding …"
FINISHED = "Stopped {stop}"
STOPPED_RUN = "Stopped by you"
TIME_IS_UP = "This run reached the time limit of {seconds:g} s and was ended."
UNEXPECTED = "Something went wrong inside the program ({kind}); the rounds shown still work."
PROMPT_EMPTY = "The prompt is empty: type at least one character."
STATUS = {"loading": "Loading", "ready": "Model ready, but", "wrong": "Model not loaded"}
NOT_ASKED = "No model is loaded yet"
PROMPT_TOO_LONG = "The prompt has {length:,} characters; at most {limit:,} are taken: shorten it."
OTHER_PAIR = "Another visitor has chosen another pair meanwhile: press Run to load this one."
NO_TREE = "This strategy draws no tree: every round is one token of the target."

# --- the viewer ---
VIEWER = {
    "transcript": "The text so far, each token marked by its origin",
    "run_head": "The run",
    "round_head": "The round, step by step",
    "tree_head": "Draft tree",
    "round": "Round",
    "previous": "Previous round",
    "next": "Next round",
    "scrub": "Choose a round",
    "walk": "Steps of this round",
    "begin": "Step through",
    "begin_hint": "The next step, from the first draft level to the last verdict; then anew",
    "first": "First step",
    "back": "Previous step",
    "play": "Play",
    "play_hint": "Play or pause  Space",
    "ahead": "Next step",
    "last": "Last step",
    "moment": "Choose a step",
    "coming": "Loading a recorded round …",
    "guessing": "Guess first",
    "guessing_hint": "Say accept or reject before each verdict is shown",
    "guess": "Your guess",
    "accept": "Accept",
    "reject": "Reject",
    "card": "This step",
    "ranking": "Why this order: the local ranking",
    "help": "Keys",
    "letters": "Letters and signs act as keys",
    "close": "Close",
    "large": "Full size",
    "large_hint": "Draw every row high enough for its label; the tree scrolls in its frame",
    "whole": "Whole tree",
    "ghosts": "Show pruned",
    "ghosts_hint": "Draw the children that pruning dropped, in their places",
    "node": "Chosen node",
    "timeline": "The run, round by round",
    "table": "The round as a table",
    "keys": "The draft tree. Keys: ← → step, ↑ ↓ node, [ ] round, Space play, ? all keys",
}
KEYS = (  # of the help dialog
    ("← →", "previous and next step"),
    ("Home End", "first and last step"),
    ("Space", "play or pause"),
    ("↑ ↓", "in the tree: another node of the level; Enter: its panel"),
    ("Shift ← →", "in the tree: the parent, the first child"),
    ("[ ]", "previous and next round"),
    ("A R", "guess: accept or reject"),
    ("X", "old and new run, after Run again"),
    ("?", "this list; Esc closes it"),
    ("↑ ↓", "in the tree: from node to node, with Shift on one level"),
    ("Enter", "in the tree: to the node’s panel"),
    ("P", "present: larger text for a projector"),
)
DEAD_KEYS = {  # by where a viewer stands
    "playground": (),
    "dilemma": ("[ ]", "X"),  # one run of one round
    "saved": ("X", "P"),
}
BROWSER = {  # what the host's script says by itself
    "of": "of {count}",
    "here": "{token}, {kind}, level {depth}{verdict}",
    "alone": "No other node on this level: Shift → goes to the first child.",
    "round": "round {at} of {count}",
    "step": "step {at} of {count}",
    "play": "Play",
    "pause": "Pause",
    "right": "✓ Right: {verdict}.",
    "wrong": "✕ Not so: {verdict}.",
    "score": "{right} of {all} right; the likelier answer every time: {likelier} expected",
    "accept": "accepted",
    "reject": "rejected",
    "undecided": "Not decided yet at this step.",
    **{name: globals()[name] for name in ("WAITING", "DRAFTING", "RUNNING", "NO_TREE")},
}
LEGEND_KINDS = {
    "deterministic": "one of the top m",
    "probe": "drawn at random from the tail; at T = 0 the tail’s best",
    "filler": "next most probable, fills a slot",
    "residual": "emitted after the last rejection",
    "bonus": "emitted after a leaf",
    "prefill": "first token, from the prompt",
}
LEGEND_VERDICTS = (
    ("✓", "accepted", "the walk went on to this node; its line is thick"),
    ("✕", "rejected", "the walk looked at this node and did not take it; its line is dashed"),
    ("○", "never visited", "the walk never looked at this node's parent; it is drawn pale"),
    ("┆", "pruned", "more children stood here and were pruned"),
    ("━", "width: p", "the wider a line, the more probable its token is to the target"),
)
ACCEPT = "accept"
TAIL = "tail mass z"
COVERAGE = "coverage"

# --- the tree ---
ROOT = "root"
LEVEL_TICK = "level {depth}"
TREE_LABEL = "Draft tree of round {round}: {nodes} on {levels}."
TREE_OUTCOME = " {accepted} accepted; the round added {text}."
HOVER_TOKEN = "<b>%{customdata[1]}</b>  {kind}"
HOVER_NUMBERS = (
    "proxy %{customdata[3]:.4~g}   true %{customdata[4]:.4~g}",
    "target p %{customdata[5]:.4~g}   accept %{customdata[6]:.4~g}",
    "slot %{customdata[7]}",
    "%{customdata[2]}",
)
HOVER_WAITING = "%{hovertext}<br>waits for its verdict<extra></extra>"


def hover(kind: str) -> str:
    """Return what plotly shows over a node of this kind; the fields are `nodes.ROW`."""
    lines = {
        "root": (),
        "ghost": ("proxy %{customdata[3]:.4~g}   pruned",),
        "residual": ("p in the residual %{customdata[5]:.4~g}",),
        "bonus": ("target p %{customdata[5]:.4~g}",),
    }.get(kind, HOVER_NUMBERS)
    return "<br>".join([HOVER_TOKEN.replace("{kind}", kind), *lines]) + "<extra></extra>"


# --- text: the transcript, one sentence a step, the summary ---
PROBE_STEP = "Probe {token}: min(1, {p} / {q_tilde}) = {ratio}; u₁ = {u}: {verdict}."
SIBLING_STEP = (
    "Sibling {token}: its interval [{low}, {high}) of {distribution} {holds} {share}: {verdict}."
)
NO_MASS_STEP = "Sibling {token}: {distribution} leaves it no mass: {verdict}."
EMIT_STEP = "Emitted {token} from {distribution}: its interval [{low}, {high}) holds {share}."
BONUS_STEP = "A leaf: bonus {token} drawn from p; its interval [{low}, {high}) holds {share}."
UNSEEN_STEP = "Drawn {token}, not emitted: the text had ended before it."
HOLDS, MISSES = "holds", "does not hold"
VERDICTS = {"accept": "accepted", "reject": "rejected", "emit": "emitted"}
DISTRIBUTIONS = {"p": "p", "residual": "the residual"}
SHARE = "u₂ = {u}"
RESCALED = "{share} (u₂ = {u}, rescaled behind the head)"

ACCEPTED = "One pass of the target, {tokens}: {accepted} of {drafted} accepted"
PROBE_TAKEN = ", the probe {tokens} among them"
PROBES_TAKEN = ", the probes {tokens} among them"
PROBE_LOST = {  # by how the walk went on at that node
    "accept": ", the probe {tokens} rejected, then the {kind} {next} accepted",
    "emit": ", the probe {tokens} rejected, then {next} drawn from the residual",
}
PROBES_LOST = ", the probes {tokens} rejected"
NO_PROBE = ", no probe on the way"
EXPECTED = (
    "; expected {expected}, and {one_hot} if these very nodes were one-hot (Top-K’s own tree is "
    "another)"
)
EXPECTED_ONE_HOT = "; every node is a point mass (one-hot), {expected} in expectation"
NO_DRAFT = "No draft: one forward pass of the target gave one token, {token}."
BIASED = "; this strategy is biased"

TAU = "τ, tokens per round"
EXPECTED_TAU = "expected τ given the trees"
SPEED = "tokens/s after prefill"
BY_KIND = "accepted by kind"
STOPPED = "stopped"
STOPS = {
    "eos": "at the end of text",
    "stop string": "at a stop string",
    "length": "at the token limit",
    "context": "at the context limit",
    "closed": "by you",
}
NOTHING_YET = "–"
ORIGINS = {
    "prefill": "prefill",
    "deterministic": "deterministic",
    "probe": "probe",
    "filler": "filler",
    "residual": "residual",
    "bonus": "bonus",
}
QUOTED = "‘{token}’"
SPAN_TITLE = "{token} · {origin} · round {round}"
SPAN_FIRST = "{token} · {origin}"

# --- bars: proxy against true, target against draft ---
PROXY_TRUE = "▬ proxy, what pruning saw  ◇ true, how surely proposed"
PROXY, TRUE = "proxy", "true"
CUT = "· first {shown} of {all} slots"
PRUNED = "pruned"
UNKNOWN = "?"
OVERLAP, TARGET_ONLY, DRAFT_ONLY = "▬ overlap {mass}", "▬ only {p}", "▨ only {q}"
DRAFT_ALONE = "▨ draft q; the walk never came here"
TARGET_ALONE = "▬ target p; a leaf has no draft"
P, R, Q, Q_TILDE = "p", "r", "q", "q̃"
OTHERS = "all others"

# --- the residual strip ---
STAGE = "p{index}"
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
STAGE_REJECT = "{distribution} · probe {token} ✕  u₁ {u} ≥ {p} / {q_tilde} = {ratio}"
STAGE_ACCEPT = "{distribution} · probe {token} ✓  u₁ {u} < min(1, {p} / {q_tilde}) = {ratio}"
STAGE_CHILD = "{distribution} · u₂ {u} falls on {token} ✓"
STAGE_MISS = "{distribution} · u₂ {u} falls on none of these"
STAGE_EMIT = "{distribution} · u₂ {u} falls on {token}, emitted"
STAGE_BONUS = "{distribution} · a leaf: u₂ {u} falls on {token}, the bonus"
STAGE_LEFT = "{distribution} · what is left, stretched to 1"
STAGE_PLAIN = "{distribution}"

# --- the timeline of a run ---
TIMELINE_EXPECTED = "━ expected"
TIMELINE_ROUND = "round"
TIMELINE_TOKENS = "tokens emitted"
TIMELINE_TAU = "τ {tau}"
TIMELINE_HOVER = "round {round} · {token} · {origin}"
TIMELINE_HOVER_EXPECTED = "round {round} · expected {expected} given its tree"

# --- the table ---
COLUMNS = {
    "step": "step",
    "node": "node",
    "token": "token",
    "kind": "kind",
    "parent": "parent",
    "slot": "slot",
    "depth": "depth",
    "proxy": "proxy",
    "true": "true (q̃)",
    "p": "target p",
    "accept": "accept",
    "score": "score",
    "verdict": "verdict",
    "tested": "p when tested",
    "ratio": "min(1, p / q̃)",
    "uniform": "u",
    "low": "from",
    "high": "to",
    "left": "mass left",
}
