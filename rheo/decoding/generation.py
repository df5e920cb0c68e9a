"""A running generation for people who program: recorded rounds as they come, then the whole run."""

from collections.abc import Iterator

from rheo.decoding.loop import Decoding
from rheo.decoding.recorder import record_round, record_run
from rheo.models.loader import LoadedPair
from rheo.trace.schema import Round, Run, Stop


class Generation:
    """An iterator of the trace's Rounds, one for each round that the loop decodes.

    It is `Decoding`, recorded: the same tokens, uniforms and verdicts. Nothing is decoded before
    the first `next`; `close`, or the end of a `with` block, stops it early.

    Args:
        loaded: the pair that decodes.
        decoding: not begun yet.
        prompt: the text that it begins with, for the trace.
    """

    def __init__(self, loaded: LoadedPair, decoding: Decoding, prompt: str) -> None:
        self._loaded, self._decoding, self._prompt = loaded, decoding, prompt
        self._decoded = iter(decoding)

    def __iter__(self) -> Iterator[Round]:
        return self

    def __next__(self) -> Round:
        return record_round(next(self._decoded))

    def __enter__(self) -> "Generation":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def text(self) -> str:
        """Return the text so far."""
        return self._decoding.text

    @property
    def tau(self) -> float | None:
        """Return tokens emitted by rounds / rounds; None before the first round."""
        rounds = self._decoding.rounds
        return sum(r.counted for r in rounds) / len(rounds) if rounds else None

    @property
    def stopped(self) -> Stop:
        """Return why it ended; "closed" until then."""
        return self._decoding.stopped

    def close(self) -> None:
        """Stop at once; what there is stays readable."""
        self._decoding.close()

    def run(self) -> Run:
        """Return everything decoded so far as a trace, as `rheo.open_trace` would read it.

        Raises:
            RheoError: there is no token yet.
        """
        return record_run(self._loaded, self._decoding, self._prompt)
