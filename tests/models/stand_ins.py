"""Repositories of the Hub's file lists with tiny random weights, and a Hub that has only those."""

import json
import shutil
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import load_file, save_file

from tests.tiny import tiny_folder

WORDS = "the cat sat on the mat and the river was low that summer"
INDEX = {".bin": "pytorch_model.bin.index.json", ".safetensors": "model.safetensors.index.json"}


def shard(folder: Path, names: Sequence[str]) -> None:
    """Spread model.safetensors over files of these names (.bin are pickled), with their index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    parts = [dict(list(tensors.items())[i :: len(names)]) for i in range(len(names))]
    for name, part in zip(names, parts, strict=True):
        if name.endswith(".bin"):
            torch.save(part, folder / name)
        else:
            save_file(part, folder / name, metadata={"format": "pt"})
    where = {key: name for name, part in zip(names, parts, strict=True) for key in part}
    index = {"metadata": {}, "weight_map": where}
    (folder / INDEX[Path(names[0]).suffix]).write_text(json.dumps(index))


def sentencepiece_tokenizer(folder: Path) -> None:
    """Put Llama's kind of tokenizer.model in place of tokenizer.json, as Vicuna has it."""
    (folder / "tokenizer.json").unlink()
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([WORDS] * 20),
        model_prefix=str(folder / "tokenizer"),
        **{"vocab_size": 280, "model_type": "bpe", "byte_fallback": True, "minloglevel": 2},
        **{"unk_id": 0, "bos_id": 1, "eos_id": 2, "hard_vocab_limit": False},
    )
    (folder / "tokenizer.vocab").unlink()
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "unk_token": "<unk>"}
    config |= {"bos_token": "<s>", "eos_token": "</s>", "legacy": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def llama_target(folder: Path, shards: Sequence[str], *, sentences: bool = False) -> Path:
    """A target of 8 layers, in these shards; `sentences` gives it a sentencepiece tokenizer."""
    tiny_folder(folder)
    shard(folder, shards)
    if sentences:
        sentencepiece_tokenizer(folder)
    return folder


def pickled_head(folder: Path, tensors: dict, config: dict, shards: Sequence[str] = ()) -> Path:
    """A head in pytorch_model.bin, or in these shards."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({k: x.contiguous() for k, x in tensors.items()}, folder / "model.safetensors")
    shard(folder, shards or ["pytorch_model.bin"])
    if not shards:
        (folder / INDEX[".bin"]).unlink()
    return folder


def hub_of(repositories: dict[str, Path], cache: Path, monkeypatch) -> list[str]:
    """Let the Hub's client know these repositories alone; return the list of what is fetched."""
    import huggingface_hub

    fetched: list[str] = []

    def listed(repo: str) -> list[str]:
        return [str(p.relative_to(repositories[repo])) for p in repositories[repo].rglob("*.*")]

    def download(repo, *, allow_patterns, ignore_patterns, tqdm_class) -> str:
        for name in listed(repo):
            wanted = any(fnmatch(name, x) for x in allow_patterns)
            if wanted and not any(fnmatch(name, x) for x in ignore_patterns):
                fetched.append(f"{repo}/{name}")
                place = cache / repo / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(repositories[repo] / name, place)
        return str(cache / repo)

    monkeypatch.setattr(huggingface_hub, "list_repo_files", listed)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return fetched
