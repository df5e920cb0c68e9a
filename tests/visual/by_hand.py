"""Two small runs whose every number can be checked by hand.

`run()` is `rheo` (m = 1, K = 4, depth 2, T = 1), three rounds:
0. the probe ␣sea is rejected (0.611 >= 0.1 / 0.4), the sibling ␣cat too, ␣dog is accepted, and
   ␣and is emitted from the residual there;
1. the probe ␣now is accepted (0.3 / 0.2 > 1), then ␣it, a leaf: the bonus is a newline;
2. the end of text is accepted as a draft token and ends the run.
`rrsw()` is `rheo-rrsw`, one round: the head ␣cat is missed, then the probe; ␣dog is accepted.
"""

import math
from dataclasses import replace

from rheo.trace.schema import Emission, Ghost, Milliseconds, Node, Round, Run, Step, Uniforms, Visit

EOS = "⟨|im_end|⟩"
WORDS = (
    " the/ cat/ sea/ dog/ mat/ sun/ moon/ sat/ ate/ lay/ hid/ air/ ice/ ran/ bit/ and/ then/ now/"
    " so/ but/ he/ it/ we/\n/ rained/" + EOS
)
TOKENS = dict(enumerate(WORDS.split("/")))
ID = {text.strip(" "): i for i, text in TOKENS.items()}


def ids(*names: str) -> tuple[int, ...]:
    return tuple(ID[name] for name in names)


def ghosts(*dropped: tuple[int, str, float]) -> tuple[Ghost, ...]:
    return tuple(Ghost(slot, ID[name], proxy) for slot, name, proxy in dropped)


def root(name: str, *dropped) -> Node:
    return Node(
        "root", ID[name], -1, -1, 0, 1.0, 1.0, 0.0, None, None, True, 0.5, 0.97, ghosts(*dropped)
    )


def child(kind, name, slot, proxy, p, accept, z=None, true=1.0, dropped=()) -> Node:
    """A child of the root; `z` of an expanded one."""
    state = (math.log(proxy), p, accept, z is not None, z, z and 0.98, ghosts(*dropped))
    return Node(kind, ID[name], 0, slot, 1, proxy, true, *state)


def grandchild(kind, name, parent, above, proxy, p, accept, slot=0, true=1.0) -> Node:
    """A leaf below node `parent`, whose own proxy is `above`."""
    score = math.log(above * proxy)
    return Node(kind, ID[name], parent, slot, 2, proxy, true, score, p, accept, False)


def probe(name, verdict, uniform, p, q_tilde, at) -> Step:
    ratio = min(1.0, p / q_tilde)
    return Step("probe", ID[name], verdict, uniform, uniform, p, at, q_tilde, ratio)


def sibling(name, verdict, uniform, p, at, low, high, share=None) -> Step:
    share = uniform if share is None else share
    return Step("sibling", ID[name], verdict, uniform, share, p, at, low=low, high=high)


def emit(name, uniform, p, low, high) -> Step:
    return Step("emit", ID[name], "emit", uniform, uniform, p, low=low, high=high)


def visit(at, names, p, q, q_tilde, outside, rest, mass, *steps) -> Visit:
    far = ids(*outside), tuple(outside.values())
    return Visit(at, ids(*names), p, q, q_tilde, len(names), *far, rest, mass, steps)


def leaf(at, outside, rest, step) -> Visit:
    return visit(at, (), (), (), (), outside, rest, 1.0, step)


def round_of(index, nodes, visits, emitted, expected, counted) -> Round:
    emissions = tuple(Emission(ID[name], origin, at) for name, origin, at in emitted)
    accepted = sum(at is not None for _, _, at in emitted)
    block = Uniforms(((0.611,), (0.31,), (0.5,)), (0.712, 0.653, 0.37), ((0.3,),) * 5)
    facts = (accepted, expected, Milliseconds(11.0, 30.0, 2.0, 1.0), block, counted)
    return Round(index, nodes[0].token, 12 + 3 * index, nodes, visits, emissions, *facts)


