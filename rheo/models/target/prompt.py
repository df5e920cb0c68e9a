"""A prompt as token ids: one user turn of the chat template, or plain text."""

from transformers import PreTrainedTokenizerBase

from rheo.errors import RheoError


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str, raw: bool) -> list[int]:
    """Return the ids of one user turn of the chat template, up to where the answer starts.

    Without a template, or `raw`, they are the plain text's, with the BOS where the tokenizer adds
    one. Thinking is switched off in templates that know the switch.

    Raises:
        RheoError: the prompt has no tokens, or is no Unicode text.
    """
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise RheoError("The prompt is not valid Unicode text: type it again.") from None
    if raw or not tokenizer.chat_template:
        ids = tokenizer(prompt)["input_ids"]
    else:
        turn = [{"role": "user", "content": prompt}]
        asked = {"add_generation_prompt": True, "return_dict": False}
        if "enable_thinking" in tokenizer.get_chat_template():
            asked["enable_thinking"] = False
        ids = tokenizer.apply_chat_template(turn, **asked)  # type: ignore[arg-type]
    if not ids:
        raise RheoError("The prompt is empty: type at least one character.")
    return list(ids)
