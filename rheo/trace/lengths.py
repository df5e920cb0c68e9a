"""How long the lists of a trace can be: none is longer than its run's parameters allow.

A trace may come from anybody, and a short text can hold a very long list (`0,0,0,...`). All bounds
follow from K, R, depth, probes and the number of new tokens (algorithm sections 2.5 and 2.7).
"""

from collections.abc import Iterator, Sized
from itertools import chain

from rheo.errors import RheoError
from rheo.params import DecodeParams
from rheo.trace.schema import Round, Run, Visit

_VERSIONS = 64  # packages that a run names
_PROMPT = 2**20  # tokens
_TEXT = 2**22  # characters of a text
_RECORDED = 1024  # tokens of a visit that a trace stores, of the support or outside it
_SPARE = 256  # token texts of no list

_Bound = tuple[str, Sized, int]  # what it is, the list, how long it can be


def check_lengths(run: Run, params: DecodeParams) -> None:
    """Raise RheoError with the first list that is longer than any run's with these parameters."""
    rounds = (
        bound for k, r in enumerate(run.rounds) for bound in _of_round(r, params, f"round {k}")
    )
    for what, values, most in chain(_of_run(run, params), rounds):
        if len(values) > most:
            raise RheoError(
                f"The trace is broken: {what} has {len(values):,} entries, and a run with its "
                f"parameters has at most {most:,}."
            )


def _of_run(run: Run, params: DecodeParams) -> Iterator[_Bound]:
    yield "its list of rounds", run.rounds, params.max_new_tokens
    yield "its list of versions", run.versions, _VERSIONS
    yield "its prompt", run.prompt_token_ids, _PROMPT
    yield "its list of end tokens", run.end_tokens, _VERSIONS
    for text in (run.prompt, run.text, run.note, run.pair, run.target, run.draft):
        yield "a text", text, _TEXT
    said = sum(len(r.nodes) + sum(_named(v) for v in r.visits) for r in run.rounds)
    pruned = sum(len(n.ghosts) for r in run.rounds for n in r.nodes)
    grown = sum(len(r.candidates.tokens) for r in run.rounds if r.candidates is not None)
    emitted = sum(len(r.emitted) for r in run.rounds)
    named = len(run.prompt_token_ids) + len(run.end_tokens) + emitted + _SPARE
    yield "its list of token texts", run.tokens, named + said + pruned + grown


def _named(visit: Visit) -> int:
    return len(visit.ids) + len(visit.outside_ids) + len(visit.steps)


def _of_round(r: Round, params: DecodeParams, where: str) -> Iterator[_Bound]:
    steps, probes = params.depth + 1, params.probes
    yield f"u1 of {where}", r.uniforms.u1, steps
    yield f"u2 of {where}", r.uniforms.u2, steps
    yield f"the probes' uniforms of {where}", r.uniforms.probes, 1 + params.K * (params.depth - 1)
    for row in (*r.uniforms.u1, *r.uniforms.probes):
        yield f"a row of uniforms of {where}", row, probes
    yield f"the nodes of {where}", r.nodes, 1 + max(params.R, params.K)
    yield f"the visits of {where}", r.visits, steps
    yield f"the emitted tokens of {where}", r.emitted, steps
    for node in r.nodes:
        yield f"a node's pruned children in {where}", node.ghosts, params.K
    for visit in r.visits:
        yield f"a visit's support in {where}", visit.ids, _RECORDED
        yield f"a visit's draft distributions in {where}", visit.q_tilde, probes
        yield f"a visit's tokens outside the support in {where}", visit.outside_ids, _RECORDED
        yield f"a visit's steps in {where}", visit.steps, params.K + 1
