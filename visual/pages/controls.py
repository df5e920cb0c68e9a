"""The controls of the Playground: the prompt, its buttons, and the settings of a run."""

import html
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.json_object import JsonObject
from rheo.models.hub.catalogue import PAIRS
from rheo.ranges import FULL, RANGES
from rheo.trace.schema import Run
from visual.runtime import pair_needs, run_settings
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, measures, refusals

RUN_INPUTS = ("prompt", "pair", *run_settings.FIELDS)  # what a run is made with
_LONGEST = 4096  # values of a slider; further ones are typed


@dataclass(frozen=True)
class Composer:
    """The prompt, its examples, and what runs and stops it."""

    prompt: gr.Textbox
    examples: list[gr.Button]
    run: gr.Button
    stop: gr.Button


def composer(text: str) -> Composer:
    """Build the prompt with its examples, and the buttons Run and Stop."""
    prompt = gr.Textbox(
        text,
        label=labels.PROMPT,
        placeholder=labels.PROMPT_HINT,
        lines=3,
        max_lines=6,
        elem_id="prompt",
    )
    examples = []
    with gr.Row(elem_id="examples"):
        for name, example in labels.EXAMPLES:
            button = gr.Button(name, size="sm", variant="secondary", min_width=0)
            examples.append(button)
            button.click(
                None, None, prompt, js=f"() => {json.dumps(example)}", api_visibility="private"
            )
    with gr.Row(elem_id="acts"):
        run = gr.Button(labels.RUN, variant="primary", elem_id="run", min_width=0, scale=2)
        stop = gr.Button(labels.STOP, variant="secondary", elem_id="stop", min_width=0, scale=1)
    return Composer(prompt, examples, run, stop)


def settings(held: Mapping[str, Any]) -> tuple[gr.Dropdown, dict[str, Any], gr.HTML]:
    """Build the pair's control, those of `run_settings.FIELDS` by name, and a place for notices.

    Args:
        held: what they stand at, by name.
    """
    fields: dict[str, Any] = {}
    fields["strategy"] = gr.Dropdown(
        [(label, name) for name, label in labels.STRATEGY_NAMES.items()],
        value=held["strategy"],
        label=labels.STRATEGY,
        elem_id="strategy",
    )
    notice = gr.HTML("", elem_id="notice", apply_default_css=False)
    fields |= {name: setting(name, held) for name in run_settings.FRONT}
    gr.Button(
        measures.WHATIF["again"], size="sm", elem_id="again"
    )  # its click is run_comparison.js's
    with gr.Accordion(labels.MORE, open=False, elem_id="more"):
        pair = gr.Dropdown(
            [(PAIRS[name].label, name) for name in current().pairs],
            value=held["pair"],
            label=labels.PAIR,
            filterable=False,  # what is typed there would be ignored
            elem_id="pair",
        )
        gr.HTML(pair_needs.listing(), elem_id="pairs", apply_default_css=False)
        _hub_pair()
        fields |= {name: setting(name, held) for name in (*run_settings.BACK, "seed")}
    return pair, {name: fields[name] for name in run_settings.FIELDS}, notice


def _hub_pair() -> None:
    """Build the fields of a pair of Hub ids, and the place that says what it would need."""
    with gr.Accordion(refusals.HUB_PAIR, open=False, elem_id="hub-pair"):
        halves = [
            gr.Textbox(label=refusals.HUB_TARGET, max_lines=1, elem_id="hub-target"),
            gr.Textbox(label=refusals.HUB_DRAFT, max_lines=1, elem_id="hub-draft"),
        ]
        said = gr.HTML("", elem_id="hub-needs", apply_default_css=False)
    done = [event for half in halves for event in (half.submit, half.blur)]
    hidden: JsonObject = {"show_progress": "hidden", "api_visibility": "private"}
    gr.on(done, pair_needs.typed, halves, said, concurrency_limit=2, **hidden)


def setting(name: str, held: Mapping[str, Any]) -> gr.Slider | gr.Dropdown | gr.Number:
    """Build the control of a parameter, as the server's row of the one table says.

    It is a slider; sizes to choose or to type where "full" is one; a field where a slider would
    have too many places.
    """
    row, label = limits.allowed(name), labels.SETTING_NAMES[name]
    value = held[name]
    said = {"label": label, "info": row.hint, "elem_id": name}
    if RANGES[name].full:
        return gr.Dropdown(_sizes(name), value=value, allow_custom_value=True, **said)
    if row.most > _LONGEST:
        return gr.Number(value, precision=0, minimum=row.least, maximum=row.most, **said)
    most = max(run_settings.most_m(held), 1) if name == "m" else row.most
    return gr.Slider(row.least, most, value, step=row.step, buttons=[], **said)


def _sizes(name: str) -> list[tuple[str, float | str]]:
    """Return the powers of two that a size can be here, its default, its most, and "full"."""
    row = limits.allowed(name)
    most = int(row.most)
    powers = {2**i for i in range(4, 13) if row.least <= 2**i <= most} | {int(row.default)}
    sizes = sorted(powers | ({most} if most <= _LONGEST else set()))
    return [(f"{size:,}", size) for size in sizes] + ([(FULL, FULL)] if row.full else [])


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update of each control that is to hold its value; m's says how far it goes."""
    updates: dict[str, Any] = {name: {"value": value} for name, value in values.items()}
    if values.keys() & {"strategy", "K", "m"}:
        most = max(run_settings.most_m(values), 1)  # a slider needs two ends
        updates["m"] = {**updates.get("m", {}), "maximum": most}
    return updates


def made_with(run: Run, locked: Collection[str]) -> list[Any]:
    """Return what the run was made with as an update for each of `RUN_INPUTS`, locked ones left."""
    made = {n: v for n, v in run_settings.made_with(run).items() if n not in locked}
    updates = filled(made)
    return [gr.update(**updates[name]) if name in updates else gr.skip() for name in RUN_INPUTS]


def check(*values: Any) -> str:
    """Return one sentence on settings that cannot go together, or on a strategy that is biased."""
    try:
        asked = run_settings.params(values)
    except RheoError as error:
        return f'<p class="wrong">{html.escape(str(error))}</p>'
    return "" if asked.fields.lossless else f"<p>{html.escape(labels.BIASED_NOTE)}</p>"
