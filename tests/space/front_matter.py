"""README's front matter and the list of packages, as a Hugging Face Space reads them."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")


def front_matter(text: str) -> dict:
    """The YAML between the first two lines of three dashes."""
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return yaml.safe_load(found.group(1)) if found else {}


def listed(text: str) -> dict[str, str]:
    """Package -> version specifier, of a requirements file."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    parts = (re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?(.*)", line) for line in lines if line)
    return {part.group(1).lower().replace("_", "-"): part.group(3).strip() for part in parts}
