"""Tokens, steps and runs in words: a token's visible form, one sentence a step, the summary."""

import functools
import html
import math
import unicodedata
from collections.abc import Sequence

from rheo.counting import counted
from rheo.params import strategy_fields
from rheo.trace.schema import Node, Round, Run, Step, Visit
from visual.style.palette import MARKS
from visual.words import labels, measures

VISIBLE = {" ": "␣", "\n": "↵", "\r": "␍", "\t": "→", "\x7f": "␡", "\N{NO-BREAK SPACE}": "⍽"}
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}  # what does not print by itself
MOST_DIGITS = 12
SMALL = 0.1  # below, three decimals are fewer than three digits


@functools.lru_cache(maxsize=1 << 16)
def token(text: str, limit: int | None = None) -> str:
    """Return a token so that all of it shows: nothing is stripped, nothing acts (bidi, NUL).

    Args:
        limit: cut to this many columns (a wide character takes two), the last one "…".

    >>> token(" sea\\n"), token("\\u202eabc"), token(" lighthouse", limit=8), token("")
    ('␣sea↵', '⟨U+202E⟩abc', '␣lighth…', '⟨⟩')
    """
    glyphs = [visible(char) for char in text] or ["⟨⟩"]
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


def visible(char: str) -> str:
    """Return a character as it can be seen."""
    if char in VISIBLE:
        return VISIBLE[char]
    if char < " ":
        return chr(0x2400 + ord(char))  # control pictures
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in HIDDEN else char


def harmless(text: str) -> str:
    """Return a text as it is, with what cannot be seen, or turns others round, made visible.

    >>> harmless("a b\\n\\u202ec")
    'a b\\n⟨U+202E⟩c'
    """
    return "".join(char if char in " \n\t" else visible(char) for char in text)


def _width(glyph: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in glyph)


def name(run: Run, token_id: int, limit: int | None = None) -> str:
    """Return a token id as `token`; an id the trace does not know is ⟨id⟩."""
    return token(run.tokens.get(token_id, f"⟨{token_id}⟩"), limit)


def word(run: Run, token_id: int) -> str:
    """Return `name` for a sentence: in quotes, where it begins with no visible space."""
    shown = name(run, token_id)
    return shown if shown.startswith("␣") else labels.QUOTED.format(token=shown)


def escape(text: str) -> str:
    """Return text for plotly, which reads a little HTML: `<b>` shows as it is, quotes stay quotes.

    >>> escape('<b>"&amp;"')
    '&lt;b&gt;"&amp;amp;"'
    """
    return html.escape(text, quote=False)


def settings(run: Run, names: Sequence[str], **values: object) -> str:
    """Return the run's settings of these names that its strategy depends on, in words.

    Args:
        values: what stands instead of the run's own.
    """
    known = {**run.params, **values}
    fields = strategy_fields(known.get("strategy"))
    said = [
        measures.SETTING_FORMS[n].format(**known) for n in names if n in known and fields.reads(n)
    ]
    return ", ".join(said)


def sentences(run: Run, round: Round) -> list[str]:
    """Return one sentence per step of the walk, in its order, with the step's own numbers."""
    out = []
    for visit in round.visits:
        distribution = "p"
        for step in visit.steps:
            if step.rule == "probe":
                out.append(_probe_sentence(run, step))
                distribution = "residual"
            elif step.rule == "sibling":
                out.append(_sibling_sentence(run, step, distribution))
            else:
                out.append(_emit_sentence(run, round, visit, step, distribution))
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


def _sibling_sentence(run: Run, step: Step, distribution: str) -> str:
    said = {
        "token": word(run, step.token),
        "distribution": labels.DISTRIBUTIONS[distribution],
        "verdict": labels.VERDICTS[step.verdict],
    }
    if step.low == step.high:
        return labels.NO_MASS_STEP.format(**said)
    holds = labels.HOLDS if step.low <= step.share < step.high else labels.MISSES
    return labels.SIBLING_STEP.format(**said, **interval(step), holds=holds)


def _emit_sentence(run: Run, round: Round, visit: Visit, step: Step, distribution: str) -> str:
    if all(emission.node is not None for emission in round.emitted):
        return labels.UNSEEN_STEP.format(token=word(run, step.token))
    template = labels.BONUS_STEP if round.is_leaf(visit.node) else labels.EMIT_STEP
    return template.format(
        token=word(run, step.token),
        distribution=labels.DISTRIBUTIONS[distribution],
        **interval(step),
    )


def interval(step: Step) -> dict[str, str]:
    """Return low, high and the share that does or does not fall between them, as words."""
    low, high, share = ordered([step.low, step.high, step.share])
    shown = labels.SHARE.format(u=share)
    if abs(step.share - step.uniform) > 1e-6:
        _, u = ordered([step.share, step.uniform])
        shown = labels.RESCALED.format(share=share, u=u)
    return {"low": low, "high": high, "share": shown}


def number(x: float) -> str:
    """Return a number with three significant digits.

    >>> number(0.03142), number(1.0), number(0.0), number(3.14159e-07)
    ('0.0314', '1', '0', '3.14e-07')
    """
    return f"{x:.3g}"


def ordered(values: Sequence[float]) -> list[str]:
    """Return numbers with as many decimals, three at least, as tell the different ones apart.

    Small ones have as many digits.

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


def headline(run: Run, round: Round) -> str:
    """Return a round in one sentence.

    It says what was written and accepted, what became of the probe, and the expectation of this
    tree beside the same nodes verified one-hot.
    """
    if len(round.nodes) == 1:
        return labels.NO_DRAFT.format(token=word(run, round.visits[-1].steps[-1].token))
    probes = any(node.kind == "probe" for node in round.nodes)
    said = labels.ACCEPTED.format(
        tokens=counted(len(round.emitted), measures.COUNTS["token"]),
        accepted=round.accepted,
        drafted=counted(len(round.nodes) - 1, measures.COUNTS["draft token"]),
    )
    said += _probes(run, round.visits, round.nodes) if probes else ""
    both = {
        "expected": f"{round.expected_accepted:.2f}",
        "one_hot": f"{one_hot_expected(run, round):.2f}",
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


def one_hot_expected(run: Run, round: Round) -> float:
    """Return the expected accepted tokens of these nodes, were each verified as a point mass.

    Exact: one-hot verification reaches a node with the product of p along its path. A node below
    one that ends the text does not count.
    """
    reach = [1.0]
    for node, ended in zip(round.nodes[1:], round.below_end(run.end_tokens)[1:], strict=True):
        reach.append(0.0 if ended else reach[node.parent] * node.p)
    return math.fsum(reach[1:])


def summary(run: Run) -> list[tuple[str, str]]:
    """Return the run in (label, value) pairs."""
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
