"""Losslessness by sampling: whole rounds of tiny pairs against the target's joint distribution.

Float32, the functions that decode, 20,000 rounds a case; one Bonferroni level over all cases. Each
way to lose the distribution has its control, which must fail by far. `power` says what that many
rounds can see; the audit in `tests/exact` sees the same strategies without any noise.
"""

import itertools
from dataclasses import replace

import pytest
import torch
from scipy.stats import chi2, ncx2

from rheo.algorithm import verify
from rheo.algorithm.expansion import Policy
from rheo.algorithm.strategies import TABLE
from rheo.exact.monte_carlo import play
from rheo.exact.worlds import Tables, joint_distribution
from rheo.params import DecodeParams
from tests.tiny import tiny_model
from tests.worlds import tables_of

pytestmark = pytest.mark.usefixtures("one_thread")

ROUNDS = 20_000
LOSSLESS = ("topk", "rheo", "rheo-rrsw", "rheo-multi")
PAIRS = (0, 1, 2)
TEMPERATURES = (1.0, 0.6)
LEVEL = 0.001 / (len(LOSSLESS) * len(PAIRS) * len(TEMPERATURES))
CONTROL = 1e-6
# sum of (biased - true)^2 / true over the pairs of tokens, of each control below; measured over
# 600,000 rounds, with a standard error of 2 % or less
BIASES = {"naive scoring": 0.151, "ties": 0.0283, "q for q-tilde": 0.181, "residual p": 0.0479}


def pair(seed: int, vocab: int = 6) -> Tables:
    """The tables of a tiny random pair."""
    draft = tiny_model(seed=100 + seed, vocab=vocab, num_hidden_layers=2)
    target = tiny_model(seed=200 + seed, vocab=vocab, num_hidden_layers=2)
    return tables_of(draft, target, root=0, depth=2)


def power(bias: float, pairs: int, rounds: int, level: float) -> float:
    """Return the chance that a chi-square over `pairs` cells sees `bias` (as in `BIASES`).

    The statistic is a noncentral chi-square whose noncentrality is `rounds * bias`.
    """
    freedom = pairs - 1
    return float(ncx2.sf(chi2.isf(level, freedom), freedom, rounds * bias))


def test_the_rounds_are_enough() -> None:
    """The smallest bias of a control fails below 1e-6; a fifth of it would not pass as lossless."""
    smallest = min(BIASES.values())
    assert power(smallest, 36, ROUNDS, CONTROL) > 1 - 1e-9
    assert power(smallest / 5, 36, ROUNDS, LEVEL) > 0.999
    assert power(smallest / 5, 36, ROUNDS // 4, LEVEL) < 0.5  # fewer would not do


def p_value(observed: torch.Tensor, joint: torch.Tensor) -> float:
    """Return the chi-square's p of tokens (n, 2) under a joint distribution (V, V).

    Cells are pooled up to an expectation of 5.
    """
    V = joint.shape[0]
    counts = torch.bincount(observed[:, 0] * V + observed[:, 1], minlength=V * V).double()
    expectation = joint.flatten() * len(observed)
    order = expectation.argsort()
    counts, expectation = counts[order], expectation[order]
    small = int((expectation.cumsum(0) < 5).sum()) + 1
    counts = torch.cat([counts[:small].sum()[None], counts[small:]])
    expectation = torch.cat([expectation[:small].sum()[None], expectation[small:]])
    statistic = ((counts - expectation) ** 2 / expectation).sum()
    return float(chi2.sf(float(statistic), len(counts) - 1))


def sample(tables: Tables, strategy, policy: Policy, T: float, seed: int, R: int = 7) -> float:
    generator = torch.Generator().manual_seed(seed)
    tokens = play(tables, strategy, policy, generator, ROUNDS, K=3, depth=2, R=R, S=5, T=T)
    return p_value(tokens, joint_distribution(tables, T))


@pytest.mark.parametrize(
    ("name", "seed", "T"), list(itertools.product(LOSSLESS, PAIRS, TEMPERATURES))
)
def test_lossless_strategies_keep_the_joint_distribution(name: str, seed: int, T: float) -> None:
    params = DecodeParams(strategy=name, m=1, K=3, R=7, depth=2, S=5, probes=2)
    strategy = TABLE[name]
    assert sample(pair(seed), strategy, strategy.policy(params), T, seed=seed) > LEVEL


def biased_pair() -> Tables:
    """Whether the probe survives pruning depends on its own q: 0.15 against 0.05."""
    V = 4
    draft = torch.tensor([0.3, 0.5, 0.15, 0.05]).log().repeat(1 + V + V * V, 1)
    target = torch.tensor([0.25, 0.25, 0.25, 0.25]).log().repeat(1 + V + V * V, 1)
    draft[1:] = torch.tensor([0.97, 0.01, 0.01, 0.01]).log()
    return Tables(draft, target)


def test_control_naive_scoring_is_caught() -> None:
    tables, naive = biased_pair(), TABLE["naive"]
    assert sample(tables, naive, Policy(m=1, J=1, proxy=False), 1.0, seed=5, R=3) < CONTROL
    # the same pair, tree size and seed with the proxy: no bias
    assert sample(tables, TABLE["rheo"], Policy(m=1, J=1), 1.0, seed=5, R=3) > LEVEL


def tied_pair() -> Tables:
    """Draft logits with forced ties between the probe's node and a deterministic one."""
    V = 4
    draft = torch.zeros(1 + V + V * V, V)
    target = torch.tensor([0.55, 0.15, 0.15, 0.15]).log().repeat(1 + V + V * V, 1)
    return Tables(draft, target)


def test_control_ties_by_token_id_are_caught() -> None:
    tables, rheo = tied_pair(), TABLE["rheo"]
    assert sample(tables, rheo, Policy(m=0, J=1, ties="token"), 1.0, seed=6, R=4) < CONTROL
    assert sample(tables, rheo, Policy(m=0, J=1), 1.0, seed=6, R=4) > LEVEL


def test_control_q_in_place_of_q_tilde_is_caught() -> None:
    def against_q(p, q_tilde, children):
        """Tests the probe against a q that still has the deterministic tokens' share."""
        return verify.rheo(p, q_tilde * 0.6, children)

    wrong = replace(TABLE["rheo"], rule=against_q)
    assert sample(pair(0), wrong, Policy(m=1, J=1), 1.0, seed=7) < CONTROL


def test_control_residual_that_is_p_is_caught() -> None:
    def forgets(p, q_tilde, children):
        return verify.rheo(p, q_tilde, children)._replace(residual=p)

    wrong = replace(TABLE["rheo"], rule=forgets)
    assert sample(pair(1), wrong, Policy(m=1, J=1), 1.0, seed=8) < CONTROL
