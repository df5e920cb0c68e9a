"""The Space's own install line against our requirements, resolved and not installed.

`python -m tests.space.install` prints the result for each Python and each torch that a Space may
bring. It needs `uv` on the path, which reads the packages' metadata and downloads no wheel.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.space.front_matter import README, ROOT, front_matter

TORCH = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")  # what ZeroGPU offered in August 2026
NETWORK = re.compile(r"error sending request|dns error|Could not connect|timed out|status code 50")


class NoNetworkError(Exception):
    """The package index did not answer: nothing was learnt."""


def space_line(front: dict) -> list[str]:
    """What a Space installs beside requirements.txt."""
    gradio = f"gradio[oauth,mcp]=={front['sdk_version']}"
    return [gradio, "uvicorn>=0.14.0", "websockets>=10.4", "spaces"]


def resolve(*more: str, python: str | None = None) -> dict[str, str]:
    """Package -> version of the Space's line, our requirements and `more`, on Linux.

    Raises:
        ValueError: they cannot be installed together; the message is the resolver's.
        NoNetworkError: the index could not be asked.
    """
    front = front_matter(README)
    wanted = [*space_line(front), *more, f"-r {ROOT / 'requirements.txt'}"]
    command = [shutil.which("uv") or "uv", "pip", "compile", "-", "--no-header", "--no-annotate"]
    command += ["--quiet", "--python-version", python or front["python_version"]]
    command += ["--python-platform", "x86_64-manylinux_2_28", "--only-binary", ":all:"]
    done = subprocess.run(
        command, input="\n".join(wanted), capture_output=True, text=True, timeout=300, cwd=Path("/")
    )
    if done.returncode and NETWORK.search(done.stderr):
        raise NoNetworkError(done.stderr.strip()[-500:])
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


def main() -> int:
    """A line each: as it comes, and with each torch of ZeroGPU."""
    for python in ("3.12", "3.11"):
        for more in ((), *((f"torch=={version}",) for version in TORCH)):
            try:
                found = resolve(*more, python=python)
            except (NoNetworkError, ValueError) as error:
                print(f"Python {python} {' '.join(more)}: {error}")
                return 1
            shown = ("gradio", "torch", "transformers", "pydantic", "starlette", "spaces")
            versions = ", ".join(f"{name} {found[name]}" for name in shown)
            print(f"Python {python}: {len(found)} packages: {versions}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
