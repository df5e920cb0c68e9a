"""The one exception whose text a person may read, and others' text made fit for it."""

_LONGEST = 300  # characters of a reason


class RheoError(Exception):
    """A fault in what a person asked for or has: `str()` is one sentence on what is wrong."""


def reason(error: BaseException) -> str:
    """Return what another library's exception says, on one line, to stand inside a sentence.

    >>> reason(ValueError("no such\\n  file.")), reason(KeyError("rope")), reason(IndexError())
    ('no such file', "KeyError: 'rope'", 'IndexError')
    """
    text = " ".join(str(error).split()).rstrip(".")
    if not text or isinstance(error, LookupError):  # whose text is only what was looked for
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
