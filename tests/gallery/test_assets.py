"""The prompt suites: their form, and that no two prompts of a suite say the same thing."""

import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

PROMPTS = Path(__file__).parents[2] / "assets" / "prompts"
SUITES = ("arithmetic", "chat", "code", "instruction", "question", "summary")
SHORTEST, LONGEST = 15, 2000
"""Characters of one turn: enough to be a request, and well inside a small model's context."""


def read(suite: str) -> list[dict]:
    """The records of one suite; a byte that is not UTF-8 raises."""
    text = (PROMPTS / f"{suite}.jsonl").read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def turns(record: dict) -> list[str]:
    """The user turns of a record, one or several."""
    prompt = record["prompt"]
    return [prompt] if isinstance(prompt, str) else prompt


def unclean(text: str) -> list[str]:
    """What a reader cannot see in `text`: odd spaces, controls, a lost or split letter."""
    odd = [repr(c) for c in text if c != "\n" and unicodedata.category(c)[0] in "CZ" and c != " "]
    if "\ufffd" in text:
        odd.append("replacement character")
    if text != unicodedata.normalize("NFC", text):
        odd.append("not in composed form")
    if text != text.strip() or re.search(r"[ \t]\n", text):
        odd.append("space at an end")
    return odd


def repeats(prompts: list[str], n: int = 8) -> set[str]:
    """Runs of n words that stand in more than one of the prompts."""
    seen: set[str] = set()
    twice: set[str] = set()
    for prompt in prompts:
        words = re.findall(r"\w+", prompt.lower())
        runs = {" ".join(words[i : i + n]) for i in range(len(words) - n + 1)}
        twice |= seen & runs
        seen |= runs
    return twice


def test_the_suites_are_these():
    assert sorted(path.stem for path in PROMPTS.glob("*.jsonl")) == sorted(SUITES)


@pytest.mark.parametrize("suite", SUITES)
def test_records_have_one_form(suite):
    records = read(suite)
    assert len(records) >= 20
    assert [r["id"] for r in records] == [f"{suite}-{i:02d}" for i in range(1, len(records) + 1)]
    for record in records:
        assert set(record) == {"suite", "id", "prompt"}
        assert record["suite"] == suite
        if suite == "chat":
            assert isinstance(record["prompt"], list) and len(record["prompt"]) in (2, 3)
        else:
            assert isinstance(record["prompt"], str)


@pytest.mark.parametrize("suite", SUITES)
def test_turns_are_clean_and_of_a_fit_length(suite):
    for record in read(suite):
        for turn in turns(record):
            assert SHORTEST <= len(turn) <= LONGEST, record["id"]
            assert not unclean(turn), (record["id"], unclean(turn))


def test_an_unclean_turn_is_noticed():
    for text in ("a\u00a0b", "a\u200bb", "a\tb", "e\u0301", "a\ufffd", " a", "a \nb"):
        assert unclean(text), repr(text)
    assert not unclean("café, 20 °C\n\n    indented code")


@pytest.mark.parametrize("suite", SUITES)
def test_prompts_of_a_suite_do_not_repeat_each_other(suite):
    assert not repeats(["\n".join(turns(record)) for record in read(suite)])


def test_a_repeated_prompt_is_noticed():
    first = turns(read("question")[0])[0]
    assert repeats([first, "Tell me, " + first.upper()])
    assert not repeats([first])


def test_summaries_bring_their_own_text():
    for record in read("summary"):
        parts = record["prompt"].split("\n\n")
        assert len(parts) == 2, record["id"]
        assert 120 <= len(parts[1].split()) <= 250, record["id"]


def test_later_turns_of_a_chat_are_new():
    for record in read("chat"):
        assert all(a != b for a, b in pairwise(record["prompt"])), record["id"]