SEA = ("cat", "sea", "dog", "mat", "sun")
Q = (0.5, 0.2, 0.15, 0.1, 0.05)
Q_TILDE = (0.0, 0.4, 0.3, 0.2, 0.1)  # the tail, 0.5, renormalised


def rejected_probe() -> Round:
    """p1 = max(0, p - q-tilde) = (0.3, 0, 0.1, 0, 0 | 0.1) / 0.5; p2 = (␣dog 1/2 | 1/2).

    Expected 0.25 + 0.45 (1 + 0.64 + 0.2) + 0.15 + 0.25 x 0.5 + 0.15 x 0.4 = 1.413;
    one-hot 0.8 + 0.3 x 0.5 + 0.1 x 0.5 + 0.4 x 0.4 = 1.16.
    """
    lost = (
        ((2, "lay", 0.1), (3, "hid", 0.1)),
        ((1, "ice", 0.1),),
        ((1, "bit", 0.2), (2, "sat", 0.05)),
    )
    nodes = (
        root("the", (3, "mat", 0.1)),
        child("deterministic", "cat", 0, 0.5, 0.3, 0.45, z=0.4, dropped=lost[0]),
        child("probe", "sea", 1, 0.5, 0.1, 0.25, z=0.1, true=0.4, dropped=lost[1]),
        child("filler", "dog", 2, 0.15, 0.4, 0.15, z=0.2, dropped=lost[2]),
        grandchild("deterministic", "sat", 1, 0.5, 0.6, 0.4, 0.64),
        grandchild("probe", "ate", 1, 0.5, 0.4, 0.1, 0.2, slot=1, true=0.5),
        grandchild("deterministic", "air", 2, 0.5, 0.9, 0.5, 0.5),
        grandchild("deterministic", "ran", 3, 0.15, 0.8, 0.4, 0.4),
    )
    p = (0.3, 0.1, 0.4, 0.05, 0.05)
    tests = (
        probe("sea", "reject", 0.611, 0.1, 0.4, 2),
        sibling("cat", "reject", 0.712, 0.6, 1, 0.0, 0.6),
        sibling("dog", "accept", 0.712, 0.5, 3, 0.6, 0.8),
    )
    first = visit(0, SEA, p, Q, (Q_TILDE,), {"moon": 0.06}, 0.04, 0.5, *tests)
    tests = sibling("ran", "reject", 0.653, 0.4, 7, 0.0, 0.4), emit("and", 0.653, 1 / 3, 0.6, 0.8)
    there = (0.4, 0.1, 0.1), (0.8, 0.15, 0.05), ((0.0, 0.75, 0.25),)
    second = visit(3, ("ran", "bit", "sat"), *there, {"and": 0.2, "it": 0.1}, 0.1, 0.6, *tests)
    emitted = (("dog", "filler", 3), ("and", "residual", None))
    return round_of(0, nodes, (first, second), emitted, 1.413, 2)


def accepted_probe() -> Round:
    """Expected 1 + 0.7 = 1.7; one-hot 0.9 + 0.2 x 0.5 + 0.3 x 0.7 + 0.3 x 0.6 = 1.39."""
    nodes = (
        root("and"),
        child("deterministic", "then", 0, 0.5, 0.2, 0.0, z=0.1),
        child("probe", "now", 1, 0.5, 0.3, 1.0, z=0.2, true=0.2),
        child("filler", "so", 2, 0.25, 0.3, 0.0, z=0.2),
        child("filler", "but", 3, 0.15, 0.1, 0.0, z=0.2),
        grandchild("deterministic", "he", 1, 0.5, 0.9, 0.5, 0.5),
        grandchild("deterministic", "it", 2, 0.5, 0.8, 0.7, 0.7),
        grandchild("deterministic", "we", 3, 0.25, 0.8, 0.6, 0.6),
    )
    names, p, q = ("then", "so", "but", "now"), (0.2, 0.3, 0.1, 0.3), (0.5, 0.25, 0.15, 0.1)
    test = probe("now", "accept", 0.31, 0.3, 0.2, 2)
    first = visit(0, names, p, q, ((0.0, 0.5, 0.3, 0.2),), {"\n": 0.06}, 0.04, 1.0, test)
    there = (0.7, 0.1, 0.1), (0.8, 0.15, 0.05), ((0.0, 0.75, 0.25),)
    test = sibling("it", "accept", 0.53, 0.7, 6, 0.0, 0.7)
    second = visit(2, ("it", "he", "we"), *there, {}, 0.1, 1.0, test)
    third = leaf(6, {"\n": 0.5, "rained": 0.3}, 0.2, emit("\n", 0.37, 0.5, 0.1, 0.6))
    emitted = (("now", "probe", 2), ("it", "deterministic", 6), ("\n", "bonus", None))
    return round_of(1, nodes, (first, second, third), emitted, 1.7, 3)


