"""The sliders' constraints: settings give way to the one just moved, and it is said."""

import html
from collections.abc import Callable
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.params import largest_m, strategy_fields
from rheo.ranges import RANGES, Number
from visual.pages import controls
from visual.runtime import run_settings
from visual.runtime.session import PlaygroundVisitor
from visual.words import measures

_LEAST_SUPPORT = 16  # that is offered, as are the powers of two above it
MOVED = ("strategy", "m", "K", "S", "probes")  # what the others have to give way to
HELD = ("m", "K", "S", "probes")  # sliders that may give way


def bind(visitor: gr.State, fields: JsonObject, notice: gr.HTML, **options: Any) -> None:
    """Let a move of each of `MOVED` change the others where they cannot go together.

    A setting that the visitor's link locks gives way to nothing: a sentence says what is wrong.
    A value typed beyond a slider's end gives way too, where Gradio's own check would be an error.
    """
    options["preprocess"] = False
    for name in MOVED:
        outputs = [*(fields[held] for held in HELD), notice]
        fields[name].input(_resolver(name), [visitor, *fields.values()], outputs, **options)


def _resolver(moved: str) -> Callable[..., list[Any]]:
    def changed(visitor: PlaygroundVisitor, *values: Any) -> list[Any]:
        asked = dict(zip(run_settings.FIELDS, values, strict=True))
        try:
            asked["S"] = _support(asked["S"])
        except RheoError:
            return [*(gr.skip() for _ in HELD), controls.check(*values)]
        if any(type(asked[name]) not in (int, float) for name in HELD if name != "S"):
            return [*(gr.skip() for _ in HELD), controls.check(*values)]
        changes, said = resolve(moved, asked)
        if changes.keys() & set(visitor.locked):
            changes, said = {}, []
        notes = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)
        rest = controls.check(*{**asked, **changes}.values())
        return [*(_update(name, moved, asked, changes) for name in HELD), notes + rest]

    return changed


def resolve(moved: str, asked: JsonObject) -> tuple[JsonObject, list[str]]:
    """Return what has to change so that settings go together, and a sentence for each change.

    >>> resolve("K", {"strategy": "rheo", "m": 5, "K": 4, "S": 128, "probes": 1})
    ({'m': 3}, ['m is now 3: K = 4 leaves slots for m from 0 to 3.'])
    """
    now, said = dict(asked), []
    if now["S"] is not None and now["S"] < now["K"]:
        if moved == "S":
            now["K"] = int(now["S"])
            said.append(measures.K_LOWERED.format(**now))
        else:
            now["S"] = max(_LEAST_SUPPORT, 1 << (int(now["K"]) - 1).bit_length())
            said.append(measures.S_RAISED.format(**now))
    if now["m"] > (most := largest_m(now["strategy"], int(now["K"]), 1)):
        now["m"] = max(most, 0)
        said.append(measures.M_LOWERED.format(**now))
    if _probes(now) and now["m"] + _probes(now) > now["K"]:
        name = "m" if moved == "probes" and now["probes"] <= now["K"] else "probes"
        other = {"m": _probes(now), "probes": now["m"]}[name]
        now[name] = int(now["K"] - other)
        form = measures.M_LOWERED_PROBES if name == "m" else measures.PROBES_LOWERED
        said.append(form.format(**now))
    return {name: now[name] for name in HELD if now[name] != asked[name]}, said


def _probes(now: JsonObject) -> int:
    """Return how many slots the strategy wants for probes."""
    return strategy_fields(now["strategy"]).probe_slots(max(1, int(now["probes"])))


def _support(value: Any) -> Number:
    """Return a support as its control sends it, chosen or typed. Raises RheoError."""
    row = RANGES["S"]
    return row.parse(value) if isinstance(value, str) else row.read(value)


def _update(name: str, moved: str, asked: JsonObject, changes: JsonObject) -> Any:
    """Return a slider's new value, and for m how far it goes now."""
    more = {"value": changes[name]} if name in changes else {}
    if name == "m" and moved != "m":
        more["maximum"] = max(run_settings.most_m({**asked, **changes}), 1)
    return gr.update(**more) if more else gr.skip()
