"""Expected acceptance against forward passes, hand counts and the decoder itself."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from rheo.algorithm.strategies import TABLE
from rheo.algorithm.uniforms import UniformSource
from rheo.bench import drawn_trees, expected_acceptance
from rheo.bench.confidence import spawn
from rheo.bench.contexts import ComparedContext
from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_round
from rheo.errors import RheoError
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from tests.bench.inputs import PARAMS, PROMPTS, STRATEGIES
from tests.models.draft import heads
from tests.tiny import byte_level_tokenizer, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def with_head(tmp_path_factory) -> SimpleNamespace:
    """A tiny target of 30 layers with a random EAGLE-3 head: all that trees need of an engine."""
    config, tensors = heads.random_head()
    own = torch.randn(heads.V, heads.D, generator=torch.Generator().manual_seed(7))
    folder = heads.write(
        tmp_path_factory.mktemp("head"), config, tensors | {"embed_tokens.weight": own}
    )
    sizes = {"hidden_size": heads.DT, "num_attention_heads": 2, "num_key_value_heads": 1}
    model = tiny_model(vocab=heads.V, num_hidden_layers=heads.LAYERS, **sizes)
    target = Target(model, byte_level_tokenizer())
    head = Eagle3.load(folder, target.embeddings, target.layers)
    target.tap(head.feature_layers)
    return SimpleNamespace(target=target, draft=head)


def drawn(engine, ids: list[int], params: DecodeParams, blocks: list) -> drawn_trees.DrawnTrees:
    """Trees below a context, as `compare` draws them."""
    target, ids = engine.target, torch.tensor(ids)
    policy = TABLE[params.strategy].policy(params)
    with torch.inference_mode():
        target.reset(len(ids) + len(blocks) * (params.R + 1))
        features = target.prefill(ids[:-1])[1]
        return drawn_trees.draw_trees(engine, ids, features, params, policy, blocks)


def figures_of(
    trees: drawn_trees.DrawnTrees, params: DecodeParams
) -> list[drawn_trees.TreeFigures]:
    row = TABLE[params.strategy]
    with torch.inference_mode():
        table = drawn_trees.tree_figures(trees, row.rule, row.policy(params), params.depth)
    return [drawn_trees.TreeFigures(*line) for line in table.tolist()]


def blocks_of(params: DecodeParams, count: int) -> list:
    uniforms = UniformSource(params)
    return [uniforms.block() for _ in range(count)]


IDS = [5, 9, 17, 30, 8]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("half", ["draft", "target"])
def test_logits_that_are_not_finite_are_named(half, value, with_head, monkeypatch):
    params = replace(PARAMS, strategy="rheo", S=10, m=1)

    def spoil(logits):
        logits[..., 3] = value
        return logits

    if half == "draft":
        level = with_head.draft.level
        monkeypatch.setattr(with_head.draft, "level", lambda *a: spoil(level(*a)))
    else:
        verify = with_head.target.verify
        monkeypatch.setattr(
            with_head.target, "verify", lambda *a: (spoil(verify(*a)[0].clone()), None)
        )
    name = r"draft \(EAGLE-3 " if half == "draft" else "target's logits"
    with pytest.raises(RheoError, match=rf"{name}.* not finite at a context of {len(IDS)} tokens"):
        drawn(with_head, IDS, params, blocks_of(params, 2))


@pytest.mark.parametrize("pair", ["engine", "with_head"])
@pytest.mark.parametrize("strategy", ["topk", "rheo", "rheo-rrsw", "rheo-multi", "naive"])
@pytest.mark.parametrize("T", [1.0, 0.0])
def test_trees_side_by_side_are_the_decoders_own(pair, strategy, T, request):
    """Each tree of a batch is worth what a decoder's first round with its uniforms says."""
    engine = request.getfixturevalue(pair)
    # a head's vocabulary of 10 cannot fill S = 20
    params = replace(PARAMS, strategy=strategy, T=T, S=10, probes=2, m=1)
    blocks = []
    for seed in range(3):
        uniforms = UniformSource(replace(params, seed=seed))
        uniforms.one()  # the decoder's first token took it
        blocks.append(uniforms.block())
    for seed in range(3):
        decoding = Decoding(engine.target, engine.draft, replace(params, seed=seed), IDS)
        first = next(iter(decoding))
        decoding.close()
        ids = [*IDS, decoding.first.token]
        found = figures_of(drawn(engine, ids, params, blocks), params)[seed]
        assert found.accepted == pytest.approx(first.expected_accepted, abs=1e-6)


