"""The shipped gallery: runs that show one thing each, found by criterion and recorded.

`assets/gallery.json` lists groups. The runs of a group share prompt and seed, hence the context and
the uniforms of their first round: that round is compared, one seed after the other, until the
group's criterion (`rheo.gallery.criteria`) is met; where it can be met more or less, the best is
kept. A group of one run is looked through whole.
"""

import functools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.gallery.criteria import CRITERIA, INDEX, Found, read_index
from rheo.params import DecodeParams
from rheo.trace.io import save
from rheo.trace.schema import Run

SPEC = Path(__file__).parents[2] / "assets" / "gallery.json"
Judged = list[tuple[dict[str, Any], Run, Found]]  # what the list says of a run, it, its round


def record(engine: Engine, out: Path, only: str | None = None, spec: Path = SPEC) -> Iterator[str]:
    """Find, record and save the runs of `spec`; yield a line about each. `INDEX` comes last.

    Args:
        only: the name of a run; its group alone is recorded, and the rest of the index kept.

    Raises:
        RheoError: no run has that name, or no seed of a group meets its criterion.
    """
    groups = json.loads(spec.read_text(encoding="utf-8"))
    names = [run["name"] for group in groups for run in group["runs"]]
    if only is not None and only not in names:
        raise RheoError(f"The gallery has no run {only!r}: choose one of {', '.join(names)}.")
    index = {entry["name"]: entry for entry in read_index(out)} if only else {}
    for group in groups:
        if only and only not in [run["name"] for run in group["runs"]]:
            continue
        for about, run, found in _find(engine, group):
            save(run, out / f"{about['name']}.json.gz")
            shown = {key: about[key] for key in ("name", "title", "sentence")}
            index[about["name"]] = {**shown, "round": found.round}
            yield f"{about['name']} (seed {run.params['seed']}): {run.note}"
    text = json.dumps([index[n] for n in names if n in index], indent=2, ensure_ascii=False)
    (out / INDEX).write_text(text + "\n", encoding="utf-8")


def _find(engine: Engine, group: dict[str, Any]) -> Judged:
    """The runs of a group at the first seed that meets its criterion in full, else at the best."""
    alone = len(group["runs"]) == 1
    best: Judged | None = None
    for seed in range(group["seeds"]):
        judged = _judge(engine, group, seed, rounds=None if alone else 1)
        if judged and (best is None or judged[0][2].score > best[0][2].score):
            best = judged
            if best[0][2].score >= 1:
                break
    if best is None:
        names = " and ".join(run["name"] for run in group["runs"])
        raise RheoError(f"None of {group['seeds']} seeds is good for {names}: allow more of them.")
    whole = best if alone else _judge(engine, group, best[0][1].params["seed"])
    if whole is None:  # a first round that comes out otherwise the second time
        raise RheoError("The same seed gave another run: record the gallery on an idle machine.")
    return whole


def _judge(
    engine: Engine, group: dict[str, Any], seed: int, rounds: int | None = None
) -> Judged | None:
    """The group's runs (their first `rounds`), None if they are not what is wanted."""

    @functools.cache  # a criterion that fails at the first run costs no second one
    def run(at: int) -> Run:
        params = {"seed": seed, **group["params"], **group["runs"][at]["params"]}
        return _decode(engine, group["prompt"], DecodeParams(**params), rounds)

    found = CRITERIA[group["wanted"]](run)
    if found is None:
        return None
    return [
        (about, replace(run(at), note=found[at].told(about["note"])), found[at])
        for at, about in enumerate(group["runs"])
    ]


def _decode(engine: Engine, prompt: str, params: DecodeParams, rounds: int | None) -> Run:
    decoding = engine.decode(prompt, params)
    for decoded in decoding:
        if rounds is not None and decoded.index + 1 >= rounds:
            break
    decoding.close()
    return engine.record(decoding, prompt)
