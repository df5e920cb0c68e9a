"""The page "One-hot dilemma": one node, its draws, and a small world that shows who cheats."""

import functools
import html
import importlib
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import Template
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.exact.coupling import Draw, OneNode
from visual.browser import component, source_files
from visual.dilemma import (
    acceptance,
    audit_table,
    confidence_band,
    draw_steps,
    transport_plan,
)
from visual.dilemma import (
    curves as curve,
)
from visual.words import one_hot

WORLD, ROUND = "world", "round"  # scenarios
_RULES = ("rheo", "rheo-rrsw", "topk")
_PLAYED = ("rheo", "rheo-rrsw", "topk", "naive", "token-ties", "fillers-first")
CHUNKS = 40  # looks at a simulation, `scenario.CHUNK` rounds each
_SEEDS = 1_000_000
_IDLE = 1800  # seconds until an idle visitor is forgotten


@dataclass
class DilemmaVisitor:
    """What a visitor has on the server: the epoch moves on when a simulation is to end."""

    epoch: int = 0


load = functools.cache(scenarios.load)


def build() -> None:
    """The page, inside the caller's Blocks."""
    session = gr.State(DilemmaVisitor(), time_to_live=_IDLE)
    viewer = gr.HTML(
        json.dumps(opened(scenarios.names("node")[0], boxes=True)),
        html_template=template(),
        js_on_load=component.script("dilemma/dilemma_page.js"),
        elem_id="dilemma",
        apply_default_css=False,
        common=json.dumps(common()),
        reply="",
        stream="",
    )
    quick = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    viewer.ask(_ask, None, viewer, trigger_mode="multiple", **quick)
    viewer.halt(_halt, session, None, **quick)
    viewer.work(
        _work,
        session,
        viewer,
        concurrency_id="small worlds",
        concurrency_limit=2,
        show_progress="hidden",
        trigger_mode="multiple",
        api_visibility="private",
    )


def template() -> str:
    """dilemma.html with its words."""
    words = {key: html.escape(word) for key, word in one_hot.DILEMMA.items()}
    notes = {"band_note": one_hot.BAND_NOTE, "dial_note": one_hot.DIAL_NOTE}
    page = Template(source_files.text("dilemma.html"))
    return page.substitute(words, legend=acceptance.legend(), lines=curve.legend(), **notes)


def common() -> dict[str, Any]:
    """What the script knows from the start."""

    def named(names: tuple[str, ...]) -> list[tuple[str, str]]:
        return [(name, one_hot.RULE_NAMES[name]) for name in names]

    return {
        "words": one_hot.DILEMMA,
        "presets": [(name, load(name)["title"]) for name in scenarios.names("node")],
        "rules": {"node": named(_RULES), "world": named(_PLAYED)},
        "world": {name: load(WORLD)["params"][name] for name in ("m", "T", "R")},
    }


# One node


def opened(name: str, boxes: bool = False) -> dict[str, Any]:
    """A situation with its shipped results."""
    known = load(name)
    node = OneNode.from_dict(known["result"]["node"])
    views = shown(node, _shipped(known, "rheo"), known)
    parts = ("name", "tokens", "p", "q", "m", "K", "T", "seed", "note")
    message = {"type": "preset", **{part: known[part] for part in parts}, "views": views}
    if boxes:
        world, round = load(WORLD)["result"], load(ROUND)["result"]
        message["boxes"] = {
            "verdicts": audit_table.table(world["verdicts"]),
            "curves": curve.curves(world["curves"]),
            "honest": honest(round["verdicts"]),
            "bands": _bands(world["played"].items(), pair_distribution(load(WORLD)["world"])),
            "play-state": one_hot.SHIPPED,
            "survey-state": one_hot.SHIPPED_WORLD,
            "sweep-state": one_hot.SHIPPED,
        }
    return message


def _shipped(known: dict[str, Any], rule: str) -> Draw:
    return Draw(**known["result"]["draws"][rule])