@pytest.mark.parametrize("pair", ["engine", "with_head"])
def test_a_prompts_contexts_share_a_prefill(pair, request):
    """Judged one after the other they are worth what each is worth in a fresh cache."""
    engine = request.getfixturevalue(pair)
    params = replace(PARAMS, strategy="rheo", S=10)
    text = [*IDS, 3, 3, 21, 30, 11, 6]
    batch = [ComparedContext(PROMPTS[0], 4 + i, text[:n], n) for i, n in enumerate((6, 7, 11))]
    groups = {expected_acceptance._trees_of(params): {"rheo": params}}
    with torch.inference_mode():
        together = list(expected_acceptance._measure(engine, batch, groups, 3))
    for context, (figures, _) in zip(batch, together, strict=True):
        blocks = blocks_of(replace(params, seed=spawn(params.seed, 2, context.number)), 3)
        alone = figures_of(drawn(engine, context.ids, params, blocks), params)
        mean = sum(w.accepted for w in alone) / 3
        assert figures["rheo"].accepted == pytest.approx(mean, abs=1e-6)


def path_products(engine, trees: drawn_trees.DrawnTrees, ids: list[int], T: float) -> float:
    """E[accepted] of a tree without probes: a plain forward pass, no cache, for every node."""
    kept, total = trees.kept, 0.0
    parents, tokens = kept.parent[0].tolist(), kept.token[0].tolist()
    for row in range(1, len(tokens)):
        path, at = [], row
        while at:
            path.append(tokens[at])
            at = parents[at]
        text = torch.tensor([[*ids, *reversed(path)]])
        with torch.no_grad():
            p = (engine.target.model(input_ids=text).logits[0].double() / T).softmax(-1)
        product = 1.0
        for place in range(len(ids), text.shape[1]):
            product *= float(p[place - 1, text[0, place]])
        total += product
    return total


@pytest.mark.parametrize("pair", ["engine", "with_head"])
def test_topk_is_the_sum_of_path_products(pair, request):
    engine = request.getfixturevalue(pair)
    params = replace(PARAMS, strategy="topk", S=10, T=0.7)
    trees = drawn(engine, IDS, params, blocks_of(params, 1))
    truth = path_products(engine, trees, IDS, 0.7)
    assert truth > 0.01
    assert figures_of(trees, params)[0].accepted == pytest.approx(truth, abs=1e-5)
    assert drawn_trees.path_products(trees) == pytest.approx(truth, abs=1e-5)
    # control: one node's row swapped for another's is noticed
    wrong = trees.rows.logits.clone()
    wrong[0, 0] = wrong[0, 1]
    off = drawn_trees.path_products(trees._replace(rows=trees.rows._replace(logits=wrong)))
    assert abs(off - truth) > 1e-3


@pytest.mark.parametrize(("strategy", "T"), [("rheo", 1.0), ("rheo-multi", 0.0)])
def test_first_acceptance_and_probe_shares_by_hand(engine, strategy, T):
    """Against the decoder's own record of the round, node by node.

    At T = 0 a node has one probe, however many were asked for.
    """
    params = replace(PARAMS, strategy=strategy, T=T, probes=2)
    decoding = engine.decode(IDS, params)
    record = record_round(next(iter(decoding)))
    decoding.close()
    uniforms = UniformSource(params)
    uniforms.one()
    trees = drawn(engine, [*IDS, record.root], params, [uniforms.block()])
    worth = figures_of(trees, params)[0]
    reached = [1.0]
    below = record.below_end(engine.target.eos_ids)
    for node, ended in zip(record.nodes[1:], below[1:], strict=True):
        reached.append(0.0 if ended else reached[node.parent] * node.accept)
    children = [n for n in record.nodes if n.depth == 1]
    assert worth.first == pytest.approx(sum(n.accept for n in children), abs=1e-6)
    pairs = list(zip(record.nodes, reached, strict=True))
    assert worth.slots == pytest.approx(sum(x for n, x in pairs if n.expanded), abs=1e-6)
    probes = [(n, x) for n, x in pairs if n.kind == "probe"]
    assert worth.survived == pytest.approx(sum(reached[n.parent] for n, _ in probes), abs=1e-6)
    assert worth.taken == pytest.approx(sum(x for _, x in probes), abs=1e-6)
    covered = [n.coverage for n in record.nodes if n.expanded]
    assert worth.coverage == pytest.approx(sum(covered) / len(covered), abs=1e-6)


