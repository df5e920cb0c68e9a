"""Tokens, steps and runs in words: a token's visible form, one sentence a step, the summary."""

import codecs
import functools
import html
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rheo.params import strategy_fields
from rheo.trace.schema import Emission, Node, Round, Run, Step, Visit
from visual.style.palette import MARKS
from visual.words import labels

VISIBLE = {" ": "␣", "\n": "↵", "\r": "␍", "\t": "→", "\x7f": "␡", "\N{NO-BREAK SPACE}": "⍽"}
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}  # what does not print by itself
BYTE = re.compile("⟨0x([0-9A-F]{2})⟩")  # a token that is no whole character
MOST_DIGITS = 12
SMALL = 0.1  # below, three decimals are fewer than three digits


@functools.lru_cache(maxsize=1 << 16)
def token(text: str, limit: int | None = None) -> str:
    """A token so that all of it shows: nothing is stripped, nothing acts (newline, bidi, NUL).

    Args:
        limit: cut to this many columns (a wide character takes two), the last one "…".

    >>> token(" sea\\n"), token("\\u202eabc"), token(" lighthouse", limit=8), token("")
    ('␣sea↵', '⟨U+202E⟩abc', '␣lighth…', '⟨⟩')
    """
    glyphs = [_glyph(char) for char in text] or ["⟨⟩"]
    if unicodedata.combining(text[:1] or " "):
        glyphs.insert(0, "◌")  # an accent needs something to stand on
    if limit is None or sum(map(_width, glyphs)) <= limit:
        return "".join(glyphs)
    kept, room = [], limit - 1
    for glyph in glyphs:
        room -= _width(glyph)
        if room < 0:
            break
        kept.append(glyph)
    return "".join(kept) + "…"


def _glyph(char: str) -> str:
    if char in VISIBLE:
        return VISIBLE[char]
    if char < " ":
        return chr(0x2400 + ord(char))  # control pictures
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in HIDDEN else char


def _width(glyph: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in glyph)


def name(run: Run, token_id: int, limit: int | None = None) -> str:
    """A token id as `token`; an id the trace does not know is ⟨id⟩."""
    return token(run.tokens.get(token_id, f"⟨{token_id}⟩"), limit)


def word(run: Run, token_id: int) -> str:
    """`name` inside a sentence: in quotes, where it does not begin with a visible space."""
    shown = name(run, token_id)
    return shown if shown.startswith("␣") else labels.QUOTED.format(token=shown)


def escape(text: str) -> str:
    """For a plotly text, which reads a little HTML: `<b>` shows as it is, quotes stay quotes.

    >>> escape('<b>"&amp;"')
    '&lt;b&gt;"&amp;amp;"'
    """
    return html.escape(text, quote=False)


# The transcript


def transcript(
    run: Run,
    upto_round: int | None = None,
    active: int | None = None,
    chosen: int | None = None,
) -> str:
    """All new tokens as HTML, one span each, newlines kept.

    A span's classes are "token" and the origin; data-mark is the origin's letter for the style
    sheet to show, data-round and data-node (of an accepted draft token) say where it comes from.
    The characters that several tokens make up stand in the span of the last of them.

    Args:
        upto_round: the last round to show, -1 for the prefill's token alone; None for all.
        active, chosen: the round whose spans get the class "active", and the node of it whose
            span gets "chosen".
    """
    shown = run.rounds if upto_round is None else run.rounds[: upto_round + 1]
    placed: list[tuple[int | None, Emission]] = [(None, run.first)]
    placed += [(r.index, emission) for r in shown for emission in r.emitted]
    pieces = _characters(run.tokens.get(e.token, f"⟨{e.token}⟩") for _, e in placed)
    spans = [
        _span(run, at, emission, piece, active, chosen)
        for (at, emission), piece in zip(placed, pieces, strict=True)
    ]
    return f'<div class="transcript" style="white-space:pre-wrap">{"".join(spans)}</div>'


