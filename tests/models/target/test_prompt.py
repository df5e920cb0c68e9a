"""Chat templates that raise, or that lose the prompt: one sentence, or content parts."""

import json

import pytest

from rheo.errors import RheoError
from rheo.models.target.prompt import prompt_ids
from rheo.models.target.target import Target
from tests.tiny import byte_level_tokenizer, tiny_folder

PARTS = (
    "{% for m in messages %}<|user|>{% for part in m['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}<|end|>{% endfor %}"
)


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('A system message must come first') }}",
        "{{ tools[0].name }}{{ messages[0]['content'] }}",
        "{% for m in messages %}{{ m['content'] ",
        "{{ messages[1]['content'].strip() }}",
        "{% if messages[0]['content'] == 'the cat' %}{{ 1 // 0 }}{% endif %}"
        "{{ messages[0]['content'] }}",
    ],
)
def test_a_template_that_raises_is_one_sentence(template):
    tokenizer = byte_level_tokenizer(template)
    with pytest.raises(RheoError, match=r"refuses the prompt \(.+\): --raw") as refused:
        prompt_ids(tokenizer, "the cat", raw=False)
    assert refused.value.__cause__ is not None
    assert prompt_ids(tokenizer, "the cat", raw=True)


def test_several_templates_without_a_default_are_one_sentence(tmp_path):
    (tiny_folder(tmp_path) / "chat_template.jinja").unlink()
    path = tmp_path / "tokenizer_config.json"
    named = [{"name": n, "template": "{{ messages[0]['content'] }}"} for n in ("rag", "tool_use")]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": named}))
    target = Target.load(str(tmp_path))
    with pytest.raises(RheoError, match="--raw"):
        target.encode("the cat")


@pytest.mark.parametrize("template", ["<|user|><|end|>", "{{ messages[0]['content'] | length }}"])
def test_a_template_that_loses_the_prompt_is_refused(template):
    with pytest.raises(RheoError, match="leaves the prompt out: --raw"):
        prompt_ids(byte_level_tokenizer(template), "the cat", raw=False)


def test_a_template_that_walks_content_parts_gets_them():
    tokenizer = byte_level_tokenizer(PARTS)
    text = tokenizer.decode(prompt_ids(tokenizer, "the cat", raw=False))
    assert text == "<|user|>the cat<|end|>"
