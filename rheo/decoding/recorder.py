"""From decoded rounds to the trace's records: on the host, and only for who asks."""

import torch
import transformers

from rheo.decoding.loop import Decoding
from rheo.decoding.round_buffer import Decoded, RoundBuffer
from rheo.decoding.round_record import round_of
from rheo.errors import RheoError
from rheo.models.loader import LoadedPair
from rheo.trace.schema import Round, Run
from rheo.version import __version__


def record_run(loaded: LoadedPair, decoding: Decoding, prompt: str) -> Run:
    """Return everything decoded so far, as a trace.

    Args:
        loaded: the pair that decodes. prompt: the text that the decoding began with.

    Raises:
        RheoError: there is no token yet.
    """
    if decoding.first is None:
        raise RheoError("This run was stopped before its first token: there is no trace of it.")
    rounds = tuple(map(record_round, decoding.rounds))
    seen = _tokens(rounds) | {decoding.first.token, *decoding.prompt_ids}
    target = loaded.target
    return Run(
        pair=loaded.pair.name,
        target=loaded.pair.label,
        draft=loaded.draft_name,
        device=str(target.device),
        dtype=str(target.dtype).removeprefix("torch."),
        versions=_versions(loaded),
        params=decoding.params.as_dict(),
        prompt=prompt,
        prompt_token_ids=tuple(decoding.prompt_ids),
        first=decoding.first,
        rounds=rounds,
        stop=decoding.stopped,
        text=decoding.text,
        tokens={token: target.token_text(token) for token in sorted(seen)},
        end_tokens=tuple(sorted(target.eos_ids)),
    )


def _tokens(rounds: tuple[Round, ...]) -> set[int]:
    """Return every token id that the rounds show."""
    seen: set[int] = set()
    for r in rounds:
        seen |= {e.token for e in r.emitted}
        seen |= {n.token for n in r.nodes}
        seen |= set() if r.candidates is None else {*r.candidates.tokens}
        for visit in r.visits:
            seen |= {*visit.ids, *visit.outside_ids}
    return seen


def _versions(loaded: LoadedPair) -> dict[str, str]:
    """Return what computed the run, and what became of CUDA graphs where anybody asked for them."""
    halves = {"target graphs": loaded.target, "draft graphs": loaded.draft}
    graphs = {name: getattr(half, "graphs", None) for name, half in halves.items()}
    return {
        "rheoscope": __version__,
        "torch": str(torch.__version__),  # it is a class of torch's own
        "transformers": transformers.__version__,
        "threads": str(torch.get_num_threads()),
        **{name: found.note for name, found in graphs.items() if found and found.note},
    }


def record_round(decoded: Decoded) -> Round:
    """Return a decoded round as the trace's Round.

    Raises:
        RheoError: the run keeps no record.
    """
    if not isinstance(decoded.buffer, RoundBuffer):
        raise RheoError("This run was decoded without a record: there is no trace of it.")
    return round_of(
        decoded.buffer,
        decoded.block,
        index=decoded.index,
        position=decoded.position,
        emitted=decoded.emitted,
        accepted=decoded.accepted,
        counted=decoded.counted,
        ms=decoded.ms,
    )
