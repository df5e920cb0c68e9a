"""Small worlds: a target and a draft as tables by context, small enough to enumerate or to play."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from rheo.algorithm.distribution import target_distribution
from rheo.algorithm.tree import Kept
from rheo.errors import RheoError
from rheo.json_object import JsonObject

Context = tuple[int, ...]


@dataclass(frozen=True)
class World:
    """A target and a draft small enough to enumerate.

    Attributes:
        vocab: V <= 8.
        q, p: context (token ids after the root) -> distribution over V. q is at temperature 1; p is
            at T already, unless a caller says otherwise.
        ends: token ids that end the text: no node below one counts as accepted.
    """

    vocab: int
    q: Mapping[Context, Sequence[float]]
    p: Mapping[Context, Sequence[float]]
    ends: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, data: JsonObject) -> "World":
        """Read the form of the vectors: contexts written "0,3", the root's "". "ends" is optional.

        Raises:
            RheoError: `data` has no such form.
        """

        def by_context(rows: dict[str, list[float]]) -> dict[Context, list[float]]:
            return {
                tuple(map(int, key.split(","))) if key else (): row for key, row in rows.items()
            }

        try:
            ends = tuple(int(token) for token in data.get("ends", ()))
            return cls(int(data["vocab"]), by_context(data["q"]), by_context(data["p"]), ends)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RheoError(f"This is not a world: {type(error).__name__}: {error}.") from None


class Tables(NamedTuple):
    """Logits by context: the row of context t1..tL is (V**L - 1) / (V - 1) + its base-V code."""

    draft: Tensor  # (contexts up to depth - 1, V)
    target: Tensor  # (contexts up to depth, V) untempered

    @property
    def V(self) -> int:
        """Return the vocabulary's size."""
        return self.target.shape[-1]

    def row(self, code: Tensor, length: Tensor | int) -> Tensor:
        """Return the rows of contexts of `length` tokens with these base-V codes."""
        return (self.V**length - 1) // (self.V - 1) + code

    def codes(self, kept: Kept, depth: int) -> Tensor:
        """Return the base-V code (B, R + 1) of the tokens on each kept node's path."""
        code = torch.zeros_like(kept.token)
        for _ in range(depth):  # the root's is 0; a level's are right after as many passes
            code = torch.where(
                kept.depth > 0, code.gather(-1, kept.parent) * self.V + kept.token, 0
            )
        return code


class TableDraft:
    """The draft of a world as `grow` calls it, for B trees side by side, one level a call."""

    def __init__(self, tables: Tables, B: int) -> None:
        self._tables, self._length = tables, 0
        self._code = torch.zeros(B, 1, dtype=torch.int64)
        self.root_logits = tables.draft[0].expand(B, tables.V)

    def __call__(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """Return logits (B, K, V) after tokens (B, K) below parents (B, K) of the last level."""
        self._code = self._code.gather(-1, parents) * self._tables.V + tokens
        self._length += 1
        return self._tables.draft[self._tables.row(self._code, self._length)]


def contexts(V: int, depth: int) -> list[Context]:
    """Return all token sequences up to `depth`, in the order of a table's rows.

    >>> contexts(2, 1)
    [(), (0,), (1,)]
    """
    return [c for n in range(depth + 1) for c in itertools.product(range(V), repeat=n)]


def tables(world: World, depth: int) -> Tables:
    """Return a world's log q and log p; its p counts as untempered here.

    Raises:
        RheoError: a context without its row, or a row that is no distribution.
    """
    return Tables(_log_rows(world, depth - 1, "q"), _log_rows(world, depth, "p"))


def _log_rows(world: World, depth: int, name: str) -> Tensor:
    """Return the log (contexts, V) float64 of the world's "q" or "p", each row normalised."""
    rows, named = (world.q if name == "q" else world.p), contexts(world.vocab, depth)
    missing = next((c for c in named if len(rows.get(c, ())) != world.vocab), None)
    if missing is not None:
        raise RheoError(f"The world lacks a whole {name} for the context {list(missing)}.")
    table = torch.tensor([rows[c] for c in named], dtype=torch.float64)
    sums = table.sum(-1, keepdim=True)
    if not bool(torch.isfinite(table).all() & (table >= 0).all() & (sums > 0).all()):
        raise RheoError(f"The world's {name} has a row that is no distribution.")
    return (table / sums).log()


def tempered(world: World, T: float) -> World:
    """Return the world whose p is at T, as an audit takes it; q stays at temperature 1."""

    def at_T(row: Sequence[float]) -> list[float]:
        return target_distribution(torch.tensor(row, dtype=torch.float64).log(), T).tolist()

    return replace(world, p={c: at_T(row) for c, row in world.p.items()})


def random_world(
    generator: torch.Generator, V: int, depth: int, sharpness: float = 1.0, ties: bool = False
) -> World:
    """Draw random distributions by context; with `ties`, draft logits lie on a coarse grid."""

    def rows(levels: int, coarse: bool) -> dict[Context, list[float]]:
        drawn = {}
        for c in contexts(V, levels):
            logits = torch.randn(V, generator=generator, dtype=torch.float64) * sharpness
            if coarse:
                logits = logits.round()
            drawn[c] = logits.softmax(-1).tolist()
        return drawn

    return World(V, q=rows(depth - 1, ties), p=rows(depth, False))


def joint_distribution(tables: Tables, T: float) -> Tensor:
    """Return the target's distribution of two tokens (V, V), float64."""
    first = target_distribution(tables.target[0].double(), T)
    second = target_distribution(tables.target[1 : tables.V + 1].double(), T)
    return first[:, None] * second