def shown(node: OneNode, draw: Draw, known: dict[str, Any]) -> dict[str, Any]:
    """All views of a node and a draw."""
    top = set(node.order[: node.m])
    return {
        "sentence": acceptance.sentence(node, known["name"] == "paper"),
        "stacks": acceptance.stacks(node),
        "plans": transport_plan.plans(node, known["tokens"]),
        "steps": draw_steps.steps(node, draw, known["tokens"]),
        "rows": [
            {
                "mark": "deterministic" if t in top else "tail",
                "tilde": f"{100 * node.q_tilde[t]:.1f}" if t not in top else "",
                "tempered": node.p[t],
            }
            for t in range(len(node.p))
        ],
    }


def pair_distribution(world: dict[str, Any]) -> list[float]:
    """The target's law of two words in a scenario's world, at T = 1."""
    p = world["p"]
    return [x * y for first, x in enumerate(p[""]) for y in p[str(first)]]


def _bands(played: Iterable[tuple[str, list[int]]], law: list[float]) -> str:
    return "".join(confidence_band.chart(name, counts, law) for name, counts in played)


def honest(rows: list[dict[str, Any]]) -> str:
    """The round where RRSw is ahead: a sentence and its lossless strategies."""
    lossless = [row for row in rows if row["lossless"]]
    got = {row["strategy"]: row["expected_accepted"] for row in lossless}
    gap = got["rheo-rrsw"] - got["rheo"]
    said = one_hot.HONEST.format(
        rrsw=f"{got['rheo-rrsw']:.3f}", rheo=f"{got['rheo']:.3f}", gap=f"{gap:.3f}"
    )
    return f'<p class="dl-lead">{said}</p><div class=dl-scroll>{audit_table.table(lossless)}</div>'


def _ask(event: gr.EventData) -> Any:
    """Another situation, or new numbers. What the browser sends is checked: anybody can send."""
    if getattr(event, "what", None) == "warm":
        importlib.import_module("rheo.exact.comparison")
        return gr.skip()
    n, name = getattr(event, "n", None), getattr(event, "name", None)
    n = n if isinstance(n, int) else 0
    if name not in scenarios.names("node"):
        return gr.skip()
    if getattr(event, "what", None) == "preset":
        return gr.update(reply=json.dumps({**opened(name), "at": time.time()}))
    try:
        views = asked(load(name), event)
    except RheoError as error:
        said = one_hot.UNUSABLE.format(error=error)
        return gr.update(reply=json.dumps({"type": "node", "n": n, "error": said}))
    return gr.update(reply=json.dumps({"type": "node", "n": n, "views": views}))


def asked(known: dict[str, Any], event: Any) -> dict[str, Any]:
    """The views of a learner's own numbers.

    Raises:
        RheoError: they are no node.
    """
    from rheo.exact.transport import node, one_draw, tempered

    p, q = _masses(event, "p", known), _masses(event, "q", known)
    m, K = _whole(event, "m", 0, 63), _whole(event, "K", 1, 64)
    T, seed = _real(event, "T", 0.0, 2.0), _whole(event, "seed", 0, _SEEDS)
    rule = getattr(event, "rule", None)
    if rule not in _RULES:
        raise RheoError(f"there is no rule {str(rule)[:40]!r}.")
    at_T = tempered(p, T)
    made = node(at_T, q, m, K, T)
    return shown(made, one_draw(at_T, q, m, K, T, rule, scenarios.uniforms(seed)), known)


def _masses(event: Any, name: str, known: dict[str, Any]) -> list[float]:
    values = getattr(event, name, None)
    if not isinstance(values, list) or len(values) != len(known["tokens"]):
        raise RheoError(f"{name} needs {len(known['tokens'])} numbers.")
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in values):
        raise RheoError(f"{name} needs numbers.")
    return [float(x) for x in values]


def _real(event: Any, name: str, low: float, high: float) -> float:
    value = getattr(event, name, None)
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise RheoError(f"{name} must be a number from {low:g} to {high:g}.")
    return float(value)


