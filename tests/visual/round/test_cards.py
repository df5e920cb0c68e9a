"""Cards: their numbers prove their verdict, nothing concealed gives it away, no token acts."""

import re
from html.parser import HTMLParser

import pytest

from tests.visual import by_hand, sample
from tests.visual.played import every
from visual.round import cards, steps
from visual.words import labels, sentences

MADE = [by_hand.run(), by_hand.rrsw(), *(sample.run(4, seed=seed) for seed in (3, 4))]
TAGS = {"div", "p", "b", "i", "em", "s", "span", "code"}
ATTRIBUTES = {"class", "style", "data-rule", "aria-hidden"}
VERDICT = re.compile("accepted|rejected|emitted|holds|does not hold|✓|✕|is left")


class Card(HTMLParser):
    """What of a card is open and what is concealed: text, and where things stand."""

    def __init__(self, html):
        super().__init__()
        self.open, self.concealed = "", ""
        self.stack, self.tags, self.attributes = [], set(), set()
        self.segments, self.tick, self.bare_tick = [], None, False  # [classes, left, right]
        self.feed(html)
        assert not self.stack  # every tag is closed

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        classes = said.get("class", "").split()
        self.tags.add(tag)
        self.attributes |= set(said)
        if tag == "i" and self.stack and "rs-unit" in self.stack[-1][1]:
            left = self.segments[-1][2] if self.segments else 0.0
            self.segments.append((classes, left, left + percent(said["style"])))
        self.stack.append((tag, classes))
        if "rs-tick" in classes:
            self.tick = percent(said["style"])
            self.bare_tick = not self.hidden()

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        if self.hidden():
            self.concealed += data
        else:
            self.open += data + " "

    def hidden(self):
        return any("spoiler" in classes for _, classes in self.stack)


def percent(style):
    return float(re.fullmatch(r"(?:width|left):([\d.]+)%", style)[1]) / 100


def of_steps(runs):
    for run in runs:
        for round in run.rounds:
            for visit in round.visits:
                made = cards.of_visit(run, round, visit)
                yield from (
                    (run, visit, s, html) for s, html in zip(visit.steps, made, strict=True)
                )


def leaks(step, html):
    """What a concealed card tells of its verdict all the same."""
    card = Card(html)
    shown = re.findall(r"\d+\.\d+", card.open)
    known = {step.low, step.high, step.ratio, step.p, step.q_tilde} - {None}
    drawn = [x for u in (step.uniform, step.share) for x in shown if abs(float(x) - u) < 5e-4]
    drawn = [x for x in drawn if all(abs(float(x) - k) > 6e-4 for k in known)]
    names = re.sub(r"its interval", "", card.open)
    return [*VERDICT.findall(names), *drawn, *(["tick"] if card.bare_tick else [])]


def check_concealed(runs):
    count = 0
    for _, _, step, html in of_steps(runs):
        count += 1
        assert not leaks(step, html)
        assert leaks(step, html.replace("spoiler", ""))  # the check itself can fail
        assert labels.VERDICTS[step.verdict] in Card(html).concealed
    assert count


def test_nothing_concealed_shows():
    check_concealed(MADE)


def test_nothing_concealed_shows_with_every_strategy(played):
    check_concealed(every(played))


PROBE = re.compile(
    r"min\(1, (?P<distribution>[pr]) / (?P<draft>q̃′*)\) = min\(1, (?P<p>\S+) / (?P<q>\S+)\) = "
    r"(?P<ratio>[\d.]+).*?; u₁ = (?P<u>[\d.]+): (?P<said>\w+)"
)
LEFT = re.compile(r"= max\(0, [pr] − q̃′*\) / (?P<mass>\S+)")
INTERVAL = re.compile(
    r"\[(?P<low>[\d.]+), (?P<high>[\d.]+)\) of .*? (?P<holds>holds|does not hold) (u₂ = )?"
    r"(?P<u>[\d.]+).*: (?P<said>\w+)"
)


def all_text(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).replace(" :", ":").replace(" ;", ";").split())


def check_probe(visit, step, html):
    """By the numbers that a reader sees, and by what a rejection takes."""
    found = PROBE.search(all_text(html))
    ratio, u = float(found["ratio"]), float(found["u"])
    assert (u < ratio) == (found["said"] == "accepted") == (step.verdict == "accept")
    quotient = min(1.0, float(found["p"]) / float(found["q"]))
    assert quotient == pytest.approx(ratio, rel=0.02, abs=6e-4)
    taken = [right for classes, _, right in Card(html).segments if classes == ["probe"]]
    assert (taken or [0.0]) == pytest.approx([step.ratio], abs=6e-5)
    assert Card(html).tick == pytest.approx(u, abs=6e-4)
    first = visit.steps[0] is step
    assert (found["distribution"], found["draft"]) == ("p", "q̃") or not first
    left = LEFT.search(all_text(html))
    assert bool(left) <= (step.verdict == "reject")
    if left and first:
        total = sum(visit.p) + sum(visit.outside_p) + visit.rest
        pairs = zip(visit.p, visit.q_tilde[0], strict=True)
        taken = sum(min(p / total, q) for p, q in pairs)
        assert float(left["mass"]) == pytest.approx(1 - taken, rel=6e-3, abs=1e-6)


