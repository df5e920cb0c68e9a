"""Styles and templates of the browser side, each in the folder of its kind."""

from pathlib import Path

HERE = Path(__file__).parent


def path(name: str) -> Path:
    """Return where a file lives, by its suffix.

    >>> path("viewer.css").parent.name
    'css'
    """
    return HERE / name.rsplit(".", 1)[-1] / name


def text(name: str) -> str:
    """Return a file's text."""
    return path(name).read_text(encoding="utf-8")