def test_rules_of_one_policy_share_trees_and_forward_passes(engine, monkeypatch):
    calls = []
    verify = engine.target.verify
    monkeypatch.setattr(
        engine.target, "verify", lambda *a: calls.append(a[0].numel()) or verify(*a)
    )
    expected_acceptance.compare(
        engine, PROMPTS, replace(PARAMS, max_new_tokens=1), STRATEGIES, 2, 5
    )
    wide = sorted(n for n in calls if n > 1)
    assert wide == sorted([9, 45] * 2)  # a context: topk's one tree, and five for both rules


def test_compare_reports_means_and_paired_differences(engine):
    found = expected_acceptance.compare(engine, PROMPTS, PARAMS, STRATEGIES, 9, 3)
    assert (found["contexts"], found["draws"]) == (9, 3)
    assert found["closed_form_gap"] < 1e-6
    each = found["each"]
    for name in STRATEGIES:
        mean = sum(row[name] for row in each) / 9
        assert found["strategies"][name]["expected_accepted"]["value"] == pytest.approx(mean)
    pairs = {(d["of"], d["over"]): d for d in found["differences"]}
    assert set(pairs) == {("rheo-rrsw", "topk"), ("rheo", "topk"), ("rheo", "rheo-rrsw")}
    gains = torch.tensor([row["rheo"] - row["topk"] for row in each], dtype=torch.float64)
    difference = pairs["rheo", "topk"]
    half = 2.306004135204166 * float(gains.std()) / 3  # Student's t of 8 degrees of freedom
    assert difference["value"] == pytest.approx(float(gains.mean()))
    assert difference["high"] - difference["value"] == pytest.approx(half)
    assert {row["suite"] for row in each} == set(found["suites"])
    assert found["strategies"]["topk"]["probe_survival"] is None
    assert 0 < found["strategies"]["rheo"]["probe_survival"] <= 1
    json.dumps(found, allow_nan=False)


def test_compare_repeats_with_its_seed(engine):
    first, again = (
        expected_acceptance.compare(engine, PROMPTS, PARAMS, ["rheo"], 4, 2) for _ in range(2)
    )
    other = expected_acceptance.compare(engine, PROMPTS, replace(PARAMS, seed=4), ["rheo"], 4, 2)
    assert first == again != other


def test_a_strategy_is_judged_alike_in_any_company(engine):
    alone = expected_acceptance.compare(engine, PROMPTS, PARAMS, ["rheo"], 4, 2)
    among = expected_acceptance.compare(engine, PROMPTS, PARAMS, ("naive", *STRATEGIES), 4, 2)
    assert alone["strategies"]["rheo"] == among["strategies"]["rheo"]


def test_a_sweep_is_each_value_alone_at_the_same_contexts(engine):
    sweep = expected_acceptance.Sweep("m", [0, 2])
    found = expected_acceptance.compare(
        engine, PROMPTS, PARAMS, ("topk", "rheo"), 4, 2, sweep=sweep
    )
    alone = expected_acceptance.compare(
        engine, PROMPTS, replace(PARAMS, m=2), ("topk", "rheo"), 4, 2
    )
    assert found["strategies"]["rheo m=2"] == alone["strategies"]["rheo"]
    assert found["strategies"]["topk m=0"] == found["strategies"]["topk m=2"]
    assert [(d["of"], d["over"]) for d in found["differences"]] == [
        ("rheo m=0", "topk m=0"), ("rheo m=2", "topk m=2"),
    ]  # fmt: skip
    each = expected_acceptance.compare(engine, PROMPTS, PARAMS, ["rheo"], 4, 2, sweep=sweep)
    assert [(d["of"], d["over"]) for d in each["differences"]] == [("rheo m=2", "rheo m=0")]


def test_a_swept_temperature_keeps_the_contexts(engine):
    sweep = expected_acceptance.Sweep("T", [0.5, PARAMS.T])
    found = expected_acceptance.compare(engine, PROMPTS, PARAMS, ["rheo"], 4, 2, sweep=sweep)
    alone = expected_acceptance.compare(engine, PROMPTS, PARAMS, ["rheo"], 4, 2)
    assert found["strategies"][f"rheo T={PARAMS.T}"] == alone["strategies"]["rheo"]
    assert found["strategies"]["rheo T=0.5"] != alone["strategies"]["rheo"]


def test_autoregressive_has_nothing_to_expect(engine):
    with pytest.raises(RheoError, match="draws no tree"):
        expected_acceptance.compare(engine, PROMPTS, PARAMS, ["autoregressive"], 4, 2)
