"""Read and write a corpus on disk: a target's texts with its hidden states, in shards.

A shard is one safetensors file of many texts, written whole or not at all, so a job that was
stopped goes on with the first shard that is missing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from rheo.errors import RheoError
from rheo.whole_file import whole_file

HELD_OUT = 32  # one prompt in so many is kept for evaluation


@dataclass(frozen=True)
class Text:
    """A prompt and its answer: tokens (n,) int64, of which the first `prompt` are the prompt's."""

    tokens: Tensor
    prompt: int
    temperature: float

    @property
    def answer(self) -> Tensor:
        """Return the answer's tokens (n - prompt,)."""
        return self.tokens[self.prompt :]

    @property
    def held_out(self) -> bool:
        """Say whether this prompt is never trained on: a property of its tokens alone.

        So no two answers to one prompt fall on both sides, in whatever corpus they stand.
        """
        prompt = " ".join(map(str, self.tokens[: self.prompt].tolist()))
        return int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8]) % HELD_OUT == 0


@dataclass(frozen=True)
class States:
    """A target's hidden states at the n tokens of a text.

    Attributes:
        features: (n, 3dt) the three hidden states that the draft head reads, side by side.
        last: (n, dt) after the final norm; `OwnLogits` makes of it the target's logits of what
            follows each token.
    """

    features: Tensor
    last: Tensor


def write(
    path: Path, texts: Sequence[Text], states: Sequence[States], about: dict[str, str]
) -> None:
    """Write one shard; states are stored in bfloat16, whose range no hidden state leaves."""
    tensors = {
        "tokens": torch.cat([text.tokens for text in texts]).to(torch.int32),
        "prompt_len": torch.tensor([text.prompt for text in texts], dtype=torch.int32),
        "total_len": torch.tensor([len(text.tokens) for text in texts], dtype=torch.int32),
        "temperature": torch.tensor([text.temperature for text in texts], dtype=torch.float64),
        "features": torch.cat([s.features.to("cpu", torch.bfloat16) for s in states]),
        "last": torch.cat([s.last.to("cpu", torch.bfloat16) for s in states]),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        save_file(tensors, part, metadata=about)


class Shard:
    """One file of a corpus: its texts in memory, their states read on demand.

    Raises:
        RheoError: the file is damaged or no shard.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = safe_open(path, "pt")
            small = {
                key: self._file.get_tensor(key)
                for key in ("tokens", "prompt_len", "total_len", "temperature")
            }
        except (SafetensorError, OSError) as error:
            raise RheoError(
                f"{path} is no shard of a corpus ({error}); delete it and run "
                "`python -m rheo corpus` again, which makes only what is missing."
            ) from error
        self.about: dict[str, str] = self._file.metadata() or {}
        tokens = small["tokens"].long().split(small["total_len"].tolist())
        self.texts = [
            Text(*fields)
            for fields in zip(
                tokens, small["prompt_len"].tolist(), small["temperature"].tolist(), strict=True
            )
        ]
        self._ends = small["total_len"].cumsum(0).tolist()

    def states(self, index: int) -> States:
        """Read the states of text `index`, bfloat16."""
        end = self._ends[index]
        rows = slice(end - len(self.texts[index].tokens), end)
        return States(*(self._file.get_slice(key)[rows] for key in ("features", "last")))


def shards(folders: Sequence[Path]) -> list[Shard]:
    """Open all shards of some corpora, in the order of their names.

    Raises:
        RheoError: there are none, or they come from different targets.
    """
    paths = [path for folder in folders for path in sorted(folder.glob("*.safetensors"))]
    if not paths:
        names = ", ".join(map(str, folders))
        raise RheoError(f"No corpus in {names}; make one with `python -m rheo corpus`.")
    found = [Shard(path) for path in paths]
    if len({(s.about.get("target"), s.about.get("layers")) for s in found}) > 1:
        raise RheoError("These corpora come from different targets; train on those of one target.")
    return found
