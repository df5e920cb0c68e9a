"""What a test needs of the machine: skipped without it, or failed where RHEO_REQUIRE names it."""

import os
from typing import NoReturn

import pytest


def skip_unless_required(need: str, why: str) -> NoReturn:
    """Skip a test for want of `need`, or fail it where RHEO_REQUIRE names that need."""
    if need in os.environ.get("RHEO_REQUIRE", "").split(","):
        pytest.fail(f"RHEO_REQUIRE names {need}: {why}", pytrace=False)
    pytest.skip(why)
