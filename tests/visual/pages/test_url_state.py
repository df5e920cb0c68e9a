"""Links: what is written is read again, whatever a stranger writes is at most a sentence."""

import html
import json
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheo.exact import scenarios
from rheo.params import STRATEGIES, DecodeParams
from rheo.ranges import RANGES
from visual.pages import deep_link, link_values, url_state
from visual.runtime import run_settings, run_store
from visual.server import limits
from visual.words import links

ROWS = {name: limits.allowed(name) for name in RANGES}
NUMBERS = {
    name: st.integers(int(row.least), int(row.most))
    for name, row in ROWS.items()
    if not row.is_real
}
VALUES = {
    **NUMBERS,
    "S": NUMBERS["S"] | st.just("full"),
    "T": st.floats(0, 2).map(lambda x: round(x, 9)),
    "top_p": st.floats(0.01, 1),
    "strategy": st.sampled_from(STRATEGIES),
    "prompt": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
    "trace": st.sampled_from(["live", "recorded", "code-t0"]),
    "round": st.integers(1, link_values.PLACES),
    "step": st.integers(1, link_values.PLACES),
    "guess": st.booleans(),
    "present": st.just(True),
    "lock": st.lists(st.sampled_from(link_values.LOCKABLE), min_size=1, unique=True).map(tuple),
}
NUMERIC = (*RANGES, "strategy")


def together(values) -> bool:
    return not url_state.parse(url_state.format({**values, "page": "playground"}))[1]


@given(st.fixed_dictionaries({}, optional=VALUES).filter(together))
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_again(values):
    usual = url_state.defaults()
    read, said = url_state.parse(url_state.format(values))
    assert not said and read.pop("page") == "playground"
    trace = read.pop("trace")
    kept = {name: v for name, v in values.items() if name not in usual or v != usual[name]}
    assert trace == kept.pop("trace", url_state.inferred(kept))
    assert read == kept


@given(st.text(max_size=300))
@example("m=²&K=١")  # digits, but not ours
@example("page=dilemma&K=9&scenario=../../etc/passwd")
@example("lock=m,R,<script>&lock=")
@example("T=nan&T=inf&R=1e3&seed=-1&round=0&step=99999")
@example("prompt=%ff%fe&m=%00")
@example("&".join(f"x{i}=1" for i in range(200)))
@example("prompt=" + "a" * 20_000)
@settings(max_examples=300, deadline=None)
def test_any_text_is_values_that_work_and_bounded_sentences(query):
    values, said = url_state.parse(query)
    DecodeParams(**{name: values[name] for name in NUMERIC if name in values and is_run(values)})
    assert len(values.get("prompt", "")) <= url_state.LINKED_PROMPT
    assert len(said) <= 30 and all(len(sentence) < 700 for sentence in said)
    deep_link.answer(query)


def is_run(values) -> bool:
    return values["page"] == "playground"


@pytest.mark.parametrize("name", ["m", "K", "R", "depth", "T", "S", "seed", "round", "step"])
@pytest.mark.parametrize("value", ["-1", "1e3", "nan", "0x1", " 3", "3.5.1", "99999999999", "a"])
def test_a_bad_number_is_named_and_the_rest_is_used(name, value):
    values, said = url_state.parse(urlencode({name: value, "strategy": "topk"}))
    if name == "seed" and value == "99999999999":
        return
    assert name not in values and values["strategy"] == "topk"
    assert len(said) == 1 and said[0].startswith(f"{name} = {value} in the link was ignored")


def test_values_that_cannot_go_together_lose_one():
    values, said = url_state.parse("m=9&K=4&R=30&T=0.5")
    assert len(said) == 1 and values["R"] == 30 and values["T"] == 0.5
    assert ("m" in values) != ("K" in values)
    DecodeParams(**{name: values[name] for name in NUMERIC if name in values})


def test_unknown_names_and_blanks_say_nothing():
    assert url_state.parse("?colour=red&m=&__theme=dark&page=".lstrip("?")) == (
        {"page": "playground", "trace": "recorded"},
        [],
    )


def test_the_other_page_has_settings_of_its_own():
    query = "page=dilemma&scenario=multimodal&tab=plan&rule=topk&m=2&K=12&T=0.4"
    values, said = url_state.parse(query)
    assert not said and url_state.format(values) == query
    assert values["K"] == 12 and "trace" not in values
    assert "K" not in url_state.parse("page=dilemma&K=65")[0]


def test_a_link_holds_pulled_bars_and_the_small_world():
    words = len(scenarios.load("paper")["tokens"])
    bars = ",".join(["12.34", "87.66", *["0"] * (words - 2)])
    query = f"page=dilemma&scenario=paper&p={bars}&world=7&world_T=0.5&left=topk&right=token-ties"
    values, said = url_state.parse(query)
    assert not said and url_state.format(values) == query
    assert values["p"][:2] == [12.34, 87.66] and (values["world"], values["left"]) == (7, "topk")


