"""What the page's words claim, against the engine, the paper's figures and each other."""

import re
from dataclasses import replace

import pytest
import torch

from rheo.algorithm.distribution import support, tail
from rheo.exact.transport import node
from rheo.params import DecodeParams
from tests.visual import by_hand
from tests.visual.run.test_metrics import PAPER
from visual.dilemma import acceptance
from visual.round import steps
from visual.words import glossary, measures, one_hot

pytestmark = pytest.mark.usefixtures("one_thread")
TERMS = dict(glossary.TERMS)


def test_the_projection_pairs_each_speed_up_with_its_own_tau():
    said = measures.PROJECTION_WHY.format(draft=0.1, overhead=0.1)
    told = {
        (float(tau), float(ratio)) for ratio, tau in re.findall(r"([\d.]+)× at τ (\d\.\d+)", said)
    }
    by_ratio = sorted(PAPER, key=lambda pair: pair[1])
    assert told == {by_ratio[0], by_ratio[-1]}
    assert "8 to 13 billion" in said


def test_a_bound_that_top_k_passes_is_that_of_rules_that_keep_the_probes_slot():
    at_node = node([0.3, 0.7, 0.0], [0.4, 0.35, 0.25], m=1, K=2, T=1.0)
    topk = at_node.couplings["topk"].split.accepted
    assert topk == pytest.approx(1) and at_node.optimum < 0.99
    said = acceptance.sentence(at_node)
    assert (
        f"no rule that keeps the probe’s slot gets more than {acceptance.percent(at_node.optimum)}"
        in said
    )
    assert "Here the fixed guesses win" in said and "The 2nd guess" in said


@pytest.mark.parametrize(("p", "q"), [([0.6, 0.4], [0.9, 0.1]), ([0.9, 0.1], [0.9, 0.1])])
def test_one_slot_is_one_word(p, q):
    said = acceptance.sentence(node(p, q, m=0, K=1, T=1.0))
    assert "the same word" in said or "The 1st guess" in said
    assert "1 words" not in said and "1 places" not in said


def test_at_T_0_the_probe_is_the_tails_best():
    run = by_hand.run()
    cold = replace(run, params={**run.params, "T": 0.0})
    told = [" ".join(frame["sentence"] for frame in steps.of(x, x.rounds[0])) for x in (run, cold)]
    assert "drawn at random: the probe" in told[0]
    assert "drawn at random" not in told[1] and "the best of the tail" in told[1]
    q = torch.tensor(by_hand.Q, dtype=torch.float64)
    assert tail(support(q.log(), None), 1, 0.0).max() == 1


def test_the_support_is_what_a_probe_is_drawn_from():
    idea = " ".join(glossary.PLAIN_WORDS)
    assert f"S = {DecodeParams().S}" in idea and "support" in idea
    assert "any token" not in idea and "all the others" not in idea
    assert "1 / T" in TERMS["q̃"] and " r," in TERMS["one-hot"]


def test_exactly_one_slot_is_random_at_every_m():
    for m in range(4):
        at_node = node([0.3, 0.2, 0.2, 0.15, 0.15], [0.35, 0.25, 0.2, 0.1, 0.1], m=m, K=4, T=1.0)
        assert at_node.q_tilde is not None and at_node.m == m
        assert DecodeParams(m=m, K=4, R=20).J == 1
    assert "at every m exactly one slot is random" in one_hot.DIAL_NOTE