def end_of_text() -> Round:
    """The one child is the end of text; what was drawn behind it is not emitted."""
    nodes = (root("\n"), child("deterministic", EOS, 0, 0.9, 0.95, 0.95))
    test = sibling(EOS, "accept", 0.712, 0.95, 1, 0.0, 0.95)
    only = visit(0, (EOS, "he"), (0.95, 0.05), (0.9, 0.1), ((0.0, 1.0),), {}, 0.0, 1.0, test)
    behind = leaf(1, {"the": 0.5}, 0.5, emit("the", 0.2, 0.5, 0.0, 0.5))
    return round_of(2, nodes, (only, behind), ((EOS, "deterministic", 1),), 0.95, 1)


def tested_first() -> Round:
    """RRSw: 0.68 misses the head (0.2), which leaves the share 0.48 / 0.8 = 0.6.

    p1 = p / 0.8 without ␣cat = (0, 0.1, 0.6, 0.05, 0.05 | 0.2); the probe's rejection leaves
    max(0, p1 - q-tilde) = (0, 0, 0.3, 0, 0 | 0.2), mass 0.5: ␣dog [0, 0.6) is missed by 0.6.
    """
    nodes = (
        root("the", (3, "mat", 0.1)),
        child("deterministic", "cat", 0, 0.5, 0.2, 0.2),
        child("probe", "sea", 1, 0.5, 0.08, 0.2, true=0.4),
        child("filler", "dog", 2, 0.15, 0.48, 0.36),
    )
    p = (0.2, 0.08, 0.48, 0.04, 0.04)
    tests = (
        sibling("cat", "reject", 0.68, 0.2, 1, 0.0, 0.2),
        probe("sea", "reject", 0.611, 0.1, 0.4, 2),
        sibling("dog", "reject", 0.68, 0.6, 3, 0.0, 0.6, 0.6),
        Step("emit", ID["and"], "emit", 0.68, 0.6, 0.6, low=0.6, high=0.84),
    )
    first = visit(0, SEA, p, Q, (Q_TILDE,), {"and": 0.096}, 0.064, 0.5, *tests)
    return round_of(0, nodes, (first,), (("and", "residual", None),), 0.76, 1)


def of(rounds: tuple[Round, ...], strategy: str, stop: str) -> Run:
    params = {"strategy": strategy, "m": 1, "K": 4, "R": 7, "depth": 2, "T": 1.0, "S": 5}
    params |= {"probes": 1, "top_p": 1.0, "top_k": 0, "seed": 0, "max_new_tokens": 8}
    text = "".join(TOKENS[e.token] for r in rounds for e in r.emitted)
    models = ("sample", "a target", "a draft", "cpu", "float32", {"rheo": "0.1.0"})
    start = (params, "Near", (7, 15), Emission(ID["the"], "prefill"))
    return Run(*models, *start, rounds, stop, " the" + text, TOKENS)


def run() -> Run:
    return of((rejected_probe(), accepted_probe(), end_of_text()), "rheo", "eos")


def rrsw() -> Run:
    return of((tested_first(),), "rheo-rrsw", "length")


def with_text(plain: Run, text: str) -> Run:
    """The same run, every token shown as `text`."""
    return replace(plain, tokens=dict.fromkeys(plain.tokens, text))
