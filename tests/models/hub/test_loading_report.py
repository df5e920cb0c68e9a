"""A GGUF file that lacks tensors, or holds some without a use, makes no model folder."""

from types import SimpleNamespace

import pytest

from rheo.errors import RheoError
from rheo.models.hub import gguf

WHOLE = {"missing_keys": set(), "unexpected_keys": set(), "mismatched_keys": set()}


def converted(monkeypatch, tmp_path, report: dict) -> None:
    def load(*_, output_loading_info=False, **__):
        assert output_loading_info
        return SimpleNamespace(config=SimpleNamespace(eos_token_id=2)), WHOLE | report

    monkeypatch.setattr(gguf, "_tokenizer", lambda _: SimpleNamespace(chat_template=None))
    monkeypatch.setattr(gguf.AutoModelForCausalLM, "from_pretrained", load)
    gguf.convert(tmp_path / "model.gguf", tmp_path / "out")


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ({"missing_keys": {"model.norm.weight"}}, r"model\.gguf lacks model\.norm\.weight"),
        ({"unexpected_keys": {"blk.9"}}, r"without a use here, blk\.9"),
        ({"mismatched_keys": {("lm_head.weight", (1,), (2,))}}, "another shape"),
        ({}, "no chat template"),  # the control: the report is clean, what comes after is not
    ],
)
def test_a_file_that_is_not_wholly_the_model_is_refused(report, why, monkeypatch, tmp_path):
    with pytest.raises(RheoError, match=why):
        converted(monkeypatch, tmp_path, report)
    assert not (tmp_path / "out").exists()
