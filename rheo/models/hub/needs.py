"""What a repository of the Hub would need, asked of the Hub before anything is fetched."""

from dataclasses import dataclass
from fnmatch import fnmatch

import huggingface_hub

from rheo.errors import RheoError
from rheo.models.hub.catalogue import Hub
from rheo.models.hub.fetch import why_hub_failed
from rheo.models.hub.file_list import wanted

_SECONDS = 5.0  # that the Hub may take to answer


@dataclass(frozen=True)
class Needs:
    """What one half of a pair would need: gigabytes to download, its licence, and leave to read."""

    gigabytes: float
    licence: str
    gated: bool


def needs(source: Hub, tokenizer: bool) -> Needs:
    """Return what the Hub says of a repository.

    Args:
        tokenizer: whether one is needed; a head uses its target's.

    Raises:
        RheoError: the Hub cannot be reached or has no such repository, or nothing here can load it.
    """
    try:
        info = huggingface_hub.HfApi().model_info(
            source.repo, files_metadata=True, timeout=_SECONDS
        )
    except Exception as error:  # the Hub's client lets errors of four libraries through
        raise RheoError(f"{why_hub_failed(source.repo, error)}.") from None
    files = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    pattern = wanted(source.repo, files, tokenizer)
    size = sum(n for name, n in files.items() if "/" not in name and fnmatch(name, pattern))
    licence = getattr(info.card_data, "license", None)
    return Needs(size / 1e9, str(licence or "see the model card"), bool(info.gated))
