"""Write the notebook from its readable source: `python -m tests.notebook`.

The source is a Python file in cells that begin with `# %%`; the notebook has no outputs.
"""

import re
from pathlib import Path

import nbformat

SOURCE = Path(__file__).parents[1] / "assets" / "notebooks" / "one_round.py"
NOTEBOOK = SOURCE.with_suffix(".ipynb")
_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


def converted(source: str) -> nbformat.NotebookNode:
    """Return a notebook without outputs.

    >>> converted("# %% [markdown]\\n# # Title\\n\\n# %%\\nx = 1\\n").cells[0].source
    '# Title'
    """
    _, *parts = _CELL.split(source)  # kind, text, kind, text, ...
    cells = []
    for number, (kind, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        if kind:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        make = nbformat.v4.new_markdown_cell if kind else nbformat.v4.new_code_cell
        cells.append(make(text.strip(), id=f"cell-{number:02d}"))
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": python})


def written(source: str) -> str:
    """Return the text of the notebook's file."""
    return nbformat.writes(converted(source)) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(written(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
