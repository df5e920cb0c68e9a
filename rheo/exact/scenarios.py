"""Scenarios of the one-hot dilemma: data files whose results are computed once and shipped.

`python -m rheo.exact.scenarios` computes the results of every file anew. A file holds what a
person wrote and, under "result", what `compute` made of it, so that a page can show it before
torch is loaded.
"""

import json
import random
from pathlib import Path
from typing import Any

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.trace.io import loads, to_json
from rheo.trace.schema import Run

FOLDER = Path(__file__).parents[2] / "assets" / "scenarios"
_KINDS = ("node", "world")
_PLAYED = ("rheo", "naive")  # the strategies whose shipped rounds a page opens with
_STEPS = 10**9
CHUNK = 10_000  # rounds played at a time


def load(name: str) -> JsonObject:
    """Return one scenario by its file's name."""
    path = FOLDER / f"{name}.json"
    try:
        return {"name": name, **json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError) as error:
        raise RheoError(f"The scenario {name} could not be read: {error}.") from None


def names(kind: str) -> list[str]:
    """Return the names of a kind's scenarios, in their files' own order."""
    found = [load(path.stem) for path in sorted(FOLDER.glob("*.json"))]
    found = [scenario for scenario in found if scenario["kind"] == kind]
    return [s["name"] for s in sorted(found, key=lambda s: (s["place"], s["name"]))]


def shipped_draw(scenario: JsonObject, rule: str) -> Run:
    """Return the draw at a scenario's node that its file ships: a run of one round.

    Raises:
        RheoError: the file holds no such round, or one that could not have happened.
    """
    return loads(json.dumps(scenario["result"]["draws"][rule]).encode())


def uniforms(seed: int) -> tuple[float, float, float]:
    """Return the uniforms of a draw at a node: the probe's, its test's, of the draw that follows.

    Each is a multiple of 1e-9, as all of a trace's are.

    >>> uniforms(1) == uniforms(1), all(0 <= u < 1 for u in uniforms(2))
    (True, True)
    """
    generator = random.Random(seed)

    def uniform() -> float:
        return int(generator.random() * _STEPS) / _STEPS

    return uniform(), uniform(), uniform()


def compute(scenario: JsonObject) -> JsonObject:
    """Return the results of a scenario, from its own numbers alone."""
    if scenario["kind"] == "node":
        return _node(scenario)
    from rheo.exact.comparison import ROWS, curves, survey
    from rheo.exact.monte_carlo import tally
    from rheo.exact.worlds import tables

    world, params = world_of(scenario)
    table = tables(world, params.depth)
    played = {name: [*tally(table, params, ROWS[name], CHUNK, 10)][-1] for name in _PLAYED}
    return {
        "verdicts": [row.as_dict() for row in survey(world, params)],
        "curves": list(curves(world, params)),
        "played": {name: counts.tolist() for name, counts in played.items()},
    }


def world_of(scenario: JsonObject) -> tuple[Any, Any]:
    """Return the world (`worlds.World`, p untempered) and the parameters of a scenario."""
    from rheo.exact.worlds import World
    from rheo.params import DecodeParams

    return World.from_json(scenario["world"]), DecodeParams(**scenario["params"])


def _node(scenario: JsonObject) -> JsonObject:
    from rheo.exact.transport import RULES, node, one_draw, tempered

    q, slots = scenario["q"], (scenario["m"], scenario["K"], scenario["T"])
    p = tempered(scenario["p"], scenario["T"])
    drawn = uniforms(scenario["seed"]), scenario["tokens"]
    return {
        "node": node(p, q, *slots).as_dict(),
        "draws": {rule: to_json(one_draw(p, q, *slots, rule, *drawn)) for rule in RULES},
    }


def write(name: str) -> None:
    """Compute a scenario's results into its file: one line under what a person wrote."""
    scenario = load(name)
    written = {key: scenario[key] for key in scenario if key not in ("name", "result")}
    result = json.dumps(compute(scenario), ensure_ascii=False, separators=(",", ":"))
    text = json.dumps(written, ensure_ascii=False, indent=1).removesuffix("\n}")
    (FOLDER / f"{name}.json").write_text(f'{text},\n "result": {result}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    for kind in _KINDS:
        for name in names(kind):
            write(name)
