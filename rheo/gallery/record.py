"""Record the shipped gallery: runs that show one thing each, found by criterion.

`assets/gallery.json` lists groups. The runs of a group share prompt and seed, hence the context and
the uniforms of their first round: that round is compared, one seed after the other, until the
group's criterion (`rheo.gallery.criteria`) is met; where it can be met more or less, the best is
kept. A group of one run is looked through whole.
"""

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rheo.decoding.engine import Engine
from rheo.errors import RheoError
from rheo.gallery.criteria import CRITERIA, Found
from rheo.gallery.listing import (
    GalleryEntry,
    GalleryGroup,
    GalleryRun,
    read_groups,
    read_index,
    write_index,
)
from rheo.models.hub.catalogue import ASSETS
from rheo.params import DecodeParams
from rheo.trace.io import save
from rheo.trace.schema import Run

SPEC = ASSETS / "gallery.json"
_Candidates = list[tuple[GalleryRun, Run, Found]]  # what the list says of a run, it, its round


def record(engine: Engine, out: Path, only: str | None = None, spec: Path = SPEC) -> Iterator[str]:
    """Find, record and save the runs of `spec`; yield a line about each.

    A group's runs are written before their place in the index.

    Args:
        only: the name of a run; its group alone is recorded, and the rest of the index kept.

    Raises:
        RheoError: `spec` is broken, no run has that name, or no seed meets a group's criterion.
    """
    groups = read_groups(spec)
    names = [run.name for group in groups for run in group.runs]
    if only is not None and only not in names:
        raise RheoError(f"The gallery has no run {only!r}: choose one of {', '.join(names)}.")
    index = {entry.name: entry for entry in read_index(out)} if only else {}
    for group in groups:
        if only and only not in [run.name for run in group.runs]:
            continue
        found_runs = _find(engine, group)
        for wanted, run, found in found_runs:
            save(run, out / f"{wanted.name}.json.gz")
            index[wanted.name] = GalleryEntry(
                name=wanted.name,
                title=wanted.title,
                sentence=wanted.sentence,
                round=found.round,
            )
        # a recording that is stopped leaves an index of what there is
        write_index(out, [index[name] for name in names if name in index])
        for wanted, run, _ in found_runs:
            yield f"{wanted.name} (seed {run.params['seed']}): {run.note}"


def _find(engine: Engine, group: GalleryGroup) -> _Candidates:
    """Return a group's runs at the first seed that meets its criterion in full, or the best."""
    alone = len(group.runs) == 1
    best: _Candidates | None = None
    for seed in range(group.seeds):
        found = _at_seed(engine, group, seed, rounds=None if alone else 1)
        if found and (best is None or found[0][2].score > best[0][2].score):
            best = found
            if best[0][2].score >= 1:
                break
    if best is None:
        names = " and ".join(run.name for run in group.runs)
        raise RheoError(f"None of {group.seeds} seeds is good for {names}: allow more of them.")
    whole = best if alone else _at_seed(engine, group, best[0][1].params["seed"])
    if whole is None:  # a first round that comes out otherwise the second time
        raise RheoError("The same seed gave another run: record the gallery on an idle machine.")
    return whole


def _at_seed(
    engine: Engine, group: GalleryGroup, seed: int, rounds: int | None = None
) -> _Candidates | None:
    """Return a group's runs (their first `rounds`), None if they are not what is wanted."""

    @functools.cache  # a criterion that fails at the first run costs no second one
    def run(at: int) -> Run:
        params = {"seed": seed, **group.params, **group.runs[at].params}
        return _decode(engine, group.prompt, DecodeParams.from_dict(params), rounds)

    if group.wanted not in CRITERIA:
        raise RheoError(
            f"There is no criterion {group.wanted!r}: choose one of {', '.join(CRITERIA)}."
        )
    found = CRITERIA[group.wanted](run)
    if found is None:
        return None
    return [
        (wanted, replace(run(at), note=found[at].note(wanted.note)), found[at])
        for at, wanted in enumerate(group.runs)
    ]


def _decode(engine: Engine, prompt: str, params: DecodeParams, rounds: int | None) -> Run:
    """Decode a prompt, or its first `rounds`."""
    decoding = engine.decode(prompt, params)
    for decoded in decoding:
        if rounds is not None and decoded.index + 1 >= rounds:
            break
    decoding.close()
    return engine.record(decoding, prompt)
