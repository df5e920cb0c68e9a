"""Every sentence with a number in it, against the trace: a number without a check fails."""

import functools
import re

import pytest

from rheo.models.hub.catalogue import ASSETS
from rheo.trace import io
from rheo.trace.schema import Run
from tests.decoding.tiny_runs import decoding, new_tokens, run_of, tiny_pair
from tests.visual.played import CASES, every, play
from tests.visual.words.checks_of_runs import CHECKS, FILLERS
from tests.visual.words.number_patterns import LETTERS, NUMBER, fields, has_number, pattern
from tests.visual.words.said_of_runs import Said, of_run, of_what_if
from visual.words import labels, measures, sentences, transport_words, verdicts

pytestmark = pytest.mark.usefixtures("one_thread")

GALLERY = sorted(path.name for path in (ASSETS / "traces").glob("*.json.gz"))
WORDS = (labels, verdicts, measures, transport_words)
LEAST_LITERAL = 8  # characters by which a sentence without numbers is known

# templates with a number that is no sentence's of one trace, and who holds them
ELSEWHERE = {
    "parts of sentences that are checked": (
        *(measures.COUNTS, measures.SETTING_FORMS, measures.OF, measures.COUNT, measures.PERCENT),
        *(measures.PART_SHARE, measures.THREADS, measures.SETTING, measures.PARTED),
        *(labels.SHARE, labels.RESCALED, labels.STAGE, labels.STAGE_PLAIN),
        *(
            verdicts.KEPT_SOME,
            verdicts.PROBES,
            verdicts.PRUNE,
            verdicts.LEVELS_GONE,
            transport_words.BEST,
        ),
    ),
    "tests/visual/run/test_metrics.py": (
        *(measures.ENDED, measures.MEASURED, measures.MEASURED_BEFORE),
        *(measures.WHY_SLOW, measures.WHY_SLOW_DRAFT),
        *(measures.PROJECTION_FORMULA, measures.COMPARED_SAID),
    ),
    "tests/visual/words/test_claims.py": (measures.PROJECTION_WHY,),
    "tests/visual/words/test_sentences.py": (labels.SPAN_TITLE,),
    "tests/visual/round/test_what_if_view.py": (
        *(measures.ALL_OTHERS, measures.CHANGE, measures.ERROR, measures.STAND_IN),
    ),
    "tests/visual/round/test_bars.py": (labels.CUT, labels.TARGET_ONLY, labels.DRAFT_ONLY),
    "tests/visual/tree": (
        labels.HOVER_TOKEN,
        labels.HOVER_NUMBERS,
        labels.HOVER_WAITING,
        labels.LEVEL_TICK,
    ),
    "tests/visual/pages and tests/browser: settings, loading, places": (
        *(measures.M_LOWERED, measures.M_LOWERED_PROBES, measures.PROBES_LOWERED),
        *(measures.S_RAISED, measures.K_LOWERED, labels.BROWSER, labels.LOADING_PART),
        *(labels.TIME_IS_UP, labels.PROMPT_TOO_LONG),
    ),
}


@functools.cache
def run_named(name: str) -> Run:
    """A shipped run, a tiny run of a strategy, or one that is made for a sentence."""
    if name.endswith(".gz"):
        return io.load(ASSETS / "traces" / name)
    if name == "m = 0":
        made = decoding(tiny_pair(), strategy="rheo", m=0, T=0.9, seed=11, K=5, R=12)
        new_tokens(made)
        return run_of(made)
    if name == "cut":
        return every(play("rheo", 0.9))[1]
    strategy, T = name.split()
    return play(strategy, float(T))


PLANTED = ("first.json.gz", "rrsw-luckier.json.gz", "rheo-multi 0.9", "naive 0.9")
NAMES = [*GALLERY, *(f"{strategy} {T}" for strategy, T in CASES), "m = 0", "cut"]


