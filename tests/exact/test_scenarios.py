"""What is shipped equals what is computed; small worlds are played by the engine; cheats show."""

import json
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from rheo.errors import RheoError
from rheo.exact import scenarios
from rheo.exact.audit import audit
from rheo.exact.biased import BIASED_STRATEGIES
from rheo.exact.comparison import LOSSLESS, ROWS, survey
from rheo.exact.monte_carlo import tally
from rheo.exact.worlds import joint_distribution, random_world, tables, tempered
from rheo.params import DecodeParams
from rheo.trace.residuals import residuals

pytestmark = pytest.mark.usefixtures("one_thread")

BEFORE = Path(__file__).parents[1] / "vectors" / "dilemma_draws.json"
NODES, WORLDS = scenarios.names("node"), scenarios.names("world")


def same(a, b) -> bool:
    """Equal up to rounding."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return a == pytest.approx(b, abs=1e-12)
    return a == b


@pytest.mark.parametrize("name", NODES)
def test_a_shipped_node_equals_its_recomputation(name):
    known = scenarios.load(name)
    assert same(scenarios.compute(known), known["result"])


@pytest.mark.parametrize("name", WORLDS)
def test_a_shipped_world_equals_its_recomputation(name):
    known = scenarios.load(name)
    made, shipped = scenarios.compute(known), known["result"]
    for one, other in zip(made["verdicts"], shipped["verdicts"], strict=True):
        if other["tv"] < 1e-9:  # of a lossless row all that is furthest off is rounding
            one, other = ({k: r[k] for k in ("tv", "expected_accepted")} for r in (one, other))
        assert same(one, other)
    assert same(made["curves"], shipped["curves"]) and made["played"] == shipped["played"]


def told_before(name: str, rule: str) -> dict:
    """What the page said of this draw before it became a round of the trace."""
    return json.loads(BEFORE.read_text())[name][rule]


@pytest.mark.parametrize("rule", LOSSLESS)
@pytest.mark.parametrize("name", NODES)
def test_a_shipped_draw_is_the_one_that_the_page_always_showed(name, rule):
    """Uniforms, slots, verdicts, acceptance, residual and token, against the older record."""
    run, old = scenarios.shipped_draw(scenarios.load(name), rule), told_before(name, rule)
    drawn, close = run.rounds[0], partial(pytest.approx, abs=1e-8)
    visit = drawn.visits[0]
    u0, u1, u2 = old["uniforms"]
    assert [*drawn.uniforms.u2] == close([u2])
    assert [(n.token, n.kind) for n in drawn.nodes[1:]] == [tuple(c) for c in old["children"]]
    assert drawn.emitted[0].token == old["emitted"]
    assert (drawn.accepted, drawn.nodes[drawn.emitted[0].node or 0].token) == (
        (0, drawn.root) if old["taken"] is None else (1, old["taken"])
    )
    probe = [step for step in visit.steps if step.rule == "probe"]
    for step in probe:
        assert (step.token, step.uniform) == (old["probe"], close(u1))
        assert step.ratio == close(old["accept"]) and step.p == close(old["tested"][step.token])
        assert (step.verdict == "accept") == (u1 < old["accept"])
    if rule != "topk":
        assert [*drawn.uniforms.probes[0]] == close([u0])
        widths = {token: high - low for token, low, high in old["tail"]}
        tilde = dict(zip(visit.ids, visit.q_tilde[0], strict=True))
        assert {t: x for t, x in tilde.items() if x} == {t: close(w) for t, w in widths.items()}
    drawn_from = {token: (low, high) for token, low, high in old["intervals"]}
    first = {token: (low, high) for token, low, high in old["head"]}
    for step in (step for step in visit.steps if step.rule != "probe"):
        early = step.token in first
        low, high = (first if early else drawn_from).get(step.token, (step.low, step.low))
        assert (step.low, step.high) == (close(low), close(high))
        assert step.share == close(u2 if early else old["share"])
    if any(step.verdict == "reject" for step in probe):
        found = residuals(visit)
        after = found.distributions[found.stage[visit.steps.index(probe[0])] + 1]
        residual = dict(zip(visit.ids, after, strict=False))
        assert [residual[t] for t in range(len(visit.ids))] == close(old["residual"])


def test_another_uniform_would_not_be_the_draw_of_before():
    """The control: these comparisons see a draw that another seed gave."""
    known = scenarios.load("paper")
    known["seed"] += 1
    run, old = scenarios.compute(known)["draws"]["rheo"], told_before("paper", "rheo")
    assert run["rounds"][0]["uniforms"]["u2"] != pytest.approx(old["uniforms"][2:], abs=1e-8)


def test_a_changed_number_is_noticed():
    known = scenarios.load(NODES[0])
    known["p"] = known["p"][::-1]
    assert not same(scenarios.compute(known), known["result"])


def test_the_papers_node_has_the_papers_shape():
    split = scenarios.load("paper")["result"]["node"]["couplings"]
    got = [100 * (1 - split[rule]["split"]["missed"]) for rule in LOSSLESS]
    assert got == pytest.approx([80.0, 83.5, 85.4], abs=0.05)


def test_rrsw_is_ahead_in_the_round_that_says_so():
    got = {
        r["strategy"]: r["expected_accepted"] for r in scenarios.load("round")["result"]["verdicts"]
    }
    assert got["rheo-rrsw"] > got["rheo"] + 0.01 > got["topk"]


def test_every_planted_mistake_is_biased_and_no_other_row_in_two_seconds():
    world, params = scenarios.world_of(scenarios.load("world"))
    began = time.process_time()
    rows = {row.strategy: row for row in survey(world, params)}
    assert time.process_time() - began < 2.0
    assert set(rows) == set(ROWS)
    for name, row in rows.items():
        assert (row.tv > 0.01) == (name in BIASED_STRATEGIES) and row.lossless == (
            name in LOSSLESS
        ), name


def test_a_world_is_tempered_as_the_engine_tempers():
    world, params = scenarios.world_of(scenarios.load("world"))
    warm = tempered(world, 1.0)
    assert same(list(warm.p[()]), [x / sum(world.p[()]) for x in world.p[()]])
    cold = audit(tempered(world, 0.0), DecodeParams(**{**params.as_dict(), "T": 0.0}))
    assert cold.tv < 1e-12 and float(cold.target.max()) == 1.0


@pytest.mark.parametrize("name", list(ROWS))
def test_played_rounds_have_the_audited_law(name):
    world = random_world(torch.Generator().manual_seed(7), 4, 2, 1.2, ties=True)
    params = DecodeParams(m=1, K=3, R=4, depth=2, S=None, T=0.7, seed=3)
    table, rounds = tables(world, params.depth), 40_000
    counts = [*tally(table, params, ROWS[name], rounds // 2, 2)][-1].double()
    exact = audit(tempered(world, params.T), params, ROWS[name])
    law = exact.exact_law.sum(-1).flatten()  # of the first two tokens
    assert (counts.sum(), len(counts)) == (rounds, 16)
    assert ((counts - rounds * law).abs() < 5 * (rounds * law * (1 - law)).sqrt() + 5).all()
    target = exact.target.sum(-1)
    assert torch.allclose(joint_distribution(table, params.T), target, atol=1e-12)


def test_the_same_seed_plays_the_same_rounds():
    world, params = scenarios.world_of(scenarios.load("world"))
    table = tables(world, params.depth)
    first, again = ([*tally(table, params, ROWS["rheo"], 500, 2)][-1] for _ in range(2))
    assert torch.equal(first, again)


def test_an_absent_scenario_is_one_sentence():
    with pytest.raises(RheoError):
        scenarios.load("nothing-of-the-kind")
