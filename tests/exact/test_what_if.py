"""A node under other settings: its own numbers at its own, the engine's on whole rows at others."""

from dataclasses import replace

import pytest
import torch

from rheo.algorithm.distribution import support, tail
from rheo.algorithm.expansion import KINDS
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.verify import Children, child_probability
from rheo.errors import RheoError
from rheo.exact.tempered_target import rest_bounds
from rheo.exact.what_if import UNDRAWN, recompute
from rheo.trace.io import load, save
from rheo.trace.schema import Round, Run, Visit
from tests.decoding.tiny_runs import DRAFTING, decoding, new_tokens, run_of
from tests.tiny import VOCAB
from tests.visual import by_hand
from tests.visual.played import play

pytestmark = pytest.mark.usefixtures("one_thread")
OTHERS = [(1, 0.6), (2, 0.9), (0, 1.2), (2, 1.6), (1, 0.0), (1, 2.0)]  # (m, T)


@pytest.fixture(scope="module", params=DRAFTING)
def run(request, models, tmp_path_factory) -> Run:
    """A run of each strategy, saved and read back."""
    d = decoding(models, strategy=request.param, seed=5, max_new_tokens=30, T=0.9, S=20, probes=2)
    new_tokens(d)
    path = tmp_path_factory.mktemp("trace") / "run.json.gz"
    save(run_of(d), path)
    return load(path)


def nodes(run: Run) -> list[tuple[Round, Visit]]:
    return [(r, v) for r in run.rounds for v in r.visits if v.ids]


def test_at_its_own_settings_a_node_is_the_recorded_one(run):
    assert len(nodes(run)) > 8
    for r, v in nodes(run):
        seen = recompute(run, r, v.node, run.params["m"], run.params["T"], run.params["K"])
        assert seen.z == pytest.approx(r.nodes[v.node].z, abs=1e-6)
        assert seen.error == 0
        for q_tilde, recorded in zip([seen.q_tilde], v.q_tilde, strict=False):
            assert q_tilde == pytest.approx(recorded, abs=1e-6)
        children = [n for n in r.nodes if n.parent == v.node]
        for n in children:
            slot = seen.slots[n.slot]
            assert (slot.kind, slot.token) == (n.kind, n.token)
            assert slot.proxy == pytest.approx(n.proxy, abs=1e-6)
            assert slot.true == pytest.approx(n.true, abs=1e-6)
            assert slot.accept == pytest.approx(n.accept, abs=2e-6)  # p of a trace is float32
        assert seen.accept == pytest.approx(sum(n.accept for n in children), abs=5e-6)
        tests = [step for step in v.steps if step.rule == "probe"]
        if tests and not TABLE[run.params["strategy"]].fields.tests_deterministic_first:
            assert seen.probe == pytest.approx(tests[0].ratio, abs=2e-6)


def logits_at(models, run: Run, r: Round, node: int) -> torch.Tensor:
    """The target's own logits (V,) at a node: nothing of the trace but its tokens."""
    path = []
    while node:
        path.insert(0, r.nodes[node].token)
        node = r.nodes[node].parent
    text = [*run.prompt_token_ids, *(e.token for e in run.emissions())][: r.position + 1]
    assert text[-1] == r.root
    with torch.inference_mode():
        return models[0](torch.tensor([text + path])).logits[0, -1].double()


