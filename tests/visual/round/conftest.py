"""Runs of every strategy, for each test of a round's parts."""

import pytest

from rheo.trace.schema import Run
from tests.visual.played import CASES, play


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} T={case[1]}")
def played(request) -> Run:
    """A run of the engine over two tiny models, by strategy and temperature."""
    return play(*request.param)
