"""Tokens as text: exact display of one, and a stream without half characters."""

import random

import pytest
from tokenizers.decoders import DecodeStream

from rheo.models.target.detokenizer import TextStream, TokenText
from tests.tiny import byte_fallback_tokenizer, byte_level_tokenizer

REPLACEMENT = "\ufffd"
TEXTS = [
    "the the cat,  two spaces\n\tand a tab ",
    "naïve café — “quoted” … €5",
    "日本語のテキスト 한국어 עברית",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag e\u0301",
    "",
]


def decoder(tokenizer):
    return lambda ids: tokenizer.decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )


def test_byte_level_tokens():
    tokenizer = byte_level_tokenizer()
    text = TokenText(tokenizer)
    ids = tokenizer.encode("the the €é x\n")
    shown = ["the", " the", " ", "⟨0xE2⟩⟨0x82⟩", "⟨0xAC⟩", "⟨0xC3⟩", "⟨0xA9⟩", " ", "x", "\n"]
    assert [text(token) for token in ids] == shown
    assert [text(token) for token in range(5)] == ["⟨s⟩", "⟨|end|⟩", "⟨/s⟩", "⟨|user|⟩", "⟨|bot|⟩"]
    assert text(tokenizer.convert_tokens_to_ids("<think>")) == "<think>"
    assert text(len(tokenizer) + 5) == f"⟨{len(tokenizer) + 5}⟩"


def test_byte_fallback_tokens():
    tokenizer = byte_fallback_tokenizer()
    text = TokenText(tokenizer)
    ids = tokenizer.encode("ab a€")
    assert [text(token) for token in ids] == [" a", "b", " a", "⟨0xE2⟩", "⟨0x82⟩", "⟨0xAC⟩"]
    assert text(tokenizer.convert_tokens_to_ids("<0x0A>")) == "\n"
    assert text(0) == "⟨s⟩"


@pytest.mark.parametrize("make", [byte_level_tokenizer, byte_fallback_tokenizer])
def test_token_texts_and_bytes_of_a_text_join_to_it(make):
    tokenizer = make()
    text = TokenText(tokenizer)
    for source in TEXTS:
        ids = tokenizer.encode(source)
        pieces = tokenizer.convert_ids_to_tokens(ids)
        joined = b"".join(text._bytes(piece) for piece in pieces).decode()
        assert joined.removeprefix(" ") == source.removeprefix(" ")


@pytest.mark.parametrize("make", [byte_level_tokenizer, byte_fallback_tokenizer])
@pytest.mark.parametrize("at_once", [1, 2, 5, 15])
def test_stream_is_decode_and_never_half_a_character(make, at_once):
    tokenizer = make()
    decode = decoder(tokenizer)
    for source in [*TEXTS, " ".join(TEXTS) * 5]:
        ids = tokenizer.encode(source)
        stream = TextStream(tokenizer)
        deltas = [stream.push(ids[i : i + at_once]) for i in range(0, len(ids), at_once)]
        assert not any(REPLACEMENT in delta for delta in deltas)
        assert stream.flush() == ""
        assert "".join(deltas) == decode(ids) == source


class Slow:
    """A tokenizer without a backend, as where it is written in Python."""

    def __init__(self, tokenizer):
        self.decode = tokenizer.decode


def test_a_tokenizer_of_another_library_streams_the_same():
    ids = byte_level_tokenizer().encode(" ".join(TEXTS))
    slow, fast = TextStream(Slow(byte_level_tokenizer())), TextStream(byte_level_tokenizer())
    deltas = [(slow.push([token]), fast.push([token])) for token in ids]
    assert all(one == other for one, other in deltas) and len(deltas) > 10
    assert "".join(one for one, _ in deltas) + slow.flush() == byte_level_tokenizer().decode(ids)


def test_without_the_hold_back_half_characters_would_show():
    tokenizer = byte_level_tokenizer()
    decode = decoder(tokenizer)
    assert any(REPLACEMENT in decode([token]) for token in tokenizer.encode("€"))


def test_stream_of_broken_bytes_is_still_decode():
    tokenizer = byte_level_tokenizer()
    decode = decoder(tokenizer)
    generator = random.Random(0)
    for _ in range(300):
        ids = [generator.randrange(len(tokenizer)) for _ in range(generator.randrange(40))]
        stream = TextStream(tokenizer)
        deltas = [stream.push([token]) for token in ids]
        assert "".join(deltas) + stream.flush() == decode(ids)


def test_a_held_back_character_comes_with_flush():
    tokenizer = byte_level_tokenizer()
    stream = TextStream(tokenizer)
    half = tokenizer.encode("a€")[:-1]
    assert [stream.push([token]) for token in half] == ["a", ""]
    assert stream.flush() == REPLACEMENT


def test_only_the_half_character_of_a_token_is_held_back():
    """A token of a space and half a character: a stop string that ends in the space is there."""
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens(["Ġâ"])
    ids = [*tokenizer.encode("the"), len(tokenizer) - 1, *tokenizer.encode("€")[1:]]
    for make in (TextStream, lambda t: TextStream(Slow(t))):
        stream = make(tokenizer)
        deltas = [stream.push([token]) for token in ids]
        assert deltas[1] == " " and "".join(deltas) + stream.flush() == decoder(tokenizer)(ids)


def test_broken_byte_tokens_do_not_end_the_stream():
    """tokenizers' own stream raises here: a broken run of byte tokens changes what stood before."""
    tokenizer = byte_fallback_tokenizer()
    ids = tokenizer.convert_tokens_to_ids(["<0x2A>", "<0xCA>", "b"])
    bare = DecodeStream(skip_special_tokens=True)
    with pytest.raises(Exception, match="Invalid prefix"):
        [bare.step(tokenizer.backend_tokenizer, token) for token in ids]
    stream = TextStream(tokenizer)
    assert [stream.push([token]) for token in ids] == ["*", "", REPLACEMENT + "b"]
    assert stream.push(tokenizer.encode("a€")[1:]) + stream.flush() == "€"
    ids = tokenizer.convert_tokens_to_ids(["<0x2A>", "<0xCA>", "▁a"])
    assert stream.push(ids) == "*" + REPLACEMENT + " a"  # the space is not the text's first
    generator = random.Random(0)
    for _ in range(300):
        ids = [generator.randrange(len(tokenizer)) for _ in range(generator.randrange(40))]
        stream = TextStream(tokenizer)
        assert isinstance("".join([*(stream.push([token]) for token in ids), stream.flush()]), str)
