"""The look of the page's controls: ink on paper, so that only the data has colour."""

import gradio as gr

from visual.style.palette import DARK, INK, MUTED, PAPER

WEIGHTS = (400, 700)


def theme() -> gr.themes.Base:
    """Return a theme with bundled fonts: the page asks no other host for anything."""
    dark = {"ink": DARK[INK], "paper": DARK[PAPER]}
    return gr.themes.Base(
        primary_hue=gr.themes.colors.zinc,
        secondary_hue=gr.themes.colors.zinc,
        neutral_hue=gr.themes.colors.zinc,
        radius_size=gr.themes.sizes.radius_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
        text_size=gr.themes.sizes.text_sm,
        # the bundled semibold files have no Latin letters: the bold ones stand in for them
        font=(gr.themes.LocalFont("IBM Plex Sans", WEIGHTS), "system-ui", "sans-serif"),
        font_mono=(gr.themes.LocalFont("IBM Plex Mono", WEIGHTS), "monospace"),
    ).set(
        body_background_fill=PAPER,
        body_background_fill_dark=dark["paper"],
        body_text_color=INK,
        body_text_color_dark=dark["ink"],
        body_text_color_subdued=MUTED,
        body_text_color_subdued_dark=DARK[MUTED],
        background_fill_primary=PAPER,
        background_fill_primary_dark=dark["paper"],
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_title_text_color=MUTED,
        block_title_text_color_dark=DARK[MUTED],
        block_title_text_weight="500",
        block_shadow="none",
        button_primary_background_fill=INK,
        button_primary_background_fill_dark=dark["ink"],
        button_primary_background_fill_hover="#34373b",
        button_primary_background_fill_hover_dark=PAPER,
        button_primary_text_color=PAPER,
        button_primary_text_color_dark=dark["paper"],
        button_secondary_background_fill="transparent",
        button_secondary_background_fill_dark="transparent",
        slider_color=INK,
        slider_color_dark=dark["ink"],
        input_background_fill="transparent",
        input_background_fill_dark="transparent",
        input_shadow="none",
        input_shadow_focus="none",
    )
