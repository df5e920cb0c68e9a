"""What of a repository is to be fetched, and whether it can be loaded: decided by its file list.

A model may be tens of gigabytes; that nothing here can read it is said before the first byte.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from fnmatch import fnmatch

from rheo.errors import RheoError

BESIDE = ["*.json", "*.txt", "*.model", "*.jinja", "tokenizer*"]  # configs and tokenizers
WEIGHT_FILES = ["*.safetensors", "pytorch_model*.bin"]  # in the order in which they are preferred
NOT_WEIGHTS = ["*/*", "consolidated*", "adapter_*"]  # second copies in other formats, and parts
_TOKENIZERS = [{"tokenizer.json"}, {"tokenizer.model"}, {"vocab.json", "merges.txt"}]
_OTHERS = (".gguf", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".npz")
_SHARD = re.compile(r"(.*)-(\d+)-of-(\d+)(\..*)")


def wanted(repo: str, names: Iterable[str], tokenizer: bool) -> str:
    """Return the pattern of the weights to fetch from a repository with these files.

    Args:
        repo: for the sentence. tokenizer: whether one is needed; a head uses its target's.

    Raises:
        RheoError: nothing here can load it; the sentence says what is missing.

    >>> wanted("a/b", ["config.json", "pytorch_model.bin", "tokenizer.model"], tokenizer=True)
    'pytorch_model*.bin'
    """
    top = {name for name in names if "/" not in name}
    if "config.json" not in top:
        raise RheoError(f"{repo} has no config.json, so it holds no model that can be loaded.")
    usable = {name for name in top if not any(fnmatch(name, x) for x in NOT_WEIGHTS)}
    for pattern in WEIGHT_FILES:
        found = {name for name in usable if fnmatch(name, pattern)}
        if found:
            break
    else:
        raise RheoError(_no_weights(repo, set(names)))
    if absent := _absent_shards(found):
        raise RheoError(f"{repo} lacks {absent[0]}, a part of its weights: it cannot be loaded.")
    if tokenizer and not any(needed <= top for needed in _TOKENIZERS):
        raise RheoError(
            f"{repo} has no tokenizer (tokenizer.json, tokenizer.model, or vocab.json with "
            "merges.txt), so no text could be asked of it."
        )
    return pattern


def _no_weights(repo: str, names: set[str]) -> str:
    """Say what a repository holds instead of weights that can be loaded."""
    if any(fnmatch(name, "adapter_*") for name in names):
        what = "an adapter, which is a part of a model"
    else:
        kinds = sorted({x for x in _OTHERS for name in names if name.endswith(x)})
        what = " and ".join(kinds) + " files" if kinds else "none at its top"
    return (
        f"{repo} has {what}: only .safetensors or pytorch_model*.bin weights at the top of a "
        "repository can be loaded."
    )


def _absent_shards(found: set[str]) -> list[str]:
    """Return the shards that should stand between the others.

    >>> _absent_shards({"model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"})
    ['model-00002-of-00003.safetensors']
    """
    sets: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for match in filter(None, map(_SHARD.fullmatch, found)):
        stem, number, count, end = match.groups()
        sets[stem, count, end].append(number)
    return [
        f"{stem}-{number:0{len(numbers[0])}d}-of-{count}{end}"
        for (stem, count, end), numbers in sorted(sets.items())
        for number in range(1, int(count) + 1)
        if number not in map(int, numbers)
    ]
