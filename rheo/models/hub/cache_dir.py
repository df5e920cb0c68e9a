"""Find the folder that fetched and converted weights are kept in."""

import os
from pathlib import Path


def home() -> Path:
    """Return `RHEO_HOME` where it is set, else `rheoscope` in the user's cache folder."""
    if chosen := os.environ.get("RHEO_HOME"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rheoscope"
