"""What somebody who means harm would send: texts and values. `MARK` shows what was executed."""

MARK = "window.__xss=1"  # what no text may make the browser do

TEXTS = {
    "image": f"<img src=x onerror={MARK}>",
    "script": f"</script><script>{MARK}</script>",
    "svg": f"<svg/onload={MARK}><animate onbegin={MARK} attributeName=x>",
    "frame": f"<iframe srcdoc='<script>parent.{MARK.removeprefix('window.')}</script>'></iframe>",
    "link": f'<a href="javascript:{MARK}">x</a>',
    "attribute": f'" onmouseover="{MARK}" autofocus onfocus="{MARK}" x="',
    "style": "<style>*{display:none!important}</style>",
    "template literal": f"`${{{MARK}}}` ${{{MARK}}} \\u{{x}} \\x",
    "handlebars": f"{{{{{MARK}}}}} {{{{#each this}}}}{{{{/each}}}} {{{{constructor}}}}",
    "jinja": "{{ ''.__class__.__mro__ }} {% for x in range(9) %}x{% endfor %}",
    "format": "{0.__class__.__init__.__globals__} %(x)s %s {error}",
    "bidirectional": "abc\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "controls": "a\x01\x02\x07\x08\x1b[31mred\x7f\x85\ufeff\ufffe",
    "NUL": "a\x00b",
    "lone surrogate": "a\ud800b",
    "separators": "a\u2028b\u2029c",
    "combining": "a" + "\u0301" * 500,
    "a megabyte": "word <b> ${x} " * 75_000,
}

NUMBERS = [
    float("nan"), float("inf"), float("-inf"), -1, 0.5, 10**6, 10**30, 10**400, 1e308, True, False,
    None, "5", "NaN", "", "1e9", [], [5], {}, {"value": 5}, "\x00", "<b>",
]  # fmt: skip

# what a sentence for a visitor must not tell of the program and its machine
GIVES_AWAY = ("Traceback", "site-packages", ".py", "/home", "/tmp", "/work", 'File "')


def one_sentence(said: str) -> str:
    """`said`, if a person may read it."""
    assert said and len(said) < 400 and "\n" not in said, said[:500]
    assert not any(word in said for word in GIVES_AWAY), said
    said.encode()
    return said
