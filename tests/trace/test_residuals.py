"""Every residual of a visit worked out by hand: two probes, a sibling, a support cut short."""

from dataclasses import replace

import pytest

from rheo.trace.residuals import residuals
from rheo.trace.schema import Step, Visit


def step(rule: str, token: int, verdict: str = "reject") -> Step:
    return Step(rule, token, verdict, uniform=0.5, share=0.5, p=0.5)


def visit(*steps: Step, support_size: int = 2, q_tilde=((0.25, 0.75),), mass: float = 1.0) -> Visit:
    """p = (.5, .2) on tokens 7 and 8, .1 on token 9 outside the support, .2 on all others."""
    return Visit(
        node=0,
        ids=(7, 8),
        p=(0.5, 0.2),
        q=(0.5, 0.5),
        q_tilde=q_tilde,
        support_size=support_size,
        outside_ids=(9,),
        outside_p=(0.1,),
        rest=0.2,
        mass=mass,
        steps=steps,
    )


def close(values: list[float]):
    return pytest.approx(values, abs=1e-12)


def test_two_probes_then_a_sibling_then_the_rest():
    steps = step("probe", 8), step("probe", 7), step("sibling", 7), step("emit", 9, "emit")
    made = residuals(visit(*steps, q_tilde=((0.25, 0.75), (0.5, 0.0))))
    assert made.distributions[0] == close([0.5, 0.2, 0.3])
    assert made.taken[0] == close([0.25, 0.2, 0.0]) and made.left[0] == pytest.approx(0.55)
    first = [0.25 / 0.55, 0.0, 0.3 / 0.55]
    assert made.before(1) == close(first)
    assert made.taken[1] == close([first[0], 0.0, 0.0])  # min(r, .5): all of it
    assert made.before(2) == close([0.0, 0.0, 1.0])
    assert made.taken[2] == close([0.0, 0.0, 0.0]) and made.left[2] == pytest.approx(1.0)
    assert made.stage == [0, 1, 2, 3] and made.taken[3] == [] and made.left[3] is None


def test_a_sibling_takes_its_own_mass_alone():
    made = residuals(visit(step("sibling", 8), step("sibling", 7, "accept")))
    assert made.taken == [[0.0, 0.2, 0.0], []] and made.left == [pytest.approx(0.8), None]
    assert made.before(1) == close([0.625, 0.0, 0.375])


def test_the_last_probe_is_exact_where_the_support_is_not_all_recorded():
    """.25 is left on token 7; a mass of .3 says that .05 of the .3 outside stays, too."""
    steps = step("probe", 8), step("emit", 9, "emit")
    made = residuals(visit(*steps, support_size=5, mass=0.3))
    assert made.taken[0] == close([0.25, 0.2, 0.25]) and made.left[0] == pytest.approx(0.3)
    assert made.before(1) == close([0.25 / 0.3, 0.0, 0.05 / 0.3])


def test_an_earlier_probe_takes_nothing_outside_the_record():
    steps = step("probe", 8), step("probe", 7), step("emit", 9, "emit")
    made = residuals(visit(*steps, support_size=5, mass=0.3, q_tilde=((0.25, 0.75), (0.5, 0.0))))
    assert made.taken[0][-1] == 0.0
    assert made.left[1] == pytest.approx(0.3) and made.taken[1][-1] > 0


@pytest.mark.parametrize(("mass", "outside"), [(0.0, 0.3), (0.9, 0.0)])
def test_a_mass_that_rounding_put_out_of_reach_is_cut(mass, outside):
    steps = step("probe", 8), step("emit", 9, "emit")
    made = residuals(visit(*steps, support_size=5, mass=mass))
    assert made.taken[0][-1] == pytest.approx(outside)


def test_a_rejection_by_rounding_alone_leaves_what_there_was():
    equal = visit(step("probe", 7), step("sibling", 8, "accept"), q_tilde=((0.8, 0.2),))
    nothing = residuals(replace(equal, p=(0.8, 0.2), outside_p=(0.0,), rest=0.0))
    assert nothing.left[0] == 0.0 and nothing.before(1) == [0.8, 0.2, 0.0]
