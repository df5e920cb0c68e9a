"""Every string a person sees, grouped by room; a second language would be a second module."""

# --- the page ---
TITLE = "RheoScope"
TAGLINE = "Speculative decoding with a draft tree that is allowed to be random, and stays lossless."
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
SLIDERS = {
    "m": ("m · deterministic", "Deterministic tokens kept per node: the rheostat."),
    "R": ("R · tree size", "Draft nodes kept after pruning, the root not counted."),
    "depth": ("depth · levels", "Levels of draft nodes."),
    "T": ("T · temperature", "Temperature of the target and of the probe; 0 is greedy."),
    "K": ("K · slots", "Child slots per expanded node, and the beam."),
    "S": ("S · support", "Draft logits kept before the softmax; the target is never cut."),
    "seed": ("Seed", "The same seed gives the same text, uniforms and verdicts."),
    "max_new_tokens": ("Max new tokens", "Tokens after the prompt."),
}
STRATEGIES = {
    "rheo": "RheoSampling",
    "topk": "Top-K (EAGLE-2/3, one-hot)",
    "rheo-rrsw": "RheoSampling tree, RRSw verification",
    "rheo-multi": "RheoSampling with several probes",
    "naive": "Naive probe (biased, for comparison)",
    "autoregressive": "Autoregressive (no draft)",
}

# --- the status line ---

# --- the tree ---
ROOT = "root"
TREE_LABEL = (
    "Draft tree of round {round}: {nodes} draft nodes on {levels} levels; {accepted} accepted; "
    "the round added {text!r}."
)
HOVER_TOKEN = "<b>%{customdata[1]}</b>  {kind}"
HOVER_NUMBERS = (
    "proxy %{customdata[3]:.4~g}   true %{customdata[4]:.4~g}",
    "target p %{customdata[5]:.4~g}   accept %{customdata[6]:.4~g}",
    "score %{customdata[7]:.2f} nats   slot %{customdata[8]}",
    "%{customdata[2]}",
)


def hover(kind: str) -> str:
    """What plotly shows over a node of this kind; the fields are `tree.ROW`."""
    lines = {
        "root": (),
        "ghost": ("proxy %{customdata[3]:.4~g}   pruned",),
        "residual": ("p in the residual %{customdata[5]:.4~g}",),
        "bonus": ("target p %{customdata[5]:.4~g}",),
    }.get(kind, HOVER_NUMBERS)
    return "<br>".join([HOVER_TOKEN.replace("{kind}", kind), *lines]) + "<extra></extra>"


# --- text: the transcript, one sentence a step, the summary ---
PROBE_STEP = "Probe {token}: min(1, {p} / {q_tilde}) = {ratio}; u₁ = {u}: {verdict}."
SIBLING_STEP = "Sibling {token}: its interval [{low}, {high}) of {law} {holds} {share}: {verdict}."
NO_MASS_STEP = "Sibling {token}: {law} leaves it no mass: {verdict}."
EMIT_STEP = "Emitted {token} from {law}: its interval [{low}, {high}) holds {share}."
BONUS_STEP = "A leaf: bonus {token} drawn from p; its interval [{low}, {high}) holds {share}."
UNSEEN_STEP = "Drawn {token}, not emitted: the text had ended before it."
HOLDS, MISSES = "holds", "does not hold"
VERDICTS = {"accept": "accepted", "reject": "rejected", "emit": "emitted"}
LAWS = {"p": "p", "residual": "the residual"}
SHARE = "u₂ = {u}"
RESCALED = "{share} (u₂ = {u}, rescaled behind the head)"

ACCEPTED = "Accepted {accepted} of {drafted} draft tokens"
PROBE_TAKEN = ", the probe {tokens} among them"
PROBES_TAKEN = ", the probes {tokens} among them"
PROBE_LOST = ", the probe {tokens} rejected and then {next} taken from the residual"
PROBES_LOST = ", the probes {tokens} rejected"
NO_PROBE = ", no probe on the way"
EXPECTED = (
    "; in expectation this tree gives {expected}, and the same nodes verified one-hot {one_hot}"
)
EXPECTED_ONE_HOT = "; every node is a point mass (one-hot), {expected} in expectation"
BIASED = "; this strategy is biased"
UNVISITED = (
    "The walk never came to {token}: it ended at {end}, so nothing was decided here and the trace "
    "keeps the draft's side alone."
)

TAU = "τ, tokens per round"
EXPECTED_TAU = "expected τ given the trees"
SPEED = "tokens/s after prefill"
BY_KIND = "accepted by kind"
STOPPED = "stopped"
STOPS = {
    "eos": "at the end of text",
    "stop string": "at a stop string",
    "length": "at the most new tokens",
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
PROXY_TRUE = "▬ proxy, what pruning saw  ◇ true, what verification uses"
PROXY, TRUE = "proxy", "true"
CUT = "· first {shown} of {all} slots"
PRUNED = "pruned"
UNKNOWN = "?"
OVERLAP, TARGET_ONLY, DRAFT_ONLY = "▬ overlap {mass}", "▬ only p", "▨ only {q}"
TARGET_ALONE = "▬ target p; a leaf has no draft"
P, Q, Q_TILDE = "p", "q", "q̃"
OTHERS = "all others"
