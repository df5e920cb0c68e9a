"""Whether the packages of the engine are there, asked before any of them is imported."""

import importlib.metadata
from pathlib import Path

from packaging.requirements import Requirement

from rheo.errors import RheoError
from rheo.models.hub.catalogue import ASSETS

REQUIREMENTS = ASSETS.parent / "requirements.txt"
ENGINE = ("torch", "transformers", "safetensors", "accelerate")  # that loading and decoding need
STILL_WORKS = "recorded runs and the dilemma page still work"


def check_versions(requirements: Path = REQUIREMENTS) -> None:
    """Raise RheoError where a package of the engine is missing or not of a version we know."""
    lines = requirements.read_text(encoding="utf-8").splitlines() if requirements.exists() else ()
    wanted = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    for known in (r for r in wanted if r.name in ENGINE):
        found = _installed(known.name)
        if found is None or not known.specifier.contains(found, prereleases=True):
            raise RheoError(
                f"The model needs {known.name} {known.specifier} and {found or 'none'} is "
                f"installed: pip install -r requirements.txt brings it; {STILL_WORKS}."
            )


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
