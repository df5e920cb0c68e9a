"""Expected accepted tokens count as tau does: an end token itself, and nothing below it."""

import math

import pytest

from rheo.decoding.engine import Engine
from rheo.models.hub.catalogue import DEFAULT
from rheo.models.loader import load_pair
from rheo.params import DecodeParams
from rheo.trace.schema import Round
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of

pytestmark = pytest.mark.usefixtures("one_thread")


def by_the_ends(round: Round, ends: set[int]) -> tuple[float, float]:
    """Expected accepted tokens by where a walk can stop, counted to an end token and in full."""
    reached = [1.0]
    for node in round.nodes[1:]:
        reached.append(reached[node.parent] * node.accept)
    counted = whole = 0.0
    for i, reach in enumerate(reached):
        stops = reach * (1 - math.fsum(child.accept for child in round.children(i)))
        path = [round.nodes[row].token in ends for row in round.path(i)]
        counted += stops * (path.index(True) + 1 if True in path else len(path))
        whole += stops * len(path)
    return counted, whole


@pytest.mark.parametrize("name", DRAFTING)
def test_nothing_below_an_end_token_is_expected(models, name: str) -> None:
    """Any end token at all: the run of each seed goes on until it meets one of these."""
    ends, fewer, gaps = {3, 8, 21, 40, 56, 77}, 0, []
    for seed in range(12):
        d = decoding(models, strategy=name, seed=seed, eos=ends, max_new_tokens=60)
        new_tokens(d)
        for r in run_of(d).rounds:
            counted, whole = by_the_ends(r, ends)
            assert r.expected_accepted == pytest.approx(counted, abs=1e-6)
            fewer += counted < whole - 1e-3
            gaps.append(r.accepted - r.expected_accepted)
    assert fewer > 5
    mean = math.fsum(gaps) / len(gaps)
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in gaps) / len(gaps))
    assert abs(mean) < 4 * spread / math.sqrt(len(gaps))


@pytest.mark.embedded
def test_the_embedded_pair_says_hi(embedded_folder) -> None:
    """Before, the last round said 2.379 and the run 2.086."""
    engine = Engine(load_pair(DEFAULT))
    d = engine.decode("Say hi.", DecodeParams(seed=0))
    new_tokens(d)
    run = engine.record(d, "Say hi.")
    assert run.stop == "eos" and set(run.end_tokens) == engine.target.eos_ids
    last = run.rounds[16]
    assert by_the_ends(last, set(run.end_tokens)) == pytest.approx((1.865, 2.379), abs=1e-3)
    assert last.expected_accepted == pytest.approx(1.865, abs=1e-3)
    assert 1 + run.expected_accepted == pytest.approx(2.055, abs=1e-3)
