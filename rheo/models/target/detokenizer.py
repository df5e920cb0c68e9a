"""Tokens as text: the exact display of one token, and a stream that never cuts a character."""

import codecs
import re
from collections.abc import Iterable

from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

BYTE_OF = {char: byte for byte, char in bytes_to_unicode().items()}
REPLACEMENT = "\ufffd"
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _name_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    broken = error.object[error.start : error.end]
    return "".join(f"⟨0x{byte:02X}⟩" for byte in broken), error.end


codecs.register_error("rheo.name_bytes", _name_bytes)


class TokenText:
    """The exact display text of single tokens.

    Nothing is stripped: the leading space of a word is part of its token. Bytes that are no whole
    UTF-8 character are shown as ⟨0xE2⟩. A special token is its name with the angle brackets around
    it, if any, replaced: `<|im_end|>` is ⟨|im_end|⟩, `</s>` is ⟨/s⟩, `[INST]` is ⟨[INST]⟩. A row of
    the logits that the tokenizer does not know (padding) is its number: ⟨151800⟩.

    Args:
        tokenizer: byte-level BPE (Llama 3, Qwen, SmolLM) or BPE with byte fallback (Llama 2).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._added = tokenizer.added_tokens_decoder
        self._special = set(tokenizer.all_special_ids)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._byte_level = "ByteLevel" in repr(getattr(backend, "decoder", None))
        self._known: dict[int, str] = {}

    def __call__(self, token: int) -> str:
        text = self._known.get(token)
        if text is None:
            text = self._known[token] = self._display(token)
        return text

    def _display(self, token: int) -> str:
        piece = self._tokenizer.convert_ids_to_tokens([token])[0]
        if piece is None:
            return f"⟨{token}⟩"
        added = self._added.get(token)
        if token in self._special or (added is not None and added.special):
            return f"⟨{piece.removeprefix('<').removesuffix('>')}⟩"
        if added is not None:
            return piece
        return self._bytes(piece).decode("utf-8", "rheo.name_bytes")

    def _bytes(self, piece: str) -> bytes:
        """Return the bytes that a vocabulary entry stands for."""
        if self._byte_level and all(char in BYTE_OF for char in piece):
            return bytes(BYTE_OF[char] for char in piece)
        if match := BYTE_PIECE.fullmatch(piece):
            return bytes([int(match[1], 16)])
        return piece.replace("▁", " ").encode()


class TextStream:
    """Text of a growing token list, as deltas that never hold half a UTF-8 character.

    The deltas of `push` and the `flush` joined are one decode of all ids, special tokens left out.
    An unfinished character at the end is held back until later tokens complete it or `flush`; what
    stands in front of it in the same token is not, so that a stop string there is seen at once.
    Where byte tokens of Llama 2's kind never make a character, tokenizers' stream cannot go on (its
    decoder then rewrites what it had given out); a new one begins at them.

    Args:
        tokenizer: one of the tokenizers library streams by itself; for the few others all ids are
            decoded anew at each token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self._begin()

    def _begin(self) -> None:
        self._stream = DecodeStream(skip_special_tokens=True)
        self._held: list[int] = []  # ids that the stream has given no text of yet
        self._sent = 0  # characters of their text that are out all the same

    def push(self, ids: Iterable[int]) -> str:
        """Return the text that `ids` add, but for an unfinished character at its end."""
        return "".join(map(self._step, ids))

    def _step(self, token: int) -> str:
        try:
            return self._advance(token)
        except Exception:  # "Invalid prefix encountered": tokenizers has no class of its own for it
            self._stream = DecodeStream(ids=self._held, skip_special_tokens=True)
            return self._advance(token)

    def _advance(self, token: int) -> str:
        delta = self._stream.step(self._backend, token) if self._backend is not None else None
        self._held.append(token)
        if delta is None:  # it ends in half a character, or adds nothing
            delta = self._rest().rstrip(REPLACEMENT)
            self._sent += len(delta)
            return delta
        delta = delta[self._sent :]
        self._held, self._sent = [], 0
        return delta

    def _rest(self) -> str:
        text = self._tokenizer.decode(
            self._held, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        assert isinstance(text, str)  # a list of texts is what a list of lists gives
        return text[self._sent :]

    def flush(self) -> str:
        """Return the held-back rest, U+FFFD for what never became a character; end the stream."""
        rest = self._rest()
        self._begin()
        return rest
