"""The strings of links, of the projector's mode and of prompts that are cut."""

VIEWER_LINKS = {
    "share": "This view",
    "copy": "Copy link",
    "copy_hint": "A link to this page with these settings, this round and this step",
    "present": "Present",
    "present_hint": "Larger text for a projector; the controls stay in sight  p",
    "settings": "Settings",
}
LINK_WORDS = {
    "copied": "Link copied",
    "by_hand": "The browser did not let the link be copied: it stands in the address bar.",
    "elsewhere": "The link asks for round {round}, step {step}; the nearest place there is shown.",
    "long": "The prompt is too long for a link: it carries the last {limit} characters.",
}

IGNORED = "{name} = {value} in the link was ignored: {why}."
WHY_RANGE = "it must be {values}"
WHY_CHOICE = "it must be one of {names}"
WHY_PERCENTS = "it must be percents that add up to 100, with commas between"
WHY_WORDS = "this situation has {count} words"
WHY_NAME = "there is no such run"
WHY_SCENARIO = "there is no such situation"
TOGETHER = "it cannot go together with the others ({error})"
TOO_LONG = "The link is longer than {limit:,} characters: none of it was used."
TOO_MANY_LINKS = "The link has more than {limit} parts: none of it was used."
PROMPT_CUT = "The prompt in the link was cut to its first {limit:,} characters."
LOCKED = "Locked by the link: {names}."
TO_RUN = "This link leads to {place}a run with these settings: press Run to see it."
PLACE_ROUND = "round {round} of "
PLACE_STEP = "round {round}, step {step} of "
CONTROLS = {
    "prompt": "Prompt",
    "pair": "Model pair",
    "strategy": "Strategy",
    "seed": "Seed",
    "max_new_tokens": "Max new tokens",
}

# --- prompts that are too long ---
CUT_CHARACTERS = "The prompt was cut to its last {limit:,} of {length:,} characters."
CUT_TOKENS = (
    "The prompt was cut to its last {kept:,} of {length:,} tokens: the model’s context and this "
    "server take no more."
)
STOPPING = "Stopping …"
