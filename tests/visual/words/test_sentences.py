"""Words: what of a token shows, what a transcript holds, and whether sentences tell the truth."""

import json
import math
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheo.params import STRATEGIES
from rheo.trace import io
from rheo.trace.schema import Emission
from tests.visual import by_hand, sample
from visual.words import labels, sentences
from visual.words.transcript_html import transcript

HOSTILE = ("<img src=x onerror=go()>", '"><b>', "${x}", "a\0b", "\u202eabc", "\ud800", "`", "&lt;")


def test_every_strategy_has_a_name_in_the_menu():
    assert tuple(labels.STRATEGY_NAMES) == STRATEGIES


# Tokens


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (" sea", "␣sea"),
        ("\n\n", "↵↵"),
        ("\t x\r", "→␣x␍"),
        ("a\0b", "a␀b"),
        ("\x1b[2J\x7f", "␛[2J␡"),
        ("\u202eabc\u2069", "⟨U+202E⟩abc⟨U+2069⟩"),
        ("\u200b\ufeff", "⟨U+200B⟩⟨U+FEFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("a\u2028\u3000\u00a0", "a⟨U+2028⟩⟨U+3000⟩⍽"),
        ("\u0301", "◌\u0301"),
        ("", "⟨⟩"),
        ("<b>${x}", "<b>${x}"),
    ],
)
def test_all_of_a_token_shows(raw, shown):
    assert sentences.token(raw) == shown


@given(st.text(st.characters(exclude_categories=()), max_size=12), st.integers(2, 12))
def test_nothing_hides_and_a_cut_token_is_no_wider_than_asked(raw, limit):
    whole, cut = sentences.token(raw), sentences.token(raw, limit)
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
    assert not [c for c in whole if unicodedata.category(c) in hidden]
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cut)
    assert wide <= limit
    assert cut == whole or (cut.endswith("…") and whole.startswith(cut[:-1]))


def test_an_unknown_id_is_its_number():
    assert sentences.name(by_hand.run(), 999) == "⟨999⟩"


# The transcript