@pytest.mark.parametrize(
    "bars", ["50,51", "50,50", "1e2", "nan,100", "-1,101", "50.123,49.877", "100," * 70 + "0", "²"]
)
def test_bars_that_are_no_distribution_of_the_situation_are_named(bars):
    values, said = url_state.parse(urlencode({"page": "dilemma", "q": bars, "m": 2}))
    assert "q" not in values and values["m"] == 2
    assert len(said) == 1 and said[0].startswith("q = ") and len(said[0]) < 200


def test_a_link_without_a_trace_is_about_the_run_to_come_if_it_has_settings():
    assert url_state.parse("round=2")[0]["trace"] == run_store.RECORDED
    assert url_state.parse("round=2&m=3")[0]["trace"] == url_state.LIVE
    assert url_state.format({"trace": "live", "m": 3}) == "m=3"
    assert url_state.format({"trace": "recorded", "m": 3}) == "m=3&trace=recorded"


@pytest.mark.parametrize("hostile", ["<img src=x onerror=alert(1)>", "${alert(1)}", "{{a}}", "`"])
def test_what_a_link_says_is_escaped_before_it_is_shown(hostile):
    made = deep_link.answer(urlencode({"strategy": hostile, "lock": hostile}))
    assert html.escape(hostile) in made.notice and ("<img" not in made.notice)
    assert "opened" in made.viewer


def test_a_run_that_nobody_has_is_said():
    made = deep_link.answer("trace=no-such-run&round=2")
    assert links.WHY_NAME in made.notice and "value" not in made.viewer


def test_a_shipped_run_comes_with_its_own_settings_but_the_link_has_the_last_word():
    key, entry = next(iter(run_store.gallery().items()))
    made = deep_link.answer(f"trace={entry['name']}&m=3&round=2")
    settings, viewer = made.settings, made.viewer
    run = run_store.find({}, key)
    changes = dict(zip(url_state.SETTINGS, settings, strict=True))
    assert json.loads(viewer["value"])["key"] == key
    assert changes["prompt"]["value"] == run.prompt and changes["m"]["value"] == 3
    assert changes["T"]["value"] == run.params["T"]
    assert json.loads(viewer["opened"])["values"]["round"] == 2


def updates(query):
    return dict(zip(url_state.SETTINGS, deep_link.answer(query).settings, strict=True))


def test_a_link_to_a_run_to_come_sets_every_control_and_locks_are_greyed():
    changes = updates("m=2&lock=R,seed")
    usual = {**url_state.defaults(), "m": 2}
    assert {name: change["value"] for name, change in changes.items()} == usual
    greyed = {name for name, change in changes.items() if change.get("interactive") is False}
    assert greyed == {"R", "seed"} and not any("visible" in c for c in changes.values())
    made = deep_link.answer("lock=R,seed")
    assert links.LOCKED.format(names="R, Seed") in made.notice and made.locked == ("R", "seed")


def test_a_link_to_the_opening_run_leaves_its_settings_as_they_are():
    changes = updates("round=2&trace=recorded&T=0.5")
    assert {name for name, change in changes.items() if "value" in change} == {"T"}


def test_the_controls_open_at_what_the_opening_run_was_made_with():
    run, held = run_store.recorded(), url_state.standing()
    assert (held["prompt"], held["pair"]) == (run.prompt, run.pair)
    assert {name: held[name] for name in run.params if name in held} == run.params
    assert held != url_state.defaults()  # seed 34 and 24 tokens, where 0 and 64 are usual


def test_a_budget_that_no_control_has_is_said():
    run = run_store.recorded()
    paying = replace(run, params={**run.params, "budget": "auto"})
    assert "It had budget = auto, which cannot be set here" in run_settings.left_out(paying)


@pytest.mark.parametrize("entry", run_store.gallery().values(), ids=lambda entry: entry["name"])
def test_every_recorded_run_can_be_made_again_from_its_link(entry):
    run = run_store.find({}, f"gallery/{entry['name']}")
    held = {name: c["value"] for name, c in updates(f"trace={entry['name']}").items()}
    made = run_settings.params(tuple(held[name] for name in run_settings.FIELDS))
    assert (held["prompt"], held["pair"]) == (run.prompt, run.pair)
    assert made == DecodeParams.from_dict(run.params) and not run_settings.left_out(run)
    again, said = url_state.parse(url_state.format({**held, "trace": "live"}))
    assert not said and {**url_state.defaults(), **again} == {
        **held,
        "page": "playground",
        "trace": "live",
    }
