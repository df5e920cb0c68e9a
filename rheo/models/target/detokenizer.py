"""Tokens as text: the exact display of one token, and a stream that never cuts a character."""

import codecs
import re
from collections.abc import Callable, Iterable

from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

REPLACEMENT = "\ufffd"
BYTE_OF = {char: byte for byte, char in bytes_to_unicode().items()}
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
WINDOW = 12  # tokens a stream keeps as context; whole characters, be they 1, 2, 3 or 4 bytes long


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
        piece = self._tokenizer.convert_ids_to_tokens(token)
        if piece is None:
            return f"⟨{token}⟩"
        added = self._added.get(token)
        if token in self._special or (added is not None and added.special):
            return f"⟨{piece.removeprefix('<').removesuffix('>')}⟩"
        if added is not None:
            return piece
        return self._bytes(piece).decode("utf-8", "rheo.name_bytes")

    def _bytes(self, piece: str) -> bytes:
        """The bytes that a vocabulary entry stands for."""
        if self._byte_level and all(char in BYTE_OF for char in piece):
            return bytes(BYTE_OF[char] for char in piece)
        if match := BYTE_PIECE.fullmatch(piece):
            return bytes([int(match[1], 16)])
        return piece.replace("▁", " ").encode()


class TextStream:
    """Text of a growing token list, as deltas that never hold half a UTF-8 character.

    For valid text the deltas of `push` joined are `decode` of all ids. A character whose bytes are
    not all there yet decodes to U+FFFD and is held back until later tokens complete it or `flush`.

    Args:
        decode: ids -> text, for example `Target.decode`.

    >>> stream = TextStream(lambda ids: bytes(ids).decode("utf-8", "replace"))
    >>> [stream.push([byte]) for byte in "aé".encode()], stream.flush()
    (['a', '', 'é'], '')
    """

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        self._decode = decode
        self._ids: list[int] = []  # the tail of the ids: what may still change, and its context
        self._sent = 0  # characters of the tail's text that are out

    def push(self, ids: Iterable[int]) -> str:
        """The text that `ids` add, but for an unfinished character at its end."""
        self._ids.extend(ids)
        whole = self._decode(self._ids)
        settled = whole.rstrip(REPLACEMENT)
        delta = settled[self._sent :]
        self._sent = max(self._sent, len(settled))
        if settled == whole and len(self._ids) > WINDOW:
            self._shorten(whole)
        return delta

    def _shorten(self, whole: str) -> None:
        """Drops ids that no longer matter, unless that would cut a character in two."""
        text = self._decode(self._ids[-WINDOW:])
        if whole.endswith(text):
            self._ids = self._ids[-WINDOW:]
            self._sent = len(text)

    def flush(self) -> str:
        """The held-back rest, U+FFFD for what never became a character; ends the stream."""
        rest = self._decode(self._ids)[self._sent :]
        self._ids, self._sent = [], 0
        return rest
