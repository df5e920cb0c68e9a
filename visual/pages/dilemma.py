"""The page "One-hot dilemma": one node, its draws, and a small world that shows who cheats."""

import functools
import html
import importlib
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import gradio as gr

from rheo import scenario
from rheo.errors import RheoError
from rheo.node import Draw, Node
from visual import acceptance, band, curve, plan, stepper, verdicts
from visual import strings_dilemma as strings

HOST = Path(__file__).parents[1] / "host"
SCRIPTS = ("dilemma.js", "dilemma_address.js")  # one scope
WORLD, ROUND = "world", "round"  # scenarios
RULES = ("rheo", "rheo-rrsw", "topk")
PLAYED = ("rheo", "rheo-rrsw", "topk", "naive", "token-ties", "fillers-first")
CHUNKS = 40  # looks at a simulation, `scenario.CHUNK` rounds each
SEEDS = 1_000_000
IDLE = 1800  # seconds until an idle visitor is forgotten


@dataclass
class Session:
    """What a visitor has on the server: the epoch moves on when a simulation is to end."""

    epoch: int = 0


load = functools.cache(scenario.load)


def build() -> None:
    """The page, inside the caller's Blocks."""
    session = gr.State(Session(), time_to_live=IDLE)
    viewer = gr.HTML(
        json.dumps(opened(scenario.names("node")[0], boxes=True)),
        html_template=template(),
        js_on_load="\n".join((HOST / name).read_text(encoding="utf-8") for name in SCRIPTS),
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
    words = {key: html.escape(word) for key, word in strings.DILEMMA.items()}
    notes = {"band_note": strings.BAND_NOTE, "dial_note": strings.DIAL_NOTE}
    page = Template((HOST / "dilemma.html").read_text(encoding="utf-8"))
    return page.substitute(words, legend=acceptance.legend(), lines=curve.legend(), **notes)


def common() -> dict[str, Any]:
    """What the script knows from the start."""

    def named(names: tuple[str, ...]) -> list[tuple[str, str]]:
        return [(name, strings.RULES[name]) for name in names]

    return {
        "words": strings.DILEMMA,
        "presets": [(name, load(name)["title"]) for name in scenario.names("node")],
        "rules": {"node": named(RULES), "world": named(PLAYED)},
        "world": {name: load(WORLD)["params"][name] for name in ("m", "T", "R")},
    }


# One node


def opened(name: str, boxes: bool = False) -> dict[str, Any]:
    """A situation with its shipped results."""
    known = load(name)
    node = Node.from_dict(known["result"]["node"])
    views = shown(node, _shipped(known, "rheo"), known)
    parts = ("name", "tokens", "p", "q", "m", "K", "T", "seed", "note")
    message = {"type": "preset", **{part: known[part] for part in parts}, "views": views}
    if boxes:
        world, round = load(WORLD)["result"], load(ROUND)["result"]
        message["boxes"] = {
            "verdicts": verdicts.table(world["verdicts"]),
            "curves": curve.curves(world["curves"]),
            "honest": honest(round["verdicts"]),
            "bands": _bands(world["played"].items(), pair_law(load(WORLD)["world"])),
            "play-state": strings.SHIPPED,
            "survey-state": strings.SHIPPED_WORLD,
            "sweep-state": strings.SHIPPED,
        }
    return message


def _shipped(known: dict[str, Any], rule: str) -> Draw:
    return Draw(**known["result"]["draws"][rule])


def shown(node: Node, draw: Draw, known: dict[str, Any]) -> dict[str, Any]:
    """All views of a node and a draw."""
    top = set(node.order[: node.m])
    return {
        "sentence": acceptance.sentence(node, known["name"] == "paper"),
        "stacks": acceptance.stacks(node),
        "plans": plan.plans(node, known["tokens"]),
        "steps": stepper.steps(node, draw, known["tokens"]),
        "rows": [
            {
                "mark": "deterministic" if t in top else "tail",
                "tilde": f"{100 * node.q_tilde[t]:.1f}" if t not in top else "",
                "tempered": node.p[t],
            }
            for t in range(len(node.p))
        ],
    }


def pair_law(world: dict[str, Any]) -> list[float]:
    """The target's law of two words in a scenario's world, at T = 1."""
    p = world["p"]
    return [x * y for first, x in enumerate(p[""]) for y in p[str(first)]]


def _bands(played: Iterable[tuple[str, list[int]]], law: list[float]) -> str:
    return "".join(band.chart(name, counts, law) for name, counts in played)


def honest(rows: list[dict[str, Any]]) -> str:
    """The round where RRSw is ahead: a sentence and its lossless strategies."""
    lossless = [row for row in rows if row["lossless"]]
    got = {row["strategy"]: row["expected_accepted"] for row in lossless}
    gap = got["rheo-rrsw"] - got["rheo"]
    said = strings.HONEST.format(
        rrsw=f"{got['rheo-rrsw']:.3f}", rheo=f"{got['rheo']:.3f}", gap=f"{gap:.3f}"
    )
    return f'<p class="dl-lead">{said}</p><div class=dl-scroll>{verdicts.table(lossless)}</div>'


def _ask(event: gr.EventData) -> Any:
    """Another situation, or new numbers. What the browser sends is checked: anybody can send."""
    if getattr(event, "what", None) == "warm":
        importlib.import_module("rheo.survey")
        return gr.skip()
    n, name = getattr(event, "n", None), getattr(event, "name", None)
    n = n if isinstance(n, int) else 0
    if name not in scenario.names("node"):
        return gr.skip()
    if getattr(event, "what", None) == "preset":
        return gr.update(reply=json.dumps({**opened(name), "at": time.time()}))
    try:
        views = asked(load(name), event)
    except RheoError as error:
        said = strings.UNUSABLE.format(error=error)
        return gr.update(reply=json.dumps({"type": "node", "n": n, "error": said}))
    return gr.update(reply=json.dumps({"type": "node", "n": n, "views": views}))


def asked(known: dict[str, Any], event: Any) -> dict[str, Any]:
    """The views of a learner's own numbers.

    Raises:
        RheoError: they are no node.
    """
    from rheo.transport import node, one_draw, tempered

    p, q = _masses(event, "p", known), _masses(event, "q", known)
    m, K = _whole(event, "m", 0, 63), _whole(event, "K", 1, 64)
    T, seed = _real(event, "T", 0.0, 2.0), _whole(event, "seed", 0, SEEDS)
    rule = getattr(event, "rule", None)
    if rule not in RULES:
        raise RheoError(f"there is no rule {str(rule)[:40]!r}.")
    at_T = tempered(p, T)
    made = node(at_T, q, m, K, T)
    return shown(made, one_draw(at_T, q, m, K, T, rule, scenario.uniforms(seed)), known)


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


def _halt(session: Session) -> None:
    session.epoch += 1


def _work(event: gr.EventData, session: Session) -> Iterator[Any]:
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

    from rheo.params import DecodeParams
    from rheo.worlds import random_world

    world, params = scenario.world_of(load(WORLD))
    if getattr(event, "seed", None) is not None:
        generator = torch.Generator().manual_seed(_whole(event, "seed", 0, SEEDS))
        world = random_world(generator, world.vocab, params.depth, 1.2, ties=True)
    changed = {name: _whole(event, name, 0, 64) for name in ("m", "R")}
    changed["T"] = _real(event, "T", 0.05, 2.0)
    return world, DecodeParams(**{**params.as_dict(), **changed})


def surveyed(event: Any, session: Session) -> Iterator[dict[str, Any]]:
    """The table, a row at a time."""
    from rheo.survey import ROWS, survey

    began, rows = time.perf_counter(), []
    for row in survey(*world_of(event)):
        rows.append(row.as_dict())
        state = strings.SURVEYING.format(done=len(rows), all=len(ROWS))
        yield {"html": verdicts.table(rows), "state": state}
    state = strings.SURVEYED.format(all=len(rows), seconds=time.perf_counter() - began)
    yield {"html": verdicts.table(rows), "state": state, "over": True}


def swept(event: Any, session: Session) -> Iterator[dict[str, Any]]:
    """The curves, a point at a time."""
    from rheo.survey import curves, values

    world, params = world_of(event)
    every, points = sum(len(v) for v in values(params).values()), []
    for point in curves(world, params):
        points.append(point)
        yield {"html": "", "state": strings.SWEEPING.format(done=len(points), all=every)}
    yield {"html": curve.curves(points), "state": "", "over": True}


def played(event: Any, session: Session) -> Iterator[dict[str, Any]]:
    """Two strategies played side by side until the end, or until this visitor stops them."""
    from rheo.simulate import tally
    from rheo.survey import ROWS
    from rheo.worlds import joint_law, tables

    session.epoch += 1
    epoch, names = session.epoch, [getattr(event, side, None) for side in ("left", "right")]
    if not all(name in PLAYED for name in names):
        raise RheoError(f"Choose two of {', '.join(PLAYED)}.")
    world, params = world_of(event)
    table = tables(world, params.depth)
    law = joint_law(table, params.T).flatten().tolist()
    began = time.perf_counter()
    both = [tally(table, params, ROWS[name], scenario.CHUNK, CHUNKS) for name in names]
    for done, counts in enumerate(zip(*both, strict=True), start=1):
        pairs = [(name, c.tolist()) for name, c in zip(names, counts, strict=True)]
        over = done == CHUNKS or session.epoch != epoch
        rounds = done * scenario.CHUNK
        speed = 2 * rounds / math.fsum([time.perf_counter() - began, 1e-9])
        state = strings.PLAYED.format(rounds=rounds, speed=speed, seed=params.seed)
        yield {"html": _bands(pairs, law), "state": state, "over": over}
        if over:
            return
