"""The one exception whose text a person may read."""


class RheoError(Exception):
    """A fault in what a person asked for or has: `str()` is one sentence on what is wrong."""
