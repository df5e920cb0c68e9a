"""No list of a trace is longer than its run's parameters allow: one sentence, wherever it is."""

from dataclasses import replace

import pytest

from rheo.errors import RheoError
from rheo.trace import io
from tests.visual import sample

RUN = sample.run(rounds=2)
ROUND = RUN.rounds[0]
UNIFORMS, VISIT = ROUND.uniforms, ROUND.visits[0]
MANY = (0.5,) * 5000


def with_round(**changes):
    return replace(RUN, rounds=(replace(ROUND, **changes), *RUN.rounds[1:]))


def with_visit(**changes):
    return with_round(visits=(replace(VISIT, **changes), *ROUND.visits[1:]))


LONG = {
    "u2": with_round(uniforms=replace(UNIFORMS, u2=MANY)),
    "u1": with_round(uniforms=replace(UNIFORMS, u1=((0.5,),) * 5000)),
    "a row of u1": with_round(uniforms=replace(UNIFORMS, u1=(MANY,))),
    "probes": with_round(uniforms=replace(UNIFORMS, probes=((),) * 5000)),
    "a row of probes": with_round(uniforms=replace(UNIFORMS, probes=(MANY,))),
    "emitted": with_round(emitted=ROUND.emitted[:1] * 5000),
    "visits": with_round(visits=ROUND.visits[:1] * 20),
    "nodes": with_round(nodes=(ROUND.nodes[0], *(ROUND.nodes[1],) * 500)),
    "steps": with_visit(steps=VISIT.steps[:1] * 100),
    "q_tilde": with_visit(q_tilde=(VISIT.p,) * 9),
    "ids": with_visit(ids=(1,) * 5000),
    "outside_ids": with_visit(outside_ids=(1,) * 5000, outside_p=MANY),
    "rounds": replace(RUN, rounds=RUN.rounds * 400),
    "versions": replace(RUN, versions={str(i): "1" for i in range(5000)}),
    "tokens": replace(RUN, tokens=dict.fromkeys(range(9000), "x")),
    "end tokens": replace(RUN, end_tokens=tuple(range(5000))),
}


@pytest.mark.parametrize("what", LONG)
def test_a_list_too_long_is_one_sentence(what):
    with pytest.raises(RheoError, match=r"has [\d,]+ entries, and a run .* at most [\d,]+\.$"):
        io.loads(io.dumps(LONG[what], packed=True))


def test_a_run_of_the_engine_is_not_too_long():
    assert io.loads(io.dumps(RUN, packed=True)).rounds
