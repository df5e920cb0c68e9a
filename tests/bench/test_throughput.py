"""Whole answers, timed: in turns, counted, and as the command prints them."""

import json
from dataclasses import replace

import pytest

from rheo.bench import throughput
from rheo.bench.confidence import spawn
from rheo.cli import main
from tests.bench.inputs import PARAMS, PROMPTS, STRATEGIES

pytestmark = pytest.mark.usefixtures("one_thread")


def test_bench_runs_all_strategies_in_turns(engine, monkeypatch):
    order = []
    sample = throughput.sample

    def noted(engine, prompt, params, *flags):
        order.append((prompt.id, params.strategy, params.seed))
        return sample(engine, prompt, params, *flags)

    monkeypatch.setattr(throughput, "sample", noted)
    names = ["autoregressive", "topk", "rheo"]
    found = throughput.bench(engine, PROMPTS, PARAMS, names)
    timed = order[len(names) :]
    rows = [timed[i : i + 3] for i in range(0, len(timed), 3)]
    assert [row[0][1] for row in rows] == [
        "autoregressive",
        "topk",
        "rheo",
        "autoregressive",
        "topk",
    ]
    for row, prompt in zip(rows, PROMPTS, strict=True):
        assert {name for _, name, _ in row} == set(names)
        assert {i for i, *_ in row} == {prompt.id}
        assert len({seed for *_, seed in row}) == 1  # paired
    assert len({seed for *_, seed in timed}) == len(PROMPTS)  # but prompts are independent
    plain = found["strategies"]["autoregressive"]
    assert plain["tau"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert plain["ratio"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert plain["ms"]["draft"] == 0
    json.dumps(found, allow_nan=False)


def test_tau_is_counted_tokens_over_rounds(engine):
    found = throughput.bench(engine, PROMPTS, PARAMS, ["rheo"])
    runs = []
    for i, prompt in enumerate(PROMPTS):
        decoding = engine.decode(prompt.text, replace(PARAMS, seed=spawn(PARAMS.seed, 1, i)))
        runs.append(list(decoding))
    rounds = [r for run in runs for r in run]
    rheo = found["strategies"]["rheo"]
    assert rheo["tau"]["value"] == sum(r.counted for r in rounds) / len(rounds)
    assert rheo["rounds"] == len(rounds)
    mean = sum(r.expected_accepted for r in rounds) / len(rounds)
    assert rheo["expected_accepted"] == pytest.approx(mean)
    assert rheo["ratio"] is None  # nothing to compare with
    ms = rheo["ms"]
    assert rheo["outside_models"] == pytest.approx((ms["verify"] + ms["other"]) / ms["total"])
    odd = [r for run, p in zip(runs, PROMPTS, strict=True) if p.suite == "odd" for r in run]
    tau = found["suites"]["odd"]["rheo"]["tau"]["value"]
    assert tau == sum(r.counted for r in odd) / len(odd)


def sample_of(seconds: float) -> throughput.Sample:
    ms = {"draft": 1.0, "target": 6.0, "verify": 2.0, "other": 1.0}
    return throughput.Sample("s", 10, seconds, 4, 8, 3.2, ms)


def test_ratio_is_the_median_of_ratios_by_prompt():
    samples = {
        "autoregressive": [sample_of(s) for s in (1.0, 2.0, 9.0)],
        "rheo": [sample_of(s) for s in (0.5, 2.0, 3.0)],  # 2, 1 and 3 times as fast
    }
    rheo = throughput._summaries(samples, 0)["rheo"]
    assert rheo["ratio"]["value"] == 2.0
    assert rheo["tokens_per_s"] == pytest.approx(30 / 5.5)
    assert rheo["tau"]["value"] == 2.0
    assert rheo["ms"]["total"] == pytest.approx(2.5)
    assert rheo["outside_models"] == pytest.approx(0.3)


def test_the_command_prints_tables_or_json(engine, monkeypatch, capsys):
    monkeypatch.setattr(main, "_engine", lambda args: engine)
    small = ["--k", "3", "--nodes", "8", "--depth", "3", "--max-new-tokens", "6", "--limit", "3"]

    def printed(*more: str) -> str:
        assert main.main(["bench", *small, *more]) == 0
        return capsys.readouterr().out

    assert set(json.loads(printed("--json"))["strategies"]) == {"autoregressive", *STRATEGIES}
    assert "rheo-rrsw" in printed("--strategies", "rheo-rrsw,topk")
    trees = ["--contexts", "3", "--draws", "2"]
    assert json.loads(printed("--expected", *trees, "--json"))["closed_form_gap"] < 1e-6
    assert "rheo - rheo-rrsw" in printed("--expected", *trees)
    shown = printed("--ablation", "depth1", *trees)
    assert "0.854" in shown and "One level of K = 3 slots, all kept, at T = 1." in shown
    assert "not the paper's setting: it has K = 10." in shown
    one_level = json.loads(printed("--ablation", "depth1", *trees, "--json"))
    assert (one_level["params"]["depth"], one_level["params"]["R"]) == (1, 3)
    same = ["--expected", "--depth", "1", "--nodes", "3", *trees, "--json"]
    control = json.loads(printed(*same))
    for name, found in one_level["strategies"].items():
        assert found == control["strategies"][name]
    assert one_level["differs_from_paper"] == ["K = 10"]
    assert "median ratio" in printed("--against-generate", "--repeats", "2")
    assert "BIASED" in printed("--strategies", "naive")
    assert main.main(["bench", "--strategies", "topk,greedy"]) == 2
