"""The Space's install line resolves, on every torch that ZeroGPU brings; a wrong pin is refused."""

import shutil

import pytest

from tests.needs import skip_unless_required
from tests.space import install

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _uv():
    if shutil.which("uv") is None:
        skip_unless_required("uv", "uv is not installed: it resolves without downloading")


def resolve(*more: str, **options: str) -> dict[str, str]:
    try:
        return install.resolve(*more, **options)
    except install.NoNetworkError as error:
        skip_unless_required("uv", f"the package index did not answer: {error}")


@pytest.mark.parametrize("python", ["3.12", "3.11"])
def test_the_line_resolves_with_the_newest_of_everything(python):
    found = resolve(python=python)
    assert found["gradio"] == install.front_matter(install.README)["sdk_version"]
    assert {"mcp", "authlib", "itsdangerous", "spaces", "torch", "plotly"} <= found.keys()


@pytest.mark.parametrize("torch", install.TORCH)
def test_the_line_resolves_with_a_torch_of_zerogpu(torch):
    assert resolve(f"torch=={torch}")["torch"] == torch


@pytest.mark.parametrize("pin", ["pydantic>=2.13", "gradio==6.30.0", "torch==2.7.1"])
def test_a_pin_that_the_space_cannot_have_is_noticed(pin):
    with pytest.raises(ValueError, match="No solution found"):
        resolve(pin)
