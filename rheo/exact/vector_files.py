"""Audit files of small worlds: one JSON object a line (`python -m rheo audit`)."""

import json
from collections.abc import Iterator
from pathlib import Path

import torch

from rheo.algorithm.budget import ALL, Budget
from rheo.errors import RheoError
from rheo.exact.audit import audit
from rheo.exact.worlds import World
from rheo.json_object import JsonObject
from rheo.params import DecodeParams

# the vectors' short names -> (strategy, probes, ties)
NAMES: dict[str, tuple[str, int, str]] = {
    **{name: (name, 1, "structure") for name in ("topk", "rheo", "naive", "rheo-rrsw")},
    "rrsw": ("rheo-rrsw", 1, "structure"),
    "rheo2": ("rheo-multi", 2, "structure"),
    "rheo-multi": ("rheo-multi", 2, "structure"),
    "rheo_token_ties": ("rheo", 1, "token"),
    # biased budgets, of which a file has the total variation alone
    "control:cost-look-ahead": ("rheo", 1, "structure"),
    "control:grow-by-sum": ("rheo", 1, "structure"),
}


def audit_case(case: JsonObject) -> JsonObject:
    """Audit one line of a vectors file: `world`, `params`, the strategies named in `expected`.

    A name such as "rheo+cost" is a strategy under a budget, whose numbers are in its entry.
    """
    try:
        given = {k: v for k, v in case["params"].items() if k != "beam"}
        if case["params"].get("beam", given["K"]) != given["K"]:
            raise RheoError("The beam is K here: a case with another beam cannot be audited.")
        world, out = World.from_json(case["world"]), {"id": case["id"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise RheoError(f"This line is not a case: it lacks {error}.") from None
    entries = case.get("expected") or ("topk", "rrsw", "rheo")
    for name in entries:
        short = name.split("+")[0]
        if short not in NAMES:
            raise RheoError(f"There is no strategy {name!r}: choose from {', '.join(NAMES)}.")
        strategy, probes, ties = NAMES[short]
        params = DecodeParams(strategy=strategy, probes=probes, **given)
        budget = _budget(entries[name]) if isinstance(entries, dict) else ALL
        out[name] = audit(world, params, ties=ties, budget=budget).as_dict()
    return out


def _budget(entry: JsonObject) -> Budget:
    """Return the budget that an entry names.

    Raises:
        RheoError: its form is another.
    """
    try:
        pruning = entry.get("budget") or {}
        kind, cost = pruning.get("kind"), pruning.get("cost")
        return Budget(
            theta=float(pruning["theta"]) if kind == "threshold" else 0.0,
            cost=torch.tensor(cost, dtype=torch.float64) if kind != "threshold" and cost else None,
            grow_min=float(entry.get("grow_min", 0.0)),
            look_ahead=kind == "look-ahead",
            grow_sum=float(entry.get("grow_sum", 0.0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RheoError(f"This entry has no budget: {type(error).__name__}: {error}.") from None


def audit_file(path: Path | str) -> Iterator[JsonObject]:
    """Yield `audit_case` of each line of a .jsonl file."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RheoError(f"{path} could not be read: {error}.") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise RheoError(f"Line {number} of {path} is not JSON: {error}.") from None
        yield audit_case(case)
