"""Where a pair's folders come from: the Hub's client is replaced, its exceptions are real."""

import errno
import importlib
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from huggingface_hub import errors as hub_errors
from safetensors.torch import save_file

from rheo.errors import RheoError
from rheo.models.hub import fetch
from rheo.models.hub.catalogue import Folder, Hub, custom
from rheo.models.loader import load_pair

HTTP = importlib.import_module(hub_errors.Response.__module__.partition(".")[0])


def answer(status: int) -> object:
    return HTTP.Response(status, request=HTTP.Request("GET", "http://hub.invalid/model"))


def model_folder(folder: Path, config: str = "{}", tensor: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(config)
    if tensor:
        save_file({tensor: torch.zeros(1)}, folder / "model.safetensors")
    return folder


def test_home_is_chosen_or_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RHEO_HOME", "~/weights")
    assert fetch.home() == Path.home() / "weights"
    monkeypatch.delenv("RHEO_HOME")
    assert fetch.home() == tmp_path / "rheoscope"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetch.home() == Path.home() / ".cache" / "rheoscope"


REFUSALS = {
    "gated": (hub_errors.GatedRepoError("x", response=answer(403)), "accept its licence"),
    "missing": (hub_errors.RepositoryNotFoundError("x", response=answer(401)), "has no owner/name"),
    "offline": (hub_errors.OfflineModeIsEnabled("x"), "cannot be reached"),
    "not cached": (hub_errors.LocalEntryNotFoundError("x"), "cannot be reached"),
    "half cached": (
        hub_errors.IncompleteSnapshotError("x", snapshot_path="y"),
        "cannot be reached",
    ),
    "bad id": (hub_errors.HFValidationError("x"), "not a Hub id"),
    "server": (hub_errors.HfHubHTTPError("x", response=answer(500)), "HfHubHTTPError"),
    "time": (HTTP.ReadTimeout("x"), "ReadTimeout"),
    "full": (OSError(errno.ENOSPC, "No space left on device"), "no room"),
    "read-only": (PermissionError(errno.EACCES, "Permission denied"), "HF_HOME"),
}


@pytest.mark.parametrize(("error", "expected"), REFUSALS.values(), ids=REFUSALS)
def test_every_refusal_of_the_hub_is_one_sentence(monkeypatch, error, expected):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(RheoError) as caught:
        fetch.ensure_source(Hub("owner/name"))
    text = str(caught.value)
    assert expected in text
    assert "owner/name" in text and "embedded pair and recorded rounds still work." in text
    assert "\n" not in text and ". " not in text


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_bin_weights_are_asked_for_only_without_safetensors(monkeypatch, tmp_path, weights):
    asked: list[str] = []

    def download(repo, *, allow_patterns, ignore_patterns, tqdm_class):
        asked.append(allow_patterns[-1])
        bar = tqdm_class(total=0, unit="B")
        bar.total = 8
        bar.update(2)
        tqdm_class(total=3, unit="it").update(1)  # files, not bytes: not reported
        if Path(weights).match(allow_patterns[-1]):
            model_folder(tmp_path)
            (tmp_path / weights).write_bytes(b"w")
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    seen = []
    assert fetch.ensure_source(Hub("owner/name"), lambda *step: seen.append(step)) == tmp_path
    expected = ["*.safetensors", "pytorch_model*.bin"]
    assert asked == expected[: 1 + weights.endswith(".bin")]
    assert set(seen) == {("Downloading owner/name", 0.25)}


def test_a_folder_must_hold_a_model(tmp_path):
    with pytest.raises(RheoError, match=r"no config\.json"):
        fetch.ensure_source(Folder(str(tmp_path)))
    with pytest.raises(RheoError, match="folder assets/nowhere has"):
        fetch.ensure_source(Folder("nowhere"))
    assert fetch.ensure_source(Folder(str(model_folder(tmp_path)))) == tmp_path


def test_a_missing_folder_costs_no_download(monkeypatch, tmp_path):
    def unexpected(*_, **__):
        pytest.fail("downloaded for a pair that cannot be completed")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unexpected)
    with pytest.raises(RheoError, match=r"no config\.json"):
        fetch.ensure(custom("owner/name", str(tmp_path)))


def test_what_does_not_fit_is_not_downloaded(monkeypatch, tmp_path):
    counts = {"owner/large": {"BF16": 10**12}, "owner/head": {"F32": 1000, "I64": 10}}

    def unexpected(*_, **__):
        pytest.fail("downloaded although it cannot fit")

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(
        huggingface_hub,
        "get_safetensors_metadata",
        lambda repo: SimpleNamespace(parameter_count=counts[repo]),
    )
    monkeypatch.setattr(huggingface_hub, "snapshot_download", unexpected)
    assert fetch.foreseen(Hub("owner/head")) == 1010
    assert fetch.foreseen(Folder(str(tmp_path))) == fetch.foreseen(Hub("owner/unknown")) == 0
    with pytest.raises(RheoError, match=r"needs about 2000\.0 GB in bfloat16"):
        load_pair(custom("owner/large", "owner/head"), device="cpu", dtype=torch.bfloat16)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: "/a/config.json")
    assert fetch.foreseen(Hub("owner/large")) == 0  # it is here: its own headers are read


def test_an_unknown_pair_is_refused_by_name():
    with pytest.raises(RheoError, match="smollm2-135m"):
        fetch.ensure("nothing-of-the-kind")


def test_a_custom_pair_of_folders(tmp_path):
    target = model_folder(tmp_path / "target", tensor="model.norm.weight")
    draft = model_folder(tmp_path / "draft", tensor="fc.weight")
    seen = []
    found = fetch.ensure(custom(str(target), str(draft)), lambda *step: seen.append(step))
    assert found == fetch.Paths(target, draft, "eagle3")
    assert seen == [("Ready", 1.0)]
    assert fetch.ensure(custom(str(target), str(draft), kind="lm")).kind == "lm"


def test_kind_of_a_draft(tmp_path):
    assert fetch.kind_of(model_folder(tmp_path / "a", '{"draft_vocab_size": 1}')) == "eagle3"
    assert fetch.kind_of(model_folder(tmp_path / "b", tensor="fc.weight")) == "eagle3"
    assert fetch.kind_of(model_folder(tmp_path / "c", tensor="model.norm.weight")) == "lm"
    folder = model_folder(tmp_path / "d")
    assert fetch.kind_of(folder) == "eagle3"
    (folder / "tokenizer.json").write_text("{}")
    assert fetch.kind_of(folder) == "lm"


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_on_the_console(monkeypatch, terminal):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    report = fetch.console_progress()
    for step in [("Get", 0.0), ("Get", 0.5), ("Convert", None), ("Ready", 1.0)]:
        report(*step)
    if terminal:
        assert screen.getvalue() == "\rGet   0%\rGet  50%\n\rConvert\n\rReady 100%\n"
    else:
        assert screen.getvalue() == "Get\nConvert\nReady\n"
