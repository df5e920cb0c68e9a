"""A prompt as token ids: one user turn of the chat template, or plain text."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from rheo.errors import RheoError, reason


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str, raw: bool) -> list[int]:
    """Return the ids of one user turn of the chat template, up to where the answer starts.

    Without a template, or `raw`, they are the plain text's, with the BOS where the tokenizer adds
    one. Thinking is switched off in templates that know the switch.

    Raises:
        RheoError: the prompt is blank, has no tokens, or is no Unicode text; the template raises,
            or leaves the prompt out.
    """
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise RheoError("The prompt is not valid Unicode text: type it again.") from None
    plain = raw or not tokenizer.chat_template
    ids = tokenizer(prompt)["input_ids"] if plain else _templated(tokenizer, prompt)
    if not ids or not prompt.strip():
        raise RheoError("The prompt is empty: type at least one character.")
    return list(ids)


def _templated(tokenizer: PreTrainedTokenizerBase, prompt: str) -> Sequence[int]:
    """Return the ids of the chat template around a prompt.

    A template that walks content parts loses a plain text, in silence: then parts are tried.
    """
    why: Exception | None = None
    for content in (str, _parts):
        try:
            # two texts of one length, so that a template that only counts loses them too
            shown = [_filled(tokenizer, content(x), tokenize=False) for x in "ab"]
            if shown[0] != shown[1] and str(_parts("a")) not in shown[0]:
                return _filled(tokenizer, content(prompt), tokenize=True)
        except Exception as error:  # a template is a program: it raises whatever it likes
            why = why or error
    said = f"refuses the prompt ({reason(why)})" if why else "leaves the prompt out"
    raise RheoError(f"The chat template of this model {said}: --raw goes around it.") from why


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _filled(tokenizer: PreTrainedTokenizerBase, content: object, tokenize: bool) -> Sequence[int]:
    """Return the template around one user turn, up to where the answer starts: ids, or text."""
    asked = {"add_generation_prompt": True, "return_dict": False, "tokenize": tokenize}
    if "enable_thinking" in tokenizer.get_chat_template():
        asked["enable_thinking"] = False
    turn = [{"role": "user", "content": content}]
    return tokenizer.apply_chat_template(turn, **asked)  # type: ignore[arg-type, return-value]
