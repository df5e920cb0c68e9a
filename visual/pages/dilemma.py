"""The page "One-hot dilemma": one node, one draw at it, and a small world that shows who cheats.

The draw is a run of one round, shown by the Playground's own viewer.
"""

import html
import importlib
import json
import time
from string import Template
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.exact.coupling import OneNode
from rheo.ranges import RANGES
from rheo.trace import io
from rheo.trace.schema import Run
from visual.browser import component, messages, source_files
from visual.dilemma import acceptance, confidence_band, curves, transport_plan
from visual.pages import small_worlds
from visual.pages.node_request import NODE_RULES, PLAYABLE, NodeRequest
from visual.pages.small_worlds import WORLD, DilemmaVisitor, load
from visual.round import slots
from visual.words import one_hot

_IDLE = 1800  # seconds until an idle visitor is forgotten
_KEY = "draw"  # the viewer's name of the only run there


def build() -> None:
    """Build the page inside the caller's Blocks."""
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
    viewer.halt(small_worlds.halt, session, None, **quick)
    viewer.work(
        small_worlds.work,
        session,
        viewer,
        concurrency_id="small worlds",
        concurrency_limit=2,
        show_progress="hidden",
        trigger_mode="multiple",
        api_visibility="private",
    )


def template() -> str:
    """Return dilemma.html with its words and the viewer's template in it."""
    words = {key: html.escape(word) for key, word in one_hot.DILEMMA.items()}
    band = one_hot.BAND_NOTE.format(looks=confidence_band.LOOKS)
    notes = {"band_note": band, "dial_note": one_hot.DIAL_NOTE}
    parts = {"legend": acceptance.legend(), "lines": curves.legend()}
    rows = (RANGES[name] for name in ("m", "K", "T"))  # m's and K's most follow the node
    ends = {
        f"{row.name}_ends": f'min="{row.least:g}" max="{row.most:g}" step="{row.step:g}"'
        for row in rows
    }
    page = Template(source_files.text("dilemma.html"))
    tree = component.template("dilemma", level=4)
    return page.substitute(words, **parts, **notes, **ends, viewer=tree)


def common() -> dict[str, Any]:
    """Return what the script knows from the start."""

    def named(names: tuple[str, ...]) -> list[tuple[str, str]]:
        return [(name, one_hot.RULE_NAMES[name]) for name in names]

    return {
        "words": one_hot.DILEMMA,
        "presets": [(name, load(name)["title"]) for name in scenarios.names("node")],
        "rules": {"node": named(NODE_RULES), "world": named(PLAYABLE)},
        "world": {name: load(WORLD)["params"][name] for name in ("m", "T", "R")},
        "drawing": messages.common(),
    }


def opened(name: str, boxes: bool = False) -> dict[str, Any]:
    """Return the message of a situation with its shipped results.

    Args:
        boxes: whether the small world's results come with it.
    """
    known = load(name)
    node = OneNode.from_dict(known["result"]["node"])
    views = shown(node, scenarios.shipped_draw(known, "rheo"), known)
    parts = ("name", "tokens", "p", "q", "m", "K", "T", "seed", "note")
    message = {"type": "preset", **{part: known[part] for part in parts}, "views": views}
    return {**message, "boxes": small_worlds.shipped()} if boxes else message


def shown(node: OneNode, run: Run, known: dict[str, Any]) -> dict[str, Any]:
    """Return all views of a node and of a draw at it."""
    top = set(node.order[: node.m])
    return {
        "sentence": acceptance.sentence(node, known["name"] == "paper"),
        "stacks": acceptance.stacks(node),
        "plans": transport_plan.plans(node, known["tokens"]),
        "draw": drawn(run),
        "rows": [
            {
                "mark": "deterministic" if t in top else "tail",
                "tilde": f"{100 * node.q_tilde[t]:.1f}" if t not in top else "",
                "tempered": node.p[t],
            }
            for t in range(len(node.p))
        ],
    }


def drawn(run: Run) -> dict[str, Any]:
    """Return the viewer's message of a draw, with every answer that the viewer may ask for."""
    round = run.rounds[0]
    message = messages.whole(_KEY, run, show=0, most=None)
    level = message["rounds"][0]["frames"][1]
    level |= {"sentence": slots.sentence(run, round), "card": slots.card(run, round)}
    panels = [messages.panel(run, round, node) for node in range(len(round.nodes))]
    panels[0]["figures"] = panels[0]["figures"][1:]  # the tree beside them shows the slots
    answers = {f"{_KEY}/0/{node}/panel": panel for node, panel in enumerate(panels)}
    return {**message, "answers": {**answers, f"{_KEY}/0/0/walk": {}}}


def _ask(event: gr.EventData) -> Any:
    """Answer with another situation, or with the views of new numbers."""
    what, name, n = (getattr(event, part, None) for part in ("what", "name", "n"))
    if what == "warm":
        for module in ("rheo.exact.comparison", "rheo.exact.transport"):
            importlib.import_module(module)
        return gr.skip()
    if name not in scenarios.names("node"):
        return gr.skip()
    if what == "preset":
        return gr.update(reply=json.dumps({**opened(name), "at": time.time()}))
    reply = {"type": "node", "n": n if type(n) is int else 0}
    try:
        reply["views"] = asked(load(name), event)
    except RheoError as error:
        reply["error"] = one_hot.UNUSABLE.format(error=error)
    return gr.update(reply=json.dumps(reply))


def asked(known: dict[str, Any], event: Any) -> dict[str, Any]:
    """Return the views of a learner's own numbers.

    Raises:
        RheoError: they are no node.
    """
    from rheo.exact.transport import node, one_draw, tempered

    own, tokens = NodeRequest.read(event), known["tokens"]
    for masses, field in ((own.p, "p"), (own.q, "q")):
        if len(masses) != len(tokens):
            raise RheoError(one_hot.WRONG[field])
    at_T, numbers = tempered(own.p, own.T), (own.q, own.m, own.K, own.T)
    made = node(at_T, *numbers)
    run = one_draw(at_T, *numbers, own.rule, scenarios.uniforms(own.seed), tokens)
    return shown(made, io.loads(io.dumps(run, packed=False)), known)  # in the digits of a file
