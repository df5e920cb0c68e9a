"""The new tokens as text, and what ends it: an EOS, a stop string or the length limit."""

from collections.abc import Sequence

from rheo.models.target.target import Target
from rheo.trace.schema import Emission, Stop


class OutputText:
    """The text of the tokens emitted so far.

    Args:
        target: its tokenizer and its end-of-sequence ids are used.
        stop: strings that end the text; they are cut off, the token that completes one is kept.
        max_new_tokens: tokens after which it ends.

    Attributes:
        text: what there is so far.
        delta: what the last `add` added to it.
        stopped: why it ended; "closed" until then.
    """

    def __init__(self, target: Target, stop: Sequence[str], max_new_tokens: int) -> None:
        self.text = self.delta = ""
        self.stopped: Stop = "closed"
        self._eos_ids = target.eos_ids
        self._stop = stop
        self._left = max_new_tokens
        self._stream = target.text_stream()

    def add(self, emitted: Sequence[Emission]) -> int:
        """Add tokens until something ends the text; return how many were added."""
        before, added = len(self.text), 0
        for emission in emitted:
            added += 1
            self._left -= 1
            self.text += self._stream.push([emission.token])
            if emission.token in self._eos_ids:
                self.stopped = "eos"
            elif self._cut_at_stop_string(before):
                self.stopped = "stop string"
            elif self._left <= 0:
                self.stopped = "length"
            if self.stopped != "closed":
                break
        if self.stopped not in ("closed", "stop string"):
            self.text += self._stream.flush()
        self.delta = self.text[before:]
        return added

    def counted(self, emitted: Sequence[Emission], added: int) -> int:
        """Return how many of a round's tokens count for tau, once `add` has added some.

        Tokens behind an EOS or a stop string do not count. The length limit only cuts the text: a
        round that it cuts counts whole, up to its first EOS.
        """
        if self.stopped in ("eos", "stop string"):
            return added
        ends = (i for i, e in enumerate(emitted, 1) if e.token in self._eos_ids)
        return next(ends, len(emitted))

    def _cut_at_stop_string(self, before: int) -> bool:
        longest = max(map(len, self._stop), default=0)
        found = [self.text.find(s, max(0, before - longest)) for s in self._stop]
        ends = [at for at in found if at >= 0]
        if ends:
            self.text = self.text[: min(ends)]
        return bool(ends)
