"""The one exception a person may read."""


class RheoError(Exception):
    """What a person did or has: `str()` is one sentence on what is wrong and what still works."""