def fresh(run: Run, v: Visit, seen, logits: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Accept by slot and in all, by the engine's rule on rows of the whole vocabulary."""
    p = torch.zeros(VOCAB, dtype=torch.float64)
    p[logits.argmax()] = 1
    p = (logits / seen.T).softmax(-1) if seen.T else p
    order = [*v.ids, *(t for t in range(VOCAB) if t not in v.ids)]
    q = torch.tensor(v.q, dtype=torch.float64)
    strategy = TABLE[run.params["strategy"]]
    m = len([s for s in seen.slots if s.kind == "deterministic"])
    drawn_from, left = [], tempered(q, m, seen.T)
    for slot in (s for s in seen.slots if s.kind == "probe"):
        drawn_from.append(torch.cat([left, left.new_zeros(VOCAB - len(q))]))
        left = left.clone()
        left[v.ids.index(slot.token)] = 0
        left = left / left.sum()
    q_tilde = torch.stack(drawn_from) if drawn_from else p.new_zeros(0, VOCAB)
    slots = Children(
        torch.tensor([order.index(s.token) for s in seen.slots]),
        torch.tensor([s.accept is not None for s in seen.slots]),
        torch.tensor([KINDS.index(s.kind) for s in seen.slots]),
        m,
    )
    full = torch.cat([p[order], p.new_zeros(1)])
    return child_probability(full, strategy.rule(full, q_tilde, slots), slots), p


def tempered(q: torch.Tensor, m: int, T: float) -> torch.Tensor:
    """q-tilde out of q, written out."""
    rest = q.clone()
    rest[:m] = 0
    if T == 0:
        return torch.nn.functional.one_hot(rest.argmax(), len(q)).double()
    rest = torch.where(rest > 0, rest ** (1 / T), 0.0)
    return rest / rest.sum()


@pytest.mark.parametrize(("m", "T"), OTHERS)
def test_at_other_settings_it_is_what_whole_rows_give(models, run, m, T):
    off = []
    for r, v in nodes(run)[:12]:
        seen = recompute(run, r, v.node, m, T, run.params["K"], vocabulary=VOCAB)
        taken, p = fresh(run, v, seen, logits_at(models, run, r, v.node))
        for slot, true in zip(seen.slots, taken.tolist(), strict=True):
            assert abs((slot.accept or 0.0) - true) <= seen.error + 1e-5
            assert abs(slot.p - float(p[slot.token])) <= seen.error + 1e-5
        assert abs(seen.accept - float(taken.sum())) <= seen.error + 1e-5
        off.append(abs(seen.accept - float(taken.sum())))
        own = recompute(run, r, v.node, m, run.params["T"], run.params["K"])
        if T == 2.0 and max(own.p) > 0.5:  # the control: at the run's own T it is not right
            assert max(abs(a - float(p[t])) for a, t in zip(own.p, v.ids, strict=True)) > 1e-2
        assert seen.error < 0.01
    assert max(off) < (1e-5 if T in (0.0, 0.9) else 0.005)


def test_a_trace_without_octaves_is_bounded_more_widely(models, run):
    r, v = nodes(run)[0]
    plain = replace(v, rest_counts=(), rest_masses=())
    older = replace(r, visits=tuple(plain if x is v else x for x in r.visits))
    seen, wide = (recompute(run, x, v.node, 1, 2.0, run.params["K"], VOCAB) for x in (r, older))
    taken, _ = fresh(run, v, wide, logits_at(models, run, r, v.node))
    assert abs(wide.accept - float(taken.sum())) <= wide.error
    assert seen.error < wide.error / 5


def test_m_2_by_hand():
    run = by_hand.run()
    seen = recompute(run, run.rounds[0], 0, 2, 1.0, 4)
    assert [(s.kind[0], by_hand.TOKENS[s.token]) for s in seen.slots[:3]] == [
        ("d", " cat"),
        ("d", " sea"),
        ("p", " dog"),  # 0.3 draws it from (1/2, 1/3, 1/6)
    ]
    assert seen.z == pytest.approx(0.3) and seen.q_tilde == pytest.approx(
        (0, 0, 1 / 2, 1 / 3, 1 / 6)
    )
    assert [s.proxy for s in seen.slots[:3]] == pytest.approx([0.5, 0.2, 0.2])
    assert seen.probe == pytest.approx(0.4 / 0.5)
    assert [s.accept for s in seen.slots] == [*map(pytest.approx, (0.12, 0.04, 0.8)), None]
    assert seen.residual == pytest.approx((0.6, 0.2, 0, 0, 0, 0.2))
    assert seen.accept == pytest.approx(0.96) and seen.error == 0 and seen.sure


def test_another_strategy_verifies_the_same_slots():
    """Rheo and RRSw draw one tree from one seed: what if gives the other run's own numbers."""
    runs = {name: play(name, 0.9) for name in ("rheo", "rheo-rrsw")}
    for mine, other in (("rheo", "rheo-rrsw"), ("rheo-rrsw", "rheo")):
        asked = [runs[mine].params[name] for name in ("m", "T", "K")]
        seen = recompute(runs[mine], runs[mine].rounds[0], 0, *asked, strategy=other)
        own = recompute(runs[other], runs[other].rounds[0], 0, *asked)
        assert seen.slots == own.slots and seen.accept == own.accept
        assert seen.overlap == own.overlap and seen.stand_ins == 0


def test_top_k_accepts_what_p_gives_its_kept_slots_and_a_probe_needs_a_draw():
    run = by_hand.run()
    seen = recompute(run, run.rounds[0], 0, 1, 1.0, 4, strategy="topk")
    assert {s.kind for s in seen.slots} == {"deterministic"}
    assert seen.accept == pytest.approx(sum(s.p for s in seen.slots if s.accept is not None))
    assert seen.probe is None and not seen.uniforms
    several = recompute(
        replace(run, params={**run.params, "probes": 2}),
        run.rounds[0],
        0,
        1,
        1.0,
        4,
        strategy="rheo-multi",
    )
    assert (several.stand_ins, several.uniforms[-1]) == (1, UNDRAWN)
    assert [s.kind for s in several.slots[:3]] == ["deterministic", "probe", "probe"]


@pytest.mark.parametrize("strategy", ["autoregressive", "<b>", 7, ["rheo"]])
def test_a_strategy_without_a_draft_and_one_that_nobody_knows_are_one_sentence(strategy):
    run = by_hand.run()
    with pytest.raises(RheoError):
        recompute(run, run.rounds[0], 0, 1, 1.0, 4, strategy=strategy)


def test_T_one_half_by_hand():
    """p ** 2 over 0.2686 and a rest between 0 and 0.04 ** 2; q ** 2 over 0.075."""
    run = by_hand.run()
    seen = recompute(run, run.rounds[0], 0, 1, 0.5, 4)
    assert seen.q_tilde == pytest.approx((0, 0.04 / 0.075, 0.3, 0.01 / 0.075, 0.0025 / 0.075))
    middle = (0.01 / 0.2686 + 0.01 / 0.2702) / 2
    assert seen.p[1] == pytest.approx(middle, rel=1e-4)
    assert seen.probe == pytest.approx(middle / (0.04 / 0.075), rel=1e-4)
    assert 0 < seen.error < 0.01


def test_the_tail_is_the_engines():
    run = by_hand.run()
    q = torch.tensor(by_hand.Q, dtype=torch.float64)
    for m, T in OTHERS:
        expected = tail(support(q.log(), None), m, T)
        assert recompute(run, run.rounds[0], 0, m, T, 4).q_tilde == pytest.approx(expected.tolist())


def test_the_rest_lies_between_its_bounds():
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        count = int(torch.randint(1, 40, (), generator=generator))
        x = torch.rand(count, generator=generator, dtype=torch.float64) ** 4
        power = float(torch.rand((), generator=generator)) * 3 + 0.1
        for least in (0.0, float(x.min())):
            low, high = rest_bounds(float(x.sum()), count, least, float(x.max()), power)
            assert low - 1e-9 <= float((x**power).sum()) <= high + 1e-9
    assert rest_bounds(0.0, 5, 0.0, 0.1, 0.5) == (0, 0)
    assert rest_bounds(0.75, 3, 0.125, 0.375, 2.0)[1] == 0.375**2 + 0.25**2 + 0.125**2


@pytest.mark.parametrize(
    ("node", "m", "T", "K", "words"),
    [
        (1, 1, 1.0, 4, "never came"),
        (0, 4, 1.0, 4, "leaves no slot"),
        (0, 1, float("nan"), 4, "T must be"),
        (0, True, 1.0, 4, "m must be"),
        (0, 1, 1.0, 30, "cannot fill K = 30"),
    ],
)
def test_what_cannot_be_is_one_sentence(node, m, T, K, words):
    run = by_hand.run()
    with pytest.raises(RheoError, match=words):
        recompute(run, run.rounds[0], node, m, T, K)


def test_a_leaf_and_a_greedy_run_are_said():
    run = by_hand.run()
    with pytest.raises(RheoError, match="A leaf"):
        recompute(run, run.rounds[1], 6, 1, 1.0, 4)
    greedy = replace(run, params={**run.params, "T": 0.0})
    with pytest.raises(RheoError, match="only m can move"):
        recompute(greedy, run.rounds[0], 0, 1, 0.5, 4)
    wide = replace(run, params={**run.params, "S": None})
    with pytest.raises(RheoError, match="too few for K = 30"):
        recompute(wide, run.rounds[0], 0, 1, 1.0, 30)
