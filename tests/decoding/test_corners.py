"""Corners that once broke the engine: each test is one defect, with the smallest input for it."""

import json
import math

import pytest
import torch

from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_round, record_run
from rheo.errors import RheoError
from rheo.models.draft.checkpoints import read
from rheo.models.draft.lm import LMDraft
from rheo.models.hub.catalogue import SMOLLM2_135M
from rheo.models.hub.fetch import kind_of
from rheo.models.loader import LoadedPair
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.io import loads, to_json
from rheo.trace.residuals import residuals
from rheo.trace.schema import Round
from tests.decoding.tiny_runs import PROMPT, decoding, new_tokens, run_of
from tests.models.draft.heads import random_head, write
from tests.tiny import byte_level_tokenizer, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def wide() -> list[Decoding]:
    """Runs over a support larger than what a trace stores."""
    target, draft = (tiny_model(seed=seed, vocab=3000, num_hidden_layers=2) for seed in (1, 2))
    runs = []
    for strategy in ("rheo", "rheo-multi"):
        served = Target(target, byte_level_tokenizer())
        served.eos_ids = frozenset()
        params = DecodeParams(
            strategy=strategy, K=4, R=12, depth=2, T=2.0, S=None, probes=2, max_new_tokens=40
        )
        run = Decoding(served, LMDraft(Target(draft, None), 3000), params, PROMPT)
        new_tokens(run)
        runs.append(run)
    return runs


def test_a_probe_beyond_the_recorded_support_is_recorded(wide: list[Decoding]) -> None:
    for run in wide:
        for decoded in run.rounds:
            for visit in record_round(decoded).visits:
                for step in visit.steps:
                    if step.rule == "probe":
                        assert step.ratio == pytest.approx(min(1.0, step.p / step.q_tilde))


def test_residuals_of_a_support_that_is_not_recorded_whole(wide: list[Decoding]) -> None:
    """After one rejected probe the engine's residual has the mass that `visit.mass` says."""
    seen = 0
    for decoded in wide[0].rounds:
        try:
            visits = record_round(decoded).visits
        except IndexError:  # the defect above
            continue
        for visit in visits:
            rejected = [s for s in visit.steps if s.rule == "probe" and s.verdict == "reject"]
            if rejected:
                p, after = residuals(visit).distributions[:2]
                q = visit.q_tilde[0]
                inside = math.fsum(max(0.0, a - b) for a, b in zip(p[:-1], q, strict=True))
                assert after[-1] == pytest.approx(1 - inside / visit.mass, abs=1e-6)
                seen += 1
    assert seen


@pytest.mark.parametrize("change", [{"T": 0.0}, {"S": None}, {"top_p": 0.3}])
def test_tokens_outside_the_support_are_outside_it(models, change: dict) -> None:
    run = decoding(models, **change)
    new_tokens(run)
    for decoded in run.rounds:
        for visit in record_round(decoded).visits:
            assert not set(visit.ids) & set(visit.outside_ids)


def test_tokens_behind_an_eos_do_not_count_where_the_length_cuts_first(models) -> None:
    same, checked = (models[0], models[0]), 0
    for seed in range(20):
        run = decoding(same, strategy="topk", T=0.5, seed=seed, max_new_tokens=90)
        first = next(iter(run))
        run.close()
        tokens = [e.token for e in first.emitted]
        if first.accepted >= 2 and tokens[1] not in (run.first.token, tokens[0]):
            options = {"strategy": "topk", "T": 0.5, "seed": seed, "eos": [tokens[1]]}
            cut, whole = (decoding(same, max_new_tokens=n, **options) for n in (2, 90))
            new_tokens(cut), new_tokens(whole)
            assert cut.rounds[0].counted == whole.rounds[0].counted == 2
            checked += 1
    assert checked


def test_rrsw_shows_its_deterministic_children_first(models) -> None:
    run = decoding(models, strategy="rheo-rrsw", T=0.0)
    new_tokens(run)
    for decoded in run.rounds:
        r: Round = record_round(decoded)
        for visit in r.visits:
            kinds = [r.nodes[s.child].kind for s in visit.steps if s.child is not None]
            assert (
                "deterministic" not in kinds[kinds.index("probe") :] if "probe" in kinds else True
            )


def test_a_draft_that_rules_tokens_out_can_be_saved(models) -> None:
    run = decoding(models, R=30)
    extend, level = run.draft.extend, run.draft.level

    def two(logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(-1, torch.arange(2, logits.shape[-1]), -torch.inf)

    run.draft.extend = lambda *given: two(extend(*given))
    run.draft.level = lambda *given: two(level(*given))
    new_tokens(run)
    loads(json.dumps(to_json(run_of(run)), allow_nan=False).encode())


def test_a_run_that_was_closed_before_it_began(models) -> None:
    run = decoding(models)
    run.close()
    with pytest.raises(RheoError):
        record_run(LoadedPair(SMOLLM2_135M, run.target, run.draft, "draft"), run, "x")


@pytest.mark.parametrize("raw", [True, False])
def test_a_prompt_that_is_no_unicode_text(models, raw: bool) -> None:
    with pytest.raises(RheoError):
        Target(models[0], byte_level_tokenizer()).encode("a\udcff", raw)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "-1e999"])
def test_numbers_no_float_can_hold_are_refused(models, number: str) -> None:
    run = decoding(models, max_new_tokens=5)
    new_tokens(run)
    data = to_json(run_of(run))
    data["rounds"][0]["expected_accepted"] = "@@@"
    with pytest.raises(RheoError):
        loads(json.dumps(data).replace('"@@@"', number).encode())


def test_steps_name_tokens_that_the_visit_has(models) -> None:
    run = decoding(models, max_new_tokens=9, strategy="topk")
    new_tokens(run)
    data = to_json(run_of(run))
    data["rounds"][0]["visits"][0]["steps"][0].update(token=10**6, verdict="reject")
    with pytest.raises(RheoError):
        loads(json.dumps(data).encode())


@pytest.mark.parametrize("config", ["{bad", "{}"])
def test_a_damaged_draft_folder_is_one_sentence(tmp_path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(RheoError):
        kind_of(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_attention_heads": None},
        {"num_attention_heads": 0},
        {"rope_theta": "x"},
        {"rope_scaling": -1},
        {"architectures": [1]},
        {"eagle_config": -1},
        {"eagle_config": {"eagle_aux_hidden_state_layer_ids": ["a", "b", "c"]}},
    ],
)
def test_a_head_config_of_wrong_types_is_refused(tmp_path, wrong: dict) -> None:
    config, tensors = random_head()
    write(tmp_path, config | wrong, tensors)
    with pytest.raises(RheoError):
        read(tmp_path)
