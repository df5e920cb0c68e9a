"""The figures of a run, by hand; a speed-up is told only where it was measured."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from rheo.trace.schema import Milliseconds
from tests.visual import by_hand, sample
from visual.browser import messages
from visual.run import metrics, speedup
from visual.run.speedup import Machine, Plain
from visual.runtime import reference_speed, this_machine
from visual.words import measures

PAPER = [  # tau, speed-up on an A6000: Top-K and RheoSampling of three pairs
    *((5.75, 3.37), (5.89, 3.43), (5.04, 2.84)),
    *((5.25, 2.93), (4.99, 2.89), (5.21, 2.99)),
]


def figures(run) -> dict[str, str]:
    return {label: value for label, value, _ in metrics.figures(run)}


def test_a_run_by_hand():
    run = by_hand.run()
    assert metrics.origins(run) == {
        "deterministic": 2,
        "probe": 1,
        "filler": 1,
        "residual": 1,
        "bonus": 1,
    }
    assert metrics.survival(run) == (3, 5)  # ␣sea ␣ate ␣now kept; ␣ice ␣bit dropped
    assert metrics.tested(run) == (1, 2, pytest.approx((0.25 + 1) / 2))
    assert speedup.ms_a_token(run) == pytest.approx(3 * 44 / 6)
    shown = figures(run)
    assert shown[measures.FIGURES["tau"]] == "2.00"
    assert shown[measures.FIGURES["accepted"]] == f"{(1 + 2 + 1) / 3:.2f}"
    assert shown[measures.FIGURES["expected"]] == f"{(1.413 + 1.7 + 0.95) / 3:.2f}"
    assert shown[measures.FIGURES["kinds"]] == "D 2 · P 1 · F 1"
    assert shown[measures.FIGURES["ended"]] == "R 1 · B 1"
    assert shown[measures.FIGURES["survival"]] == "3 of 5 (60 %)"
    assert shown[measures.FIGURES["tests"]] == "1 of 2 (50 %)"
    assert shown[measures.FIGURES["speed"]] == "45.5"


def test_an_older_trace_says_that_its_expectation_counts_behind_end_tokens():
    run, label = by_hand.run(), measures.FIGURES["expected"]
    hints = {version: {} for version in (1, 2)}
    for version in hints:
        shown = metrics.figures(replace(run, version=version))
        hints[version] = {name: hint for name, _, hint in shown}
    assert hints[1][label] == measures.EXPECTED_OLDER and hints[2][label] == ""


def test_the_parts_of_a_round_sum_to_the_whole():
    run = by_hand.run()
    assert speedup.milliseconds(run) == {"draft": 11, "target": 30, "verify": 2, "other": 1}
    made = metrics.shares(run)
    for part, share in (("draft", 25), ("target", 68), ("verify", 5), ("other", 2)):
        assert f"{part} {share} %" in made
        assert (
            f'data-part="{part}" style="width:{100 * speedup.milliseconds(run)[part] / 44:.2f}%"'
            in made
        )


def test_a_ratio_needs_a_measurement_of_this_machine():
    run = by_hand.run()
    assert speedup.speed(run, Machine()).startswith("Measured on another machine (CPU): 45.5")
    assert speedup.speed(run, Machine(here=True)) == measures.UNMEASURED
    fast = speedup.speed(run, Machine(True, Plain.of([22.0, 44.0, 66.0], beside=True)))
    assert "2.00× (1.00 to 3.00×)" in fast and "Why" not in fast
    assert "median of 3 steps between this run’s rounds, which took 22 to 66 ms" in fast
    slow = speedup.speed(run, Machine(True, Plain.of([10.0] * 12)))
    assert "about 0.45×" in slow and "10 ms when the model was loaded (median of 12 steps" in slow
    assert "verification of 6 rows took as long as 3.0 plain steps" in slow
    draft = speedup.speed(run, Machine(True, Plain.of([20.0], beside=True)))
    assert "0.91×" in draft
    assert "×" not in speedup.speed(run, Machine())  # nothing is made up


def test_a_plain_run_is_the_reference():
    run = by_hand.run()
    own = replace(run, params={**run.params, "strategy": "autoregressive"})
    assert speedup.plain_of(run) is None
    assert speedup.plain_of(own) == Plain.of([44.0] * 3)
    assert "44 ms a token" in speedup.speed(own, Machine())
    assert metrics.projection(own) is None


class Decoding:
    """Rounds that take as long as they say."""

    def __init__(self, ms: list[float]) -> None:
        self.rounds = []
        self.waiting = [SimpleNamespace(ms=Milliseconds(0.0, x, 0.0, 0.0)) for x in ms]
        self.closed = False

    def __iter__(self):
        for round in self.waiting:
            self.rounds.append(round)
            yield round

    def close(self) -> None:
        self.closed = True


def test_plain_decoding_is_measured_once_a_pair(monkeypatch):
    monkeypatch.setattr(reference_speed, "measured", {})
    decoding, asked = Decoding([900.0, 300.0, 40.0, 50.0, 41.0]), []
    engine = SimpleNamespace(decode=lambda prompt, params: asked.append(params) or decoding)
    reference_speed.measure("a pair", engine, lambda stage, fraction: None)
    assert asked[0].strategy == "autoregressive" and decoding.closed
    assert reference_speed.measured == {
        "a pair": Plain.of([40.0, 41.0, 50.0])
    }  # the first two warm up


def test_the_reference_of_a_run_was_measured_beside_it(monkeypatch):
    run, loading = by_hand.run(), Plain.of([41.0] * 3)
    monkeypatch.setattr(reference_speed, "measured", {run.pair: loading})
    monkeypatch.setattr(reference_speed, "_beside", {})
    mine: list[float] = []
    reference_speed.keep("mine", mine)
    assert this_machine.machine("theirs", run) == Machine(False, loading)
    assert this_machine.machine({"an": "object"}, run) == Machine(False, loading)
    assert this_machine.machine("mine", run) == Machine(True, loading)
    assert speedup.ended(run, this_machine.machine("mine", run)) == ""  # another moment's
    mine += [88.0, 66.0, 44.0]  # the machine is busy now
    assert this_machine.machine("mine", run).plain == Plain(66.0, 3, 44.0, 88.0, beside=True)
    assert "3.00×" in speedup.ended(run, this_machine.machine("mine", run))
    for i in range(5000):
        reference_speed.keep(str(i), [1.0])
    assert len(reference_speed._beside) <= 4096 and not reference_speed.is_of_here("mine")


def test_the_cost_model_gives_the_papers_speed_ups():
    for tau, measured in PAPER:
        assert metrics.projected(tau, depth=8) == pytest.approx(measured, rel=0.05)
    assert metrics.projected(5.25, 8, draft=0.3) < 1.6  # other costs would not
    model = metrics.projection(by_hand.run())
    assert (model["tau"], model["depth"]) == (2.0, 2)
    for name in ("tau", "depth", "draft", "overhead", "ratio"):
        assert f"{{{name}}}" in model["formula"]


def test_two_runs_in_a_sentence():
    old = sample.run(4)
    new = replace(old, params={**old.params, "m": 2}, rounds=old.rounds[:2])
    assert metrics.parting(old, old) is None and metrics.parting(old, new) == 2
    assert metrics.compared(old, new).startswith("m 1 → 2: τ ")
    assert "part in round 3" in metrics.compared(old, new)
    assert metrics.compared(old, old).startswith("Same settings")
    older = replace(old, params={k: v for k, v in old.params.items() if k != "budget"})
    assert metrics.compared(older, old).startswith("Same settings")  # before there were budgets
    paying = replace(old, params={**old.params, "budget": "auto"})
    assert metrics.compared(older, paying).startswith("budget count → auto: τ ")
    other = replace(old, rounds=(old.rounds[0], old.rounds[2], *old.rounds[2:]))
    assert metrics.parting(old, other) == 1


def test_nothing_before_the_first_round():
    run = replace(by_hand.run(), rounds=())
    made = metrics.box(run, Machine())
    assert (made["figures"], made["shares"], made["speed"], made["projection"]) == (
        [],
        "",
        "",
        None,
    )


@pytest.mark.parametrize("run", [by_hand.run(), by_hand.rrsw(), sample.run(5)])
def test_the_box_goes_over_the_wire(run):
    made = messages.answer(run, {"what": "metrics", "round": 0})
    assert messages.dumps(made)
    assert {trace["name"] for trace in made["timeline"]["data"]} >= {"expected"}
    for trace in made["timeline"]["data"]:
        assert trace["name"] in made["legend"]
