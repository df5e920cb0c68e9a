"""What a Hugging Face Space reads before it builds: README's front matter, the list of packages."""

import re

import pytest
from packaging.specifiers import SpecifierSet

from tests.space.front_matter import README, REQUIREMENTS, ROOT, front_matter, listed

COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
KNOWN = {
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file"),
    *("short_description", "license", "models", "datasets", "tags", "pinned", "header"),
    *("fullWidth", "thumbnail", "suggested_hardware", "preload_from_hub"),
    *("startup_duration_timeout", "disable_embedding", "custom_headers"),
}
LEFT_TO_THE_SPACE = {"spaces", "starlette", "huggingface-hub", "uvicorn", "websockets"}
SPACES_PYDANTIC = "2.12.0"  # gradio's extras, which a Space installs, want one below 2.13


def complaints(front: dict, packages: dict[str, str]) -> list[str]:
    """What a Space would refuse, ignore, or build otherwise than it was tested."""
    said = [f"unknown key {key}" for key in front.keys() - KNOWN]  # the Hub drops it silently
    if front.get("sdk") != "gradio":
        said.append("sdk is not gradio")
    if packages.get("gradio") != f"=={front.get('sdk_version')}":
        said.append("requirements and sdk_version name different gradios")
    # ZeroGPU has 3.12 and 3.10, our packages want 3.11; unquoted, 3.10 would read as 3.1
    if front.get("python_version") != "3.12":
        said.append("python_version is not the string 3.12")
    if not (ROOT / str(front.get("app_file"))).is_file():
        said.append("app_file is not there")
    if len(front.get("short_description", "")) > 60:
        said.append("short_description is longer than 60 characters")
    if not {front.get("colorFrom"), front.get("colorTo")} <= COLOURS:
        said.append("a colour that the Hub does not know")
    said += [f"{name} is the Space's to choose" for name in LEFT_TO_THE_SPACE & packages.keys()]
    if not SpecifierSet(packages.get("pydantic", "")).contains(SPACES_PYDANTIC):
        said.append("pydantic's range leaves out the one that a Space brings")
    said += [f"{n} has no upper bound" for n, v in packages.items() if not re.search("==|<", v)]
    if "==" in packages.get("torch", "") or "+" in packages.get("torch", ""):
        said.append("torch is pinned: ZeroGPU brings one of its own list")
    return said


def test_a_space_accepts_the_front_matter_and_the_packages():
    assert not complaints(front_matter(README), listed(REQUIREMENTS))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('python_version: "3.12"', "python_version: 3.12"),
        ('python_version: "3.12"', 'python_version: "3.11"'),
        ("sdk_version: 6.31.0", "sdk_version: 6.30.0"),
        ("app_file: app.py", "app_file: main.py"),
        ("colorTo: red", "colorTo: orange"),
        ("pinned: false", "hardware: t4-small"),
        ("short_description: ", "short_description: Very long indeed and longer still than "),
    ],
)
def test_a_wrong_front_matter_is_noticed(old, new):
    assert old in README
    assert complaints(front_matter(README.replace(old, new)), listed(REQUIREMENTS))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gradio==6.31.0", "gradio>=6.31"),
        ("torch>=2.8,<3", "torch==2.13.0"),
        ("torch>=2.8,<3", "torch>=2.8"),
        ("numpy>=2,<3", "numpy>=2,<3\nstarlette>=0.40,<2"),
        ("pydantic>=2.11,<3", "pydantic>=2.13,<3"),
    ],
)
def test_wrong_packages_are_noticed(old, new):
    assert old in REQUIREMENTS
    assert complaints(front_matter(README), listed(REQUIREMENTS.replace(old, new)))