def _whole(event: Any, name: str, low: int, high: int) -> int:
    value = _real(event, name, low, high)
    if value % 1:
        raise RheoError(f"{name} must be a whole number.")
    return int(value)


# The small world


def _halt(session: DilemmaVisitor) -> None:
    session.epoch += 1


def _work(event: gr.EventData, session: DilemmaVisitor) -> Iterator[Any]:
    """Enumerate, sweep or play a small world; one message a step."""
    what = getattr(event, "what", None)
    jobs = {"survey": surveyed, "sweep": swept, "play": played}
    if what not in jobs:
        return
    n = _whole(event, "n", 0, 1 << 31)
    try:
        for message in jobs[what](event, session):
            yield gr.update(stream=json.dumps({"type": "work", "what": what, "n": n, **message}))
    except RheoError as error:
        failed = {"type": "work", "what": what, "n": n, "over": True, "html": ""}
        yield gr.update(stream=json.dumps({**failed, "state": str(error)}))


def world_of(event: Any) -> tuple[Any, Any]:
    """The world that an event means, and its parameters: the shipped one, or one of a seed."""
    import torch

    from rheo.exact.worlds import random_world
    from rheo.params import DecodeParams

    world, params = scenarios.world_of(load(WORLD))
    if getattr(event, "seed", None) is not None:
        generator = torch.Generator().manual_seed(_whole(event, "seed", 0, _SEEDS))
        world = random_world(generator, world.vocab, params.depth, 1.2, ties=True)
    changed = {name: _whole(event, name, 0, 64) for name in ("m", "R")}
    changed["T"] = _real(event, "T", 0.05, 2.0)
    return world, DecodeParams(**{**params.as_dict(), **changed})


def surveyed(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """The table, a row at a time."""
    from rheo.exact.comparison import ROWS, survey

    began, rows = time.perf_counter(), []
    for row in survey(*world_of(event)):
        rows.append(row.as_dict())
        state = one_hot.SURVEYING.format(done=len(rows), all=len(ROWS))
        yield {"html": audit_table.table(rows), "state": state}
    state = one_hot.SURVEYED.format(all=len(rows), seconds=time.perf_counter() - began)
    yield {"html": audit_table.table(rows), "state": state, "over": True}


def swept(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """The curves, a point at a time."""
    from rheo.exact.comparison import curves, values

    world, params = world_of(event)
    every, points = sum(len(v) for v in values(params).values()), []
    for point in curves(world, params):
        points.append(point)
        yield {"html": "", "state": one_hot.SWEEPING.format(done=len(points), all=every)}
    yield {"html": curve.curves(points), "state": "", "over": True}


def played(event: Any, session: DilemmaVisitor) -> Iterator[dict[str, Any]]:
    """Two strategies played side by side until the end, or until this visitor stops them."""
    from rheo.exact.comparison import ROWS
    from rheo.exact.monte_carlo import tally
    from rheo.exact.worlds import joint_distribution, tables

    session.epoch += 1
    epoch, names = session.epoch, [getattr(event, side, None) for side in ("left", "right")]
    if not all(name in _PLAYED for name in names):
        raise RheoError(f"Choose two of {', '.join(_PLAYED)}.")
    world, params = world_of(event)
    table = tables(world, params.depth)
    law = joint_distribution(table, params.T).flatten().tolist()
    began = time.perf_counter()
    both = [tally(table, params, ROWS[name], scenarios.CHUNK, CHUNKS) for name in names]
    for done, counts in enumerate(zip(*both, strict=True), start=1):
        pairs = [(name, c.tolist()) for name, c in zip(names, counts, strict=True)]
        over = done == CHUNKS or session.epoch != epoch
        rounds = done * scenarios.CHUNK
        speed = 2 * rounds / math.fsum([time.perf_counter() - began, 1e-9])
        state = one_hot.PLAYED.format(rounds=rounds, speed=speed, seed=params.seed)
        yield {"html": _bands(pairs, law), "state": state, "over": over}
        if over:
            return
