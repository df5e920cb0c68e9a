"""The controls of the Playground: the prompt, its buttons, and the settings of a run."""

import html
import json
from typing import Any

import gradio as gr

from rheo.catalogue import PAIRS
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.settings import current
from visual import strings
from visual import strings_metrics as words
from visual.pages import limits

RANGES = {  # of the sliders: lowest, highest, step
    "m": (0, 9, 1),
    "T": (0.0, 2.0, 0.05),
    "R": (4, 128, 1),
    "depth": (1, 12, 1),
    "K": (1, 32, 1),
    "S": (16, 1024, 16),
    "probes": (1, 4, 1),
    "max_new_tokens": (8, 256, 8),
}
FRONT, BACK = ("m", "T", "R", "depth"), ("K", "S", "probes", "max_new_tokens")
FIELDS = ("strategy", *FRONT, *BACK, "seed")  # the inputs of a run, after prompt and pair


def composer() -> tuple[gr.Textbox, gr.Button, gr.Button]:
    prompt = gr.Textbox(
        strings.EXAMPLES[0][1],
        label=strings.PROMPT,
        placeholder=strings.PROMPT_HINT,
        lines=3,
        max_lines=6,
        elem_id="prompt",
    )
    with gr.Row(elem_id="examples"):
        for name, example in strings.EXAMPLES:
            button = gr.Button(name, size="sm", variant="secondary", min_width=0)
            button.click(
                None, None, prompt, js=f"() => {json.dumps(example)}", api_visibility="private"
            )
    with gr.Row(elem_id="acts"):
        run = gr.Button(strings.RUN, variant="primary", elem_id="run", min_width=0, scale=2)
        stop = gr.Button(strings.STOP, variant="secondary", elem_id="stop", min_width=0, scale=1)
    return prompt, run, stop


def settings() -> tuple[gr.Dropdown, dict[str, Any], gr.HTML]:
    defaults = DecodeParams()
    fields: dict[str, Any] = {}
    fields["strategy"] = gr.Dropdown(
        [(label, name) for name, label in strings.STRATEGIES.items()],
        value=defaults.strategy,
        label=strings.STRATEGY,
        elem_id="strategy",
    )
    notice = gr.HTML("", elem_id="notice", apply_default_css=False)
    fields |= {name: _slider(name, getattr(defaults, name)) for name in FRONT}
    gr.Button(words.WHATIF["again"], size="sm", elem_id="again")  # its click is again.js's
    with gr.Accordion(strings.MORE, open=False, elem_id="more"):
        pair = gr.Dropdown(
            [(PAIRS[name].label, name) for name in current().pairs],
            value=current().pair,
            label=strings.PAIR,
            elem_id="pair",
        )
        fields |= {name: _slider(name, getattr(defaults, name)) for name in BACK}
        label, hint = strings.SLIDERS["seed"]
        fields["seed"] = gr.Number(
            defaults.seed, label=label, info=hint, precision=0, minimum=0, elem_id="seed"
        )
    return pair, {name: fields[name] for name in FIELDS}, notice


def _slider(name: str, value: float) -> gr.Slider:
    low, high, step = RANGES[name]
    label, hint = strings.SLIDERS[name]
    high = min(high, limits.highest(name))
    value = min(value, high)
    return gr.Slider(low, high, value, step=step, label=label, info=hint, elem_id=name, buttons=[])


def params(values: tuple[Any, ...]) -> DecodeParams:
    """The values of `FIELDS` as parameters.

    Raises:
        RheoError: values that cannot be, or cannot go together.
    """
    return DecodeParams(**dict(zip(FIELDS, values, strict=True)))


def check(*values: Any) -> str:
    """One sentence on settings that cannot go together, or on a strategy that is biased."""
    try:
        asked = params(values)
    except RheoError as error:
        return f'<p class="wrong">{html.escape(str(error))}</p>'
    return f"<p>{html.escape(strings.BIASED_NOTE)}</p>" if asked.strategy == "naive" else ""
