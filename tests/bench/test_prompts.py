"""Prompts of the suites, and files of prompts that are wrong."""

import pytest

from rheo.bench.prompts import read_prompts, shipped
from rheo.errors import RheoError

pytestmark = pytest.mark.usefixtures("one_thread")


def test_prompts_are_taken_in_turn_from_the_suites():
    prompts = read_prompts(shipped(), 12)
    assert len({p.suite for p in prompts[:6]}) == 6
    assert len({(p.suite, p.id) for p in prompts}) == 12
    assert all(isinstance(p.text, str) for p in prompts)  # of a conversation, its first turn


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"suite": "a", "id": 1}', '{"suite": "a", "id": 1, "prompt": []}']
)
def test_a_bad_prompt_file_is_one_sentence(line, tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"suite": "a", "id": 1, "prompt": "x"}\n' + line)
    with pytest.raises(RheoError, match=r"^Line 2 of .*p\.jsonl"):
        read_prompts([path])
    with pytest.raises(RheoError, match="could not be read"):
        read_prompts([tmp_path / "none.jsonl"])
