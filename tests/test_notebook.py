"""The worked notebook runs from its first cell to its last, and its asserts hold."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.notebook import NOTEBOOK, SOURCE, converted, written


def execute(notebook: nbformat.NotebookNode, folder) -> nbformat.NotebookNode:
    """Run all cells, as from the notebook's own folder."""
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, timeout=600, resources=resources).execute()


def test_the_notebook_is_its_source_without_outputs():
    source = SOURCE.read_text(encoding="utf-8")
    assert NOTEBOOK.read_text(encoding="utf-8") == written(source), "run python -m tests.notebook"
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert not any(cell.get("outputs") for cell in cells)
    assert all(len(cell.source.splitlines()) <= 25 for cell in cells)  # each fits a look


@pytest.mark.slow
@pytest.mark.embedded
def test_all_cells_run(embedded_folder):
    notebook = execute(nbformat.read(NOTEBOOK, as_version=4), NOTEBOOK.parent)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    drawn = [
        output.data
        for cell in code
        for output in cell.outputs
        if "application/vnd.plotly.v1+json" in output.get("data", {})
    ]
    assert len(drawn) == 2  # both figures


def test_a_failing_assert_is_noticed(tmp_path):
    with pytest.raises(CellExecutionError, match="AssertionError"):
        execute(converted("# %%\nassert 1 + 1 == 3\n"), tmp_path)