def _span(
    run: Run, at: int | None, emission: Emission, piece: str, active: int | None, chosen: int | None
) -> str:
    classes = ["token", emission.origin]
    where = ""
    title = labels.SPAN_FIRST
    if at is not None:
        where, title = f' data-round="{at}"', labels.SPAN_TITLE
        classes += ["active"] if at == active else []
    if emission.node is not None:
        where += f' data-node="{emission.node}"'
        classes += ["chosen"] if at == active and emission.node == chosen else []
    title = title.format(
        token=name(run, emission.token),
        origin=labels.ORIGINS[emission.origin],
        round=None if at is None else at + 1,
    )
    return (
        f'<span class="{" ".join(classes)}" data-mark="{MARKS[emission.origin].letter}"{where}'
        f' title="{html.escape(title)}">{html.escape(piece)}</span>'
    )


def _characters(texts: Iterable[str]) -> Iterator[str]:
    """Running text of tokens: bytes join to characters, what would act or hide is made visible."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for text in texts:
        plain = "".join(char if char in " \n\t" else _glyph(char) for char in text)
        parts = BYTE.split(plain)  # text, byte, text, byte, ..., text
        raw = [bytes([int(p, 16)]) if i % 2 else p.encode() for i, p in enumerate(parts)]
        yield decoder.decode(b"".join(raw))


# One sentence a step


def sentences(run: Run, round: Round) -> list[str]:
    """One sentence per step of the walk, in its order, with the step's own numbers."""
    out = []
    for visit in round.visits:
        law = "p"
        for step in visit.steps:
            if step.rule == "probe":
                out.append(_probe_sentence(run, step))
                law = "residual"
            elif step.rule == "sibling":
                out.append(_sibling_sentence(run, step, law))
            else:
                out.append(_emit_sentence(run, round, visit, step, law))
    return out


def _probe_sentence(run: Run, step: Step) -> str:
    ratio, u = ordered([step.ratio, step.uniform])
    return labels.PROBE_STEP.format(
        token=word(run, step.token),
        p=number(step.p),
        q_tilde=number(step.q_tilde),
        ratio=ratio,
        u=u,
        verdict=labels.VERDICTS[step.verdict],
    )


def _sibling_sentence(run: Run, step: Step, law: str) -> str:
    said = {
        "token": word(run, step.token),
        "law": labels.LAWS[law],
        "verdict": labels.VERDICTS[step.verdict],
    }
    if step.low == step.high:
        return labels.NO_MASS_STEP.format(**said)
    holds = labels.HOLDS if step.low <= step.share < step.high else labels.MISSES
    return labels.SIBLING_STEP.format(**said, **interval(step), holds=holds)


def _emit_sentence(run: Run, round: Round, visit: Visit, step: Step, law: str) -> str:
    if all(emission.node is not None for emission in round.emitted):
        return labels.UNSEEN_STEP.format(token=word(run, step.token))
    template = labels.BONUS_STEP if round.is_leaf(visit.node) else labels.EMIT_STEP
    return template.format(token=word(run, step.token), law=labels.LAWS[law], **interval(step))


def interval(step: Step) -> dict[str, str]:
    """low, high and the share that does or does not fall between them, as a sentence says them."""
    low, high, share = ordered([step.low, step.high, step.share])
    shown = labels.SHARE.format(u=share)
    if abs(step.share - step.uniform) > 1e-6:
        _, u = ordered([step.share, step.uniform])
        shown = labels.RESCALED.format(share=share, u=u)
    return {"low": low, "high": high, "share": shown}


def number(x: float) -> str:
    """Three significant digits.

    >>> number(0.03142), number(1.0), number(0.0), number(3.14159e-07)
    ('0.0314', '1', '0', '3.14e-07')
    """
    return f"{x:.3g}"


