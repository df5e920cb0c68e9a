"""Words of the recorded runs, of opening a trace, of saving one, and of the page saved."""

GALLERY_WORDS = {
    "title": "Recorded runs",
    "open": "Open a trace …",
    "hint": "or drop a file anywhere: .json or .json.gz",
    "drop": "Drop the trace to open it",
    "reading": "Reading {name} …",
    "large": "{name} is larger than the {limit} that a trace may have here: it was not opened.",
    "unread": "{name} could not be read: it was not opened.",
}
SAVE = {
    "save": "Save",
    "json": "The run as a trace",
    "json_hint": "Everything recorded, as .json.gz: open it here again",
    "html": "The run as a page",
    "html_hint": "One .html file to step through without a server or a network",
    "csv": "The round as a table",
    "csv_hint": "Its nodes as .csv",
    "svg": "The tree as SVG",
    "svg_hint": "The tree as it is shown, to be scaled",
    "png": "The tree as PNG",
    "png_hint": "The tree as it is shown, at twice its size",
}
SAVING = {  # what `save_menu.js` says by itself
    "picture": "RheoScope · round {at} of {count}",
    "making": "Making the file …",
    "saved": "{name} is saved.",
    "lost": "The file could not be made; the run shown still works.",
}

GALLERY_RUN = "{title}. The settings on the left are this run’s"
OPENED = "Trace opened: {pair}, stopped {stop}"
LEFT_OUT = " It had {names}, which cannot be set here: Run makes another text."
NOT_THERE = "There is no such recorded run; the one shown still works."
ALL_NODES = "{count:,} nodes in all rounds"
TOO_MANY_OPEN = (
    "Too many traces are being opened to wait in line: try again in a minute; the run shown stays."
)
NO_ROUNDS = "This trace has no rounds to show."
TRACE_TOO_LARGE = "This trace is larger than {limit}: it was not opened."
TOO_MUCH = "This trace has {what}, more than can be shown: it was not opened."
ROUNDS, NODES, TEXT = (
    "{count:,} rounds",
    "a round of {count:,} nodes",
    "a text of {count:,} characters",
)
UNDRAWABLE = "This trace can be read but not drawn: it was not opened."

PAGE_TITLE = "{strategy}, {settings}, seed {seed} · RheoScope"
PAGE_HEAD = "RheoScope"
PAGE_ABOUT = "{strategy} · {pair} · {settings}, seed {seed}"
ABSENT = (
    "The figures of this node are not in this file, which keeps those of the walk and of what "
    "stands nearest to it."
)
NO_SCRIPT = "This page steps through a run by script; your browser has scripts switched off."
TOO_OLD = "This page could not be unpacked: it needs a browser of 2023 or later."