class Spans(HTMLParser):
    """Tags of a transcript, and (attributes, text) of each span."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.spans: list[tuple[dict, str]] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "span":
            self.spans.append((dict(attributes), ""))

    def handle_data(self, data):
        attributes, before = self.spans[-1]
        self.spans[-1] = attributes, before + data


def test_a_transcript_is_the_text_token_by_token():
    run = by_hand.run()
    spans = Spans(transcript(run, active=1, chosen=6)).spans
    assert "".join(words for _, words in spans) == run.text
    assert [
        (a["class"], a["data-mark"], a.get("data-round"), a.get("data-node")) for a, _ in spans
    ] == [
        ("token prefill", "1", None, None),
        ("token filler", "F", "0", "3"),
        ("token residual", "R", "0", None),
        ("token probe active", "P", "1", "2"),
        ("token deterministic active chosen", "D", "1", "6"),
        ("token bonus active", "B", "1", None),
        ("token deterministic", "D", "2", "1"),
    ]
    assert spans[4][0]["title"] == "␣it · deterministic · round 2"


@pytest.mark.parametrize("run", [by_hand.run(), sample.run(3)])
def test_a_transcript_grows_at_its_end_alone(run):
    shown = [transcript(run, upto) for upto in range(-1, len(run.rounds))]
    for shorter, longer in pairwise(shown):
        assert longer.startswith(shorter.removesuffix("</div>"))
    assert shown[-1] == transcript(run)
    assert len(Spans(shown[0]).spans) == 1


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_token_stays_text(hostile):
    run = by_hand.with_text(by_hand.run(), hostile)
    html = transcript(run)
    parsed = Spans(html)
    assert parsed.tags == ["div"] + ["span"] * 7
    assert all(words == sentences.token(hostile).replace("␣", " ") for _, words in parsed.spans)
    assert all(
        set(a) <= {"class", "data-mark", "data-round", "data-node", "title"}
        for a, _ in parsed.spans
    )
    html.encode()  # no lone surrogate


def test_bytes_of_one_character_join():
    run = by_hand.run()
    pieces = dict.fromkeys(run.tokens, "x") | {0: "⟨0xE2⟩", 1: "⟨0x98⟩", 2: "⟨0x83⟩!", 3: " z"}
    emitted = tuple(Emission(i, "residual") for i in (1, 2, 3))
    run = replace(
        run,
        tokens=pieces,
        first=Emission(0, "prefill"),
        rounds=(replace(run.rounds[0], emitted=emitted),),
    )
    assert [words for _, words in Spans(transcript(run)).spans] == ["", "", "☃!", " z"]


# Sentences


def test_sentences_of_the_rounds_by_hand():
    run = by_hand.run()
    assert [sentences.sentences(run, r) for r in run.rounds] == [
        [
            "Probe ␣sea: min(1, 0.1 / 0.4) = 0.250; u₁ = 0.611: rejected.",
            "Sibling ␣cat: its interval [0, 0.600) of the residual does not hold u₂ = 0.712: "
            "rejected.",
            "Sibling ␣dog: its interval [0.600, 0.800) of the residual holds u₂ = 0.712: accepted.",
            "Sibling ␣ran: its interval [0, 0.400) of p does not hold u₂ = 0.653: rejected.",
            "Emitted ␣and from p: its interval [0.600, 0.800) holds u₂ = 0.653.",
        ],
        [
            "Probe ␣now: min(1, 0.3 / 0.2) = 1; u₁ = 0.310: accepted.",
            "Sibling ␣it: its interval [0, 0.700) of p holds u₂ = 0.530: accepted.",
            "A leaf: bonus ‘↵’ drawn from p; its interval [0.100, 0.600) holds u₂ = 0.370.",
        ],
        [
            "Sibling ‘⟨|im_end|⟩’: its interval [0, 0.950) of p holds u₂ = 0.712: accepted.",
            "Drawn ␣the, not emitted: the text had ended before it.",
        ],
    ]


def test_a_missed_head_rescales_the_uniform():
    run = by_hand.rrsw()
    assert sentences.sentences(run, run.rounds[0])[2] == (
        "Sibling ␣dog: its interval [0, 0.600) of the residual does not hold 0.600 "
        "(u₂ = 0.680, rescaled behind the head): rejected."
    )


PROBE = re.compile(r"= (?P<ratio>[\d.]+); u₁ = (?P<u>[\d.]+): (?P<said>\w+)\.")
INTERVAL = re.compile(
    r"\[(?P<low>[\d.]+), (?P<high>[\d.]+)\) of .*? (?P<holds>holds|does not hold) "
    r"(?:u₂ = )?(?P<u>[\d.]+).*: (?P<said>\w+)\."
)


def true(sentence: str) -> bool:
    """Whether the verdict follows from the numbers that a reader sees."""
    if found := PROBE.search(sentence):
        return (float(found["u"]) < float(found["ratio"])) == (found["said"] == "accepted")
    if found := INTERVAL.search(sentence):
        inside = float(found["low"]) <= float(found["u"]) < float(found["high"])
        return inside == (found["said"] == "accepted") == (found["holds"] == "holds")
    return "rejected" in sentence if "no mass" in sentence else True


@pytest.mark.parametrize("run", [by_hand.run(), *(sample.run(6, seed=seed) for seed in range(4))])
def test_each_verdict_follows_from_the_numbers_said(run):
    for r in run.rounds:
        said = sentences.sentences(run, r)
        assert len(said) == sum(len(visit.steps) for visit in r.visits)
        assert all(true(sentence) for sentence in said)


def test_a_false_sentence_is_noticed():
    run = by_hand.run()
    for sentence in sentences.sentences(run, run.rounds[0])[:4]:
        lie = re.sub(
            "accepted|rejected", lambda m: {"accepted": "rejected"}.get(m[0], "accepted"), sentence
        )
        assert true(sentence) and not true(lie)


@given(
    st.lists(
        st.floats(0, 1, exclude_max=True).map(lambda x: float(f"{x:.9g}")), min_size=2, max_size=4
    )
)
def test_numbers_said_are_in_the_order_of_the_numbers_meant(values):
    said = [float(x) for x in sentences.ordered(values)]
    for a, b in pairwise(values):
        x, y = said[values.index(a)], said[values.index(b)]
        assert (a < b) == (x < y) or abs(a - b) < 1e-11


# One line


def test_headlines():
    run, rrsw = by_hand.run(), by_hand.rrsw()
    assert [sentences.headline(run, r) for r in run.rounds] == [
        "One pass of the target, 2 tokens: 1 of 7 draft tokens accepted, the probe ␣sea rejected, "
        "then the filler ␣dog accepted; expected 1.41, and 1.16 if these very nodes were "
        "one-hot (Top-K’s own tree is another).",
        "One pass of the target, 3 tokens: 2 of 7 draft tokens accepted, the probe ␣now among "
        "them; expected 1.70, and 1.39 if these very nodes were one-hot (Top-K’s own "
        "tree is another).",
        "One pass of the target, 1 token: 1 of 1 draft token accepted; every node is a point "
        "mass (one-hot), 0.95 in expectation.",
    ]
    biased = replace(rrsw, params={**rrsw.params, "strategy": "naive"})
    assert sentences.headline(biased, rrsw.rounds[0]).endswith("; this strategy is biased.")


def test_one_hot_expects_the_sum_of_path_products():
    run = by_hand.run()
    for r, expected in zip(run.rounds, (1.16, 1.39, 0.95), strict=True):
        assert sentences.one_hot_expected(run, r) == pytest.approx(expected, abs=1e-12)


def test_one_hot_expects_nothing_below_a_node_that_ends_the_text():
    run = by_hand.run()
    r = run.rounds[0]
    parent = next(n.parent for n in r.nodes if n.depth == 2)
    ends = replace(run, end_tokens=(r.nodes[parent].token,))
    below = [i for i, n in enumerate(r.nodes) if n.parent == parent]
    lost = math.fsum(math.prod(r.nodes[j].p for j in r.path(i)) for i in below)
    gap = sentences.one_hot_expected(run, r) - sentences.one_hot_expected(ends, r)
    assert gap == pytest.approx(lost, abs=1e-12) and lost > 0.01


def test_the_summary():
    assert sentences.summary(by_hand.run()) == [
        ("τ, tokens per round", "2.00"),
        ("expected τ given the trees", "2.35"),  # 1 + (1.413 + 1.7 + 0.95) / 3
        ("tokens/s after prefill", "45.5"),  # 6 in 3 x 44 ms
        ("accepted by kind", "D 2 · P 1 · F 1"),
        ("stopped", "at the end of text"),
    ]
    empty = replace(by_hand.run(), rounds=(), stop="closed")
    assert [value for _, value in sentences.summary(empty)] == [
        "–",
        "–",
        "–",
        "D 0 · P 0 · F 0",
        "by you",
    ]


@pytest.mark.parametrize("run", [by_hand.run(), by_hand.rrsw()])
def test_the_rounds_by_hand_are_a_trace(run):
    assert io.loads(json.dumps(io.to_json(run)).encode()).tokens == run.tokens