def strings(value: object) -> list[str]:
    """Every string in a constant of words."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    return [text for part in value for text in strings(part)] if isinstance(value, tuple) else []


TEMPLATES = {
    text
    for module in WORDS
    for name, value in vars(module).items()
    if name.isupper()
    for text in strings(value)
}
NUMBERLESS = [
    pattern(text)
    for text in TEMPLATES
    if not has_number(text) and len(re.sub(r"\{\w+\}", "", text)) >= LEAST_LITERAL
]


def without_tokens(said: Said) -> str:
    """A text without the tokens in it that have digits of their own."""
    text = said.text
    for token in (t for t, name in said.run.tokens.items() if any(c.isdigit() for c in name)):
        text = text.replace(sentences.word(said.run, token), "")
    return text


def check(said: Said) -> str | None:
    """Hold a text against the trace; return the template that read it, None without a number.

    Raises:
        AssertionError: a number is wrong, or stands in a sentence that has no check.
    """
    for where, template, held in CHECKS:
        if where == said.where and (found := pattern(template).fullmatch(said.text)):
            held(said, found.groupdict())
            return template
    if not any(plain.fullmatch(said.text) for plain in NUMBERLESS):
        assert not NUMBER.search(without_tokens(said)), f"no check: {said.where}: {said.text}"
    return None


def lies(said: Said, template: str) -> list[Said]:
    """The same text with another number, once for each number in it."""
    out, found = [], pattern(template).fullmatch(said.text)
    for name in fields(template) if found and has_number(template) else ():
        for number in NUMBER.finditer(found[name] if name not in LETTERS - {"named"} else ""):
            if name == "named" and not FILLERS.match(found[name], number.start()):
                continue  # a digit of a token
            lie = re.sub(r"[1-9]", lambda d: str(int(d[0]) % 9 + 1), number[0], count=1)
            at = found.start(name) + number.start()
            lie = (
                said.text[:at]
                + (lie if lie != number[0] else "7")
                + said.text[at + len(number[0]) :]
            )
            out.append(Said(**{**vars(said), "text": lie}))
    return out


@pytest.mark.parametrize("name", NAMES)
def test_every_number_follows_from_the_trace_and_another_would_not(name):
    seen: dict[str, Said] = {}
    count = 0
    for said in of_run(run_named(name)):
        if template := check(said):
            seen.setdefault(template, said)
            count += 1
    assert count > 20 and len(seen) > 8
    for template, said in seen.items() if name in PLANTED else ():
        for lie in lies(said, template):
            with pytest.raises(AssertionError):
                check(lie)
                pytest.fail(f"unnoticed: {lie.text} instead of {said.text}", pytrace=False)


@pytest.mark.parametrize("name", ["first.json.gz", "rrsw-luckier.json.gz", "one-hot-loses.json.gz"])
def test_the_sliders_say_the_runs_own_numbers_under_its_settings(name):
    run = run_named(name)
    for visit in [v for v in run.rounds[0].visits if v.ids]:
        said = [check(text) for text in of_what_if(run, run.rounds[0], visit)]
        assert len([template for template in said if template]) == 3
    settings = next(of_what_if(run, run.rounds[0], run.rounds[0].visits[0])).text
    assert ("m = " in settings) == (run.params["strategy"] != "topk")


def test_each_template_with_a_number_has_a_check():
    checked = [template for _, template, _ in CHECKS]
    known = {text for names in ELSEWHERE.values() for text in strings(names)}

    def has_check(text: str) -> bool:
        renamed = text.rstrip(".").replace("{token}", "{name}"), text.rstrip(".")
        ending = text.replace("{token}", "{next}").replace("{distribution}", "{root}")
        left = text.replace("{mass} of", "{left} of")
        return any(x in template for template in checked for x in (*renamed, ending, left))

    lacking = {text for text in TEMPLATES if has_number(text) and not has_check(text)} - known
    assert not lacking
    assert not known - TEMPLATES


def test_a_sentence_without_a_check_is_noticed():
    run = run_named("first.json.gz")
    with pytest.raises(AssertionError, match="no check"):
        check(Said("headline", "The draft was right 7 times.", run, run.rounds[0]))
    assert has_number("right {count} times") and not has_number("The walk is at {token}.")
