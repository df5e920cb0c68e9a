"""Sentences about sharing one server: its limits, its queue of visitors, what it refuses."""

AHEAD = "{count} ahead of you …"
QUEUE_FULL = (
    "The model is busy and {visitors} for it already, as many as may: try again in a "
    "minute; the recorded runs and the other pages work meanwhile."
)
VISITORS_WAIT = ("{count} visitor waits", "{count} visitors wait")
OUT_OF_MEMORY = (
    "The model ran out of memory and this run was ended: choose a smaller R, a smaller depth, "
    "fewer new tokens or a shorter prompt; the rounds shown still work."
)
OVER_LIMIT = "{name} = {value} is more than this server allows: choose at most {limit}."
LONG_PROMPT = "The prompt has {length:,} tokens and this server takes {limit:,}: shorten it."
NO_TEXT = "The prompt is not valid Unicode text: type it again."
NO_SUCH_PAIR = "This server offers no such pair: choose one of {names}."
GPU_TIME_IS_UP = (
    "The GPU was lent for {seconds} s and these are over: the rounds shown stay; ask for fewer new "
    "tokens."
)
ONE_PAIR = (
    "This Space borrows its GPU and serves the one pair that it was started with (RHEO_PAIR): "
    "choose that one, or duplicate the Space."
)
NO_ENGINE = "The model's packages could not be imported ({kind}): pip install -r requirements.txt."

# answers of the server itself, before any page
NOT_FOUND = "Not found."
TOO_LARGE = "This request is larger than the {limit} kB that this server takes."
TOO_MANY = "Too many requests from this address: wait a few seconds."
BAD_REQUEST = "This request cannot be read."
BAD_VALUE = "A control cannot have this value: load the page again."
TOO_SLOW = "This request did not arrive in time."
WRONG_HOST = (
    "This server does not answer under that name: whoever runs it can allow the name in RHEO_HOSTS."
)
OTHER_SITE = "This request comes from the page of another site and was refused."
FAILED = "This request could not be answered."

# --- what a pair needs ---
PAIRS_HEAD = "What each pair needs"
PAIR_SIZE = "Download: {size}"
PAIR_MEMORY = "Memory: {half} GB on a GPU (bfloat16), {full} GB on a CPU (float32), and the cache"
PAIR_LICENCE = "Licence: {licence}"
PAIR_GATED = "Gated: accept the licence on its model page and set HF_TOKEN"
PAIR_OPEN = "Not gated"
PAIR_TRIED = "Tried by the authors"
PAIR_NEVER_TRIED = "Never tried by the authors"
HUB_PAIR = "A pair of your own"
HUB_TARGET = "Target: Hub id, owner/name"
HUB_DRAFT = "Draft: Hub id, owner/name"
NO_HUB_ID = "{name!r} is not a Hub id of the form owner/name."
HUB_HOW = "The page runs the pairs of its list. On a machine of yours this one runs by"
HUB_COMMAND = "python -m rheo generate --target {target} --draft {draft}"
