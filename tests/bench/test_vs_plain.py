"""A strategy against plain decoding: what is compared, under which budget, and in which form."""

import pytest

from rheo.bench import tables, throughput
from rheo.bench.vs_plain import against_plain
from tests.bench.inputs import PARAMS, PROMPTS


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("RHEO_HOME", str(tmp_path))


def test_both_decode_every_prompt_at_both_temperatures(engine, home, monkeypatch):
    ran = []

    def counted(engine, prompt, params, *flags, real=throughput.sample):
        ran.append((prompt.id, params.strategy, params.T, params.budget))
        return real(engine, prompt, params, *flags)

    monkeypatch.setattr(throughput, "sample", counted)
    auto = type(PARAMS)(**{**PARAMS.as_dict(), "budget": "auto"})
    rows = against_plain(engine, PROMPTS, auto, "rheo")
    assert [row["T"] for row in rows] == [0.0, 1.0]
    for row in rows:
        assert row["tokens_per_s"] > 0 and row["plain_tokens_per_s"] > 0
        assert row["ratio"]["low"] <= row["ratio"]["value"] <= row["ratio"]["high"]
        assert row["tau"] >= 1 and row["ms"]["total"] > 0
    for T in (0.0, 1.0):
        for name in ("rheo", "autoregressive"):
            at = [each for each in ran if each[1:] == (name, T, "auto")]
            assert {p for p, *_ in at} == {prompt.id for prompt in PROMPTS}
    assert "x plain" in tables.against_plain(rows)