def ordered(values: Sequence[float]) -> list[str]:
    """Numbers with as many decimals, three at least, as it takes to tell the different ones apart;
    small ones with as many digits.

    >>> ordered([0.6113, 0.6111]), ordered([0.0, 0.00041, 0.5])
    (['0.6113', '0.6111'], ['0', '0.00041', '0.500'])
    """
    for digits in range(3, MOST_DIGITS):
        shown = [_decimal(x, digits) for x in values]
        if len(set(map(float, shown))) == len(set(values)):
            break
    return shown


def _decimal(x: float, digits: int) -> str:
    if x in (0, 1):
        return str(int(x))
    return f"{x:.{digits}g}" if 0 < x < SMALL else f"{x:.{digits}f}"


# A round and a run in one line


def headline(run: Run, round: Round) -> str:
    """The round's point: what was written and accepted, what became of the probe, and the
    expectation of this tree beside the same nodes verified one-hot."""
    if len(round.nodes) == 1:
        return labels.NO_DRAFT.format(token=word(run, round.visits[-1].steps[-1].token))
    probes = any(node.kind == "probe" for node in round.nodes)
    one, more = labels.TOKENS
    written = one if len(round.emitted) == 1 else more.format(count=len(round.emitted))
    drafted = len(round.nodes) - 1
    said = labels.ACCEPTED.format(tokens=written, accepted=round.accepted, drafted=drafted)
    said += _probes(run, round.visits, round.nodes) if probes else ""
    both = {
        "expected": f"{round.expected_accepted:.2f}",
        "one_hot": f"{one_hot_expected(round):.2f}",
    }
    said += (labels.EXPECTED if probes else labels.EXPECTED_ONE_HOT).format(**both)
    lossless = strategy_fields(run.params.get("strategy")).lossless
    return said + ("" if lossless else labels.BIASED) + "."


def _probes(run: Run, visits: Sequence[Visit], nodes: Sequence[Node]) -> str:
    tests = [(visit, step) for visit in visits for step in visit.steps if step.rule == "probe"]
    taken = [word(run, step.token) for _, step in tests if step.verdict == "accept"]
    if taken:
        template = labels.PROBE_TAKEN if len(taken) == 1 else labels.PROBES_TAKEN
        return template.format(tokens=" ".join(taken))
    lost = [word(run, step.token) for _, step in tests]
    if len(lost) == 1:
        last = tests[0][0].steps[-1]
        kind = "" if last.child is None else nodes[last.child].kind
        then = labels.PROBE_LOST[last.verdict]
        return then.format(tokens=lost[0], kind=kind, next=word(run, last.token))
    return labels.PROBES_LOST.format(tokens=" ".join(lost)) if lost else labels.NO_PROBE


def one_hot_expected(round: Round) -> float:
    """Expected accepted tokens of these kept nodes if each were verified as a point mass.

    Exact: one-hot verification reaches a node with the product of p along its path.
    """
    reach = [1.0]
    for node in round.nodes[1:]:
        reach.append(reach[node.parent] * node.p)
    return math.fsum(reach[1:])


def unvisited(run: Run, round: Round, node: int) -> str:
    """Why there are no distributions to show at `node`."""
    end = round.visits[-1].node if round.visits else 0
    there: Node = round.nodes[node]
    return labels.UNVISITED.format(
        token=word(run, there.token), end=word(run, round.nodes[end].token)
    )


def summary(run: Run) -> list[tuple[str, str]]:
    """The run in (label, value) pairs."""
    none = labels.NOTHING_YET
    seconds = math.fsum(r.ms.total for r in run.rounds) / 1000
    tokens = sum(len(r.emitted) for r in run.rounds)
    expected = run.expected_accepted
    kinds = (f"{MARKS[kind].letter} {count}" for kind, count in run.accepted_by_kind().items())
    return [
        (labels.TAU, none if run.tau is None else f"{run.tau:.2f}"),
        (labels.EXPECTED_TAU, none if expected is None else f"{expected + 1:.2f}"),
        (labels.SPEED, f"{tokens / seconds:.1f}" if seconds else none),
        (labels.BY_KIND, " · ".join(kinds)),
        (labels.STOPPED, labels.STOPS[run.stop]),
    ]
