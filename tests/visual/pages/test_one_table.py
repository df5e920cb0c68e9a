"""Page, command line and address know one table of ranges; a second one is noticed."""

from collections.abc import Callable
from dataclasses import replace

import gradio as gr
import pytest

from rheo.cli.arguments import parser
from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.ranges import FULL, RANGES, Range
from visual.pages import controls, link_values, url_state
from visual.runtime import run_settings
from visual.server import limits, settings

OPTIONS = {
    action.dest: action
    for action in parser()._subparsers._group_actions[0].choices["generate"]._actions
    if action.dest in RANGES
}


@pytest.fixture(scope="module")
def shown():
    with gr.Blocks():
        return controls.settings(url_state.defaults())[1]


def text(x: float) -> str:
    return str(x).removesuffix(".0")


def tried(row: Range) -> list[str]:
    """Return values inside, at and beyond the ends of a row."""
    ends = [row.least, row.most, row.least + row.step, row.least - row.step, row.most + row.step]
    return [text(x if row.is_real else int(x)) for x in ends] + [FULL]


def differences(row: Range, takes: Callable[[str], bool]) -> list[str]:
    """Return the values on which a surface and the table differ."""

    def holds(value: str) -> bool:
        try:
            row.parse(value)
        except RheoError:
            return False
        return True

    return [value for value in tried(row) if takes(value) != holds(value)]


def typed(action) -> Callable[[str], bool]:
    def takes(value: str) -> bool:
        try:
            action.type(value)
        except Exception:
            return False
        return True

    return takes


def linked(name: str) -> Callable[[str], bool]:
    def takes(value: str) -> bool:  # of a strategy without probes, so that any m goes with K
        return name in url_state.parse(f"{name}={value}&strategy=autoregressive")[0]

    return takes


def on_page(control) -> Callable[[str], bool]:
    def takes(value: str) -> bool:
        if isinstance(control, gr.Dropdown):  # a typed value is as good as one of its choices
            values = {text(choice) for _, choice in control.choices}
            return value in values if value == FULL else _is_run(control.elem_id, value)
        return value != FULL and control.minimum <= float(value) <= control.maximum

    return takes


def _is_run(name: str, value: str) -> bool:
    usual = {**DecodeParams().as_dict(), "strategy": "autoregressive", "K": 1}
    try:
        params = run_settings.params(tuple({**usual, name: value}[n] for n in run_settings.FIELDS))
        limits.check(settings.current().pair, params)
    except RheoError:
        return False
    return True


REFUSED_TOGETHER = {"S": {"1", "2"}, "top_p": {"0"}}  # S < K; no token is kept


@pytest.mark.parametrize("name", RANGES)
def test_every_surface_knows_the_row(name, shown):
    row, control = limits.allowed(name), shown[name]
    assert differences(RANGES[name], typed(OPTIONS[name])) == []
    assert set(differences(row, linked(name))) == REFUSED_TOGETHER.get(name, set())
    most = {"m": DecodeParams().K - 1}.get(name, row.most)  # the slider of m follows K
    assert differences(replace(row, most=most), on_page(control)) == []
    assert control.value == row.default and control.info == row.hint
    assert f"{row.about}: {RANGES[name].values}" in OPTIONS[name].help
    assert getattr(DecodeParams(), name) == RANGES[name].default == OPTIONS[name].default


def test_pair_rules_are_one_rule():
    assert controls.filled({"K": 32})["m"]["maximum"] == 31 == limits.allowed("m").most
    assert "S = 1 in the link" in url_state.parse("S=1")[1][0]
    assert not url_state.parse("S=1&K=1&m=0")[1]
    assert "keeps no token" in url_state.parse("top_p=0")[1][0]


def test_the_page_has_a_control_and_a_link_a_place_for_every_row(shown):
    assert set(RANGES) == set(shown) - {"strategy"} == set(OPTIONS)
    assert set(RANGES) == set(link_values.LinkedSettings.model_fields) - {
        "pair",
        "prompt",
        "strategy",
    }


def test_a_second_range_is_noticed(shown):
    with gr.Blocks():
        slider = gr.Slider(0, 9, 1, step=1, elem_id="m")
    assert differences(limits.allowed("m"), on_page(slider)) == ["31"]
    assert differences(RANGES["R"], lambda value: value.isdigit() and 4 <= int(value) <= 128)
    number = gr.Number(128, minimum=16, maximum=1024)
    assert FULL in differences(RANGES["S"], on_page(number))
    assert differences(RANGES["T"], lambda value: value != FULL and float(value) < 2)


def test_a_server_narrows_the_row_for_all_of_its_surfaces(monkeypatch):
    few = {"RHEO_MAX_K": "8", "RHEO_MAX_S": "256", "RHEO_MAX_PROBES": "2", "RHEO_MAX_R": "16"}
    monkeypatch.setattr(settings, "_current", settings.read(few))
    with gr.Blocks():
        shown = controls.settings(url_state.defaults())[1]
    for name, most in {"K": 8, "S": 256, "probes": 2, "R": 16, "m": 7}.items():
        assert limits.allowed(name).most == most
        assert url_state.defaults()[name] == limits.allowed(name).default <= most
        assert name not in url_state.parse(f"{name}={most + 1}&strategy=topk")[0]
    assert shown["K"].maximum == 8 and shown["m"].maximum == 7
    assert FULL not in dict(shown["S"].choices) and not limits.allowed("S").full
    assert "S" not in url_state.parse("S=full")[0]
    for asked in ({"S": None}, {"S": 257}, {"K": 9}, {"strategy": "topk", "m": 8, "K": 8}):
        with pytest.raises(RheoError, match="more than this server allows: choose at most"):
            limits.check(settings.current().pair, DecodeParams(**{"R": 16, "K": 8, **asked}))


def test_a_full_support_comes_and_goes():
    values, said = url_state.parse("S=full&seed=3")
    assert values["S"] == FULL and not said and url_state.format(values) == "S=full&seed=3"
    usual = {**DecodeParams().as_dict(), "S": values["S"]}
    assert run_settings.params(tuple(usual[n] for n in run_settings.FIELDS)).S is None
    typed = {**usual, "S": "200"}
    assert run_settings.params(tuple(typed[n] for n in run_settings.FIELDS)).S == 200
