"""The dilemma page's small worlds: enumerate one, sweep its parameters, or play rounds in it.

A job yields messages, one a step; it works on a world small enough to be done while a reader waits.
"""

import functools
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.exact import scenarios
from visual.dilemma import audit_table, confidence_band, curves
from visual.pages.node_request import PlayRequest, WorldRequest
from visual.words import one_hot

WORLD, ROUND = "world", "round"  # scenarios
CHUNKS = confidence_band.LOOKS  # at a simulation, `scenarios.CHUNK` rounds each
load = functools.cache(scenarios.load)


@dataclass
class DilemmaVisitor:
    """What a visitor has on the server: the epoch moves on when a simulation is to end."""

    epoch: int = 0


def shipped() -> dict[str, Any]:
    """Return what the boxes of the page open with: results computed before."""
    world, round = load(WORLD)["result"], load(ROUND)["result"]
    return {
        "verdicts": audit_table.table(world["verdicts"]),
        "curves": curves.curves(world["curves"]),
        "honest": honest(round["verdicts"]),
        "bands": _bands(world["played"].items(), pair_distribution(load(WORLD)["world"])),
        "play-state": one_hot.SHIPPED,
        "survey-state": one_hot.SHIPPED_WORLD,
        "sweep-state": one_hot.SHIPPED,
    }


def pair_distribution(world: dict[str, Any]) -> list[float]:
    """Return the target's distribution of two words in a scenario's world, at T = 1."""
    p = world["p"]
    return [x * y for first, x in enumerate(p[""]) for y in p[str(first)]]


def _bands(played: Iterable[tuple[str, list[int]]], target: list[float]) -> str:
    return "".join(confidence_band.chart(name, counts, target) for name, counts in played)


def honest(rows: list[dict[str, Any]]) -> str:
    """Return the round where RRSw is ahead: a sentence and its lossless strategies."""
    lossless = [row for row in rows if row["lossless"]]
    got = {row["strategy"]: row["expected_accepted"] for row in lossless}
    gap = got["rheo-rrsw"] - got["rheo"]
    said = one_hot.HONEST.format(
        rrsw=f"{got['rheo-rrsw']:.3f}", rheo=f"{got['rheo']:.3f}", gap=f"{gap:.3f}"
    )
    name = one_hot.DILEMMA["tab_honest"]
    return (
        f'<p class="dl-lead">{said}</p>'
        f'<div class="dl-scroll" tabindex="0" role="group" aria-label="{name}">'
        f"{audit_table.table(lossless)}</div>"
    )


def halt(session: DilemmaVisitor) -> None:
    """End this visitor's simulation at its next look."""
    session.epoch += 1


def work(event: gr.EventData, session: DilemmaVisitor) -> Iterator[Any]:
    """Yield the messages of the job that the event names, or one sentence on what is wrong."""
    what, n = getattr(event, "what", None), getattr(event, "n", None)
    jobs = {"survey": surveyed, "sweep": swept, "play": played}
    if what not in jobs or type(n) is not int:
        return
    stamp = {"type": "work", "what": what, "n": n}
    try:
        for message in jobs[what](event, session):
            yield gr.update(stream=json.dumps({**stamp, **message}))
    except RheoError as error:
        failed = {"over": True, "html": "", "state": str(error)}
        yield gr.update(stream=json.dumps({**stamp, **failed}))


def world_of(asked: WorldRequest) -> tuple[Any, Any]:
    """Return the world that is meant (`worlds.World`) and its parameters (`DecodeParams`)."""
    import torch

    from rheo.exact.worlds import random_world
    from rheo.params import DecodeParams

    world, params = scenarios.world_of(load(WORLD))
    if asked.seed is not None:
        generator = torch.Generator().manual_seed(asked.seed)
        world = random_world(generator, world.vocab, params.depth, 1.2, ties=True)
    changed = {"m": asked.m, "R": asked.R, "T": asked.T}
    return world, DecodeParams(**{**params.as_dict(), **changed})


def surveyed(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """Yield the table, a row at a time."""
    from rheo.exact.comparison import ROWS, survey

    began, rows = time.perf_counter(), []
    for row in survey(*world_of(WorldRequest.read(event))):
        rows.append(row.as_dict())
        state = one_hot.SURVEYING.format(done=len(rows), all=len(ROWS))
        yield {"html": audit_table.table(rows), "state": state}
    state = one_hot.SURVEYED.format(all=len(rows), seconds=time.perf_counter() - began)
    yield {"html": audit_table.table(rows), "state": state, "over": True}


def swept(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """Yield how far the sweep is, a point at a time, and at its end the curves."""
    from rheo.exact.comparison import curves as points_of
    from rheo.exact.comparison import values

    world, params = world_of(WorldRequest.read(event))
    every, points = sum(len(v) for v in values(params).values()), []
    for point in points_of(world, params):
        points.append(point)
        yield {"html": "", "state": one_hot.SWEEPING.format(done=len(points), all=every)}
    yield {"html": curves.curves(points), "state": "", "over": True}


def played(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """Play two strategies side by side until the end, or until this visitor stops them."""
    from rheo.exact.comparison import ROWS
    from rheo.exact.monte_carlo import tally
    from rheo.exact.worlds import joint_distribution, tables

    session.epoch += 1
    epoch, asked = session.epoch, PlayRequest.read(event)
    world, params = world_of(asked)
    table, names = tables(world, params.depth), (asked.left, asked.right)
    target = joint_distribution(table, params.T).flatten().tolist()
    began = time.perf_counter()
    both = [tally(table, params, ROWS[name], scenarios.CHUNK, CHUNKS) for name in names]
    for done, counts in enumerate(zip(*both, strict=True), start=1):
        pairs = [(name, c.tolist()) for name, c in zip(names, counts, strict=True)]
        over = done == CHUNKS or session.epoch != epoch
        rounds = done * scenarios.CHUNK
        speed = 2 * rounds / math.fsum([time.perf_counter() - began, 1e-9])
        state = one_hot.PLAYED.format(rounds=rounds, speed=speed, seed=params.seed)
        yield {"html": _bands(pairs, target), "state": state, "over": over}
        if over:
            return