def check_draw(step, html, is_drawn):
    """The tick falls into the outlined segment just where the words say so."""
    card = Card(html)
    here = [(left, right) for classes, left, right in card.segments if "here" in classes]
    assert card.segments[-1][2] == pytest.approx(1, abs=1e-3)
    if step.high - step.low < 5e-4 or not is_drawn:  # thinner than a hair
        return
    ((left, right),) = here
    assert (left, right) == pytest.approx((step.low, step.high), abs=2e-3)
    if min(abs(card.tick - left), abs(card.tick - right)) > 2e-3:
        assert (left < card.tick < right) == (step.verdict != "reject")
    if step.rule == "sibling":
        found = INTERVAL.search(all_text(html))
        low, high, u = (float(found[name]) for name in ("low", "high", "u"))
        assert (low <= u < high) == (found["holds"] == "holds") == (found["said"] == "accepted")
        assert (step.verdict == "accept") == (found["said"] == "accepted")


def check_numbers(runs, drawn=True):
    for _, visit, step, html in of_steps(runs):
        if step.rule == "probe":
            check_probe(visit, step, html)
        else:
            check_draw(step, html, drawn or step.rule != "emit")


def test_every_verdict_follows_from_the_numbers_of_its_card():
    check_numbers(MADE[:2])
    check_numbers(MADE[2:], drawn=False)  # the sample's emissions are not drawn by their uniform


def test_every_verdict_follows_from_the_numbers_with_every_strategy(played):
    check_numbers(every(played))


def test_a_false_card_is_noticed():
    run = by_hand.run()
    round = run.rounds[0]
    visit = round.visits[0]
    probe, _, dog = cards.of_visit(run, round, visit)
    for wrong in ("0.611|0.111", "0.5<|0.6<", "rejected|accepted", "left:61.1%|left:11%"):
        lie = re.sub(*wrong.split("|"), probe)
        assert lie != probe
        with pytest.raises(AssertionError):
            check_probe(visit, visit.steps[0], lie)
    for wrong in (("0.712", "0.512"), ("width:60%", "width:70%"), ("accepted", "rejected")):
        lie = dog.replace(*wrong)
        assert lie != dog
        with pytest.raises(AssertionError):
            check_draw(visit.steps[2], lie, True)


def test_the_cards_by_hand():
    run = by_hand.run()
    probe, cat, dog = (
        all_text(c) for c in cards.of_visit(run, run.rounds[0], run.rounds[0].visits[0])
    )
    assert "min(1, p / q̃) = min(1, 0.1 / 0.4) = 0.250; u₁ = 0.611: rejected" in probe
    assert "r = max(0, p − q̃) / 0.5" in probe
    assert "its interval [0, 0.600) of the residual does not hold u₂ = 0.712: rejected" in cat
    assert "its interval [0.600, 0.800) of the residual holds u₂ = 0.712: accepted" in dog
    missed = [all_text(c) for _, _, _, c in of_steps([by_hand.rrsw()])]
    assert "min(1, r / q̃)" in missed[1] and "r′ = max(0, r − q̃) / 0.5" in missed[1]
    assert "holds 0.600 (u₂ = 0.680, rescaled behind the head)" in missed[3]
    (_, _, _, behind) = list(of_steps([run]))[-1]
    assert "not emitted" in behind


def test_rejected_siblings_are_hatched_and_others_keep_their_place():
    run = by_hand.run()
    _, cat, dog = cards.of_visit(run, run.rounds[0], run.rounds[0].visits[0])
    looks = [[" ".join(classes) for classes, *_ in Card(card).segments] for card in (cat, dog)]
    assert looks == [
        ["deterministic here", "filler", "other"],
        ["deterministic gone", "filler here", "other"],
    ]


@pytest.mark.parametrize("hostile", ["<img src=x onerror=go()>", '"><b>', "</p>", "&lt;", "\ud800"])
def test_a_hostile_token_stays_text(hostile):
    for plain in (by_hand.run(), by_hand.rrsw()):
        run = by_hand.with_text(plain, hostile)
        for _, _, _, html in of_steps([run]):
            card = Card(html)
            assert card.tags <= TAGS and card.attributes <= ATTRIBUTES
            assert sentences.token(hostile) in card.open + card.concealed
            html.encode()  # no lone surrogate
        for round in run.rounds:
            for frame in steps.of(run, round):
                frame["sentence"].encode()


def test_hostile_tokens_of_every_strategy_stay_text(played):
    for _, _, _, html in of_steps([played]):
        card = Card(html)
        assert card.tags <= TAGS and card.attributes <= ATTRIBUTES
