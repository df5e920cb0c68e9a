"""The judge of pip-audit's report, on reports made up; the services themselves are CI's to ask."""

import subprocess
from types import SimpleNamespace

import pytest

from tests.space import audit

KNOWN = {"id": "GHSA-1", "aliases": ["CVE-2026-134825"], "fix_versions": ["6.32.0"]}


def gradio(*vulns: dict) -> dict:
    return {"dependencies": [{"name": "gradio", "version": "6.31.0", "vulns": list(vulns)}]}


def test_the_excused_one_alone_passes():
    assert audit.judge(gradio(KNOWN)) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (gradio(KNOWN, {"id": "GHSA-2", "fix_versions": []}), "GHSA-2"),
        (gradio(), "no longer found"),
        ({"dependencies": [{"name": "torch", "version": "2", "vulns": [KNOWN]}]}, "GHSA-1"),
        ({"dependencies": [{"name": "torch", "skip_reason": "not found"}]}, "not audited"),
    ],
)
def test_anything_else_is_noticed(found, said):
    assert any(said in line for line in audit.judge(found))


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        ("", "requests.exceptions.ConnectionError: no route"),
        ('{"dependencies": [{"name": "torch", "skip_reason": "not found on PyPI"}]}', ""),
    ],
)
def test_a_service_that_knows_nothing_is_no_clean_bill(monkeypatch, capsys, stdout, stderr):
    done = SimpleNamespace(stdout=stdout, stderr=stderr)
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)
    monkeypatch.setattr(audit.shutil, "which", lambda name: name)
    assert audit.report("pypi") is None
    assert audit.main() == 0 and "SKIPPED" in capsys.readouterr().out


def test_an_error_that_is_no_network_error_is_one(monkeypatch):
    done = SimpleNamespace(stdout="", stderr="usage: pip-audit")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)
    with pytest.raises(RuntimeError, match="usage"):
        audit.report("pypi")
