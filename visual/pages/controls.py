"""The controls of the Playground: the prompt, its buttons, and the settings of a run."""

import html
import json
from typing import Any

import gradio as gr

from rheo.errors import RheoError
from rheo.models.hub.catalogue import PAIRS
from rheo.params import DecodeParams
from visual.runtime import run_settings
from visual.server import limits
from visual.server.settings import current
from visual.words import labels, measures


def composer() -> tuple[gr.Textbox, gr.Button, gr.Button]:
    """Build the prompt with its examples, and the buttons Run and Stop."""
    prompt = gr.Textbox(
        labels.EXAMPLES[0][1],
        label=labels.PROMPT,
        placeholder=labels.PROMPT_HINT,
        lines=3,
        max_lines=6,
        elem_id="prompt",
    )
    with gr.Row(elem_id="examples"):
        for name, example in labels.EXAMPLES:
            button = gr.Button(name, size="sm", variant="secondary", min_width=0)
            button.click(
                None, None, prompt, js=f"() => {json.dumps(example)}", api_visibility="private"
            )
    with gr.Row(elem_id="acts"):
        run = gr.Button(labels.RUN, variant="primary", elem_id="run", min_width=0, scale=2)
        stop = gr.Button(labels.STOP, variant="secondary", elem_id="stop", min_width=0, scale=1)
    return prompt, run, stop


def settings() -> tuple[gr.Dropdown, dict[str, Any], gr.HTML]:
    """Build the pair's control, those of `run_settings.FIELDS` by name, and a place for notices."""
    defaults = DecodeParams()
    fields: dict[str, Any] = {}
    fields["strategy"] = gr.Dropdown(
        [(label, name) for name, label in labels.STRATEGY_NAMES.items()],
        value=defaults.strategy,
        label=labels.STRATEGY,
        elem_id="strategy",
    )
    notice = gr.HTML("", elem_id="notice", apply_default_css=False)
    fields |= {name: _slider(name, getattr(defaults, name)) for name in run_settings.FRONT}
    gr.Button(
        measures.WHATIF["again"], size="sm", elem_id="again"
    )  # its click is run_comparison.js's
    with gr.Accordion(labels.MORE, open=False, elem_id="more"):
        pair = gr.Dropdown(
            [(PAIRS[name].label, name) for name in current().pairs],
            value=current().pair,
            label=labels.PAIR,
            elem_id="pair",
        )
        fields |= {name: _slider(name, getattr(defaults, name)) for name in run_settings.BACK}
        label, hint = labels.SLIDERS["seed"]
        fields["seed"] = gr.Number(
            defaults.seed, label=label, info=hint, precision=0, minimum=0, elem_id="seed"
        )
    return pair, {name: fields[name] for name in run_settings.FIELDS}, notice


def _slider(name: str, value: float) -> gr.Slider:
    low, high, step = run_settings.SLIDER_RANGES[name]
    label, hint = labels.SLIDERS[name]
    high = min(high, limits.highest(name))
    value = min(value, high)
    return gr.Slider(low, high, value, step=step, label=label, info=hint, elem_id=name, buttons=[])


def check(*values: Any) -> str:
    """Return one sentence on settings that cannot go together, or on a strategy that is biased."""
    try:
        asked = run_settings.params(values)
    except RheoError as error:
        return f'<p class="wrong">{html.escape(str(error))}</p>'
    return "" if asked.fields.lossless else f"<p>{html.escape(labels.BIASED_NOTE)}</p>"
