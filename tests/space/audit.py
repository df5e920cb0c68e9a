"""Known vulnerabilities of the tested versions: `python -m tests.space.audit`.

Needs `pip-audit` on the path. It fails on a finding that is not excused below, and on an excuse
that is no longer needed. Where no service that knows of vulnerabilities can be reached, nothing is
audited and that is said.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
SERVICES = ("pypi", "osv")
EXCUSED = {
    # any name of the vulnerability: (package, why it does not reach us)
    "CVE-2026-134825": (
        "gradio",
        "needs server-side rendering and run history, both off in app.py; mended in 6.32.0, which "
        "the package index does not have yet",
    ),
}


def report(service: str, constraints: Path = CONSTRAINTS) -> dict | None:
    """pip-audit's JSON; None where the service did not answer.

    A mirror of the index may know all files and no vulnerability: then every package is skipped.
    """
    command = [shutil.which("pip-audit") or "pip-audit", "-r", str(constraints), "--no-deps"]
    command += ["--disable-pip", "-s", service, "-f", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        if "ConnectionError" in done.stderr or "ServiceError" in done.stderr:
            return None
        raise RuntimeError(done.stderr[-2000:]) from None
    return found if any("vulns" in package for package in found["dependencies"]) else None


def judge(found: dict) -> list[str]:
    """What is wrong: findings without an excuse, packages not looked at, excuses not needed."""
    wrong, used, looked_at = [], set(), set()
    for package in found["dependencies"]:
        name = package["name"]
        if "vulns" not in package:
            wrong.append(f"{name} was not audited: {package.get('skip_reason')}")
            continue
        looked_at.add(name)
        for known in package["vulns"]:
            names = {known["id"], *known.get("aliases", ())}
            excuse = next(
                (n for n in sorted(names & EXCUSED.keys()) if EXCUSED[n][0] == name), None
            )
            if excuse is None:
                mended = ", ".join(known.get("fix_versions", ())) or "no version yet"
                wrong.append(f"{name} {package['version']}: {known['id']}, mended in {mended}")
            else:
                used.add(excuse)
    stale = [n for n in EXCUSED if n not in used and EXCUSED[n][0] in looked_at]
    return wrong + [f"{n} is excused and no longer found: take it off the list" for n in stale]


def main() -> int:
    if shutil.which("pip-audit") is None:
        print("pip-audit is not installed: nothing was audited.")
        return 1
    found = next(filter(None, map(report, SERVICES)), None)
    if found is None:
        print("SKIPPED: no vulnerability service can be reached from here; nothing was audited.")
        return 0
    for name, (package, why) in EXCUSED.items():
        print(f"excused: {name} of {package}: {why}")
    wrong = judge(found)
    print("\n".join(wrong) or f"{len(found['dependencies'])} packages: nothing else is known")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
