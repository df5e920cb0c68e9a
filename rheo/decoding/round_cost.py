"""What a round costs on this machine by the number of its nodes: measured once, then a constant.

A budget needs it before a run begins (algorithm section 7): a cost that changed with what a round
has drawn would look ahead.
"""

import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from rheo.algorithm.budget import Budget
from rheo.json_object import JsonObject
from rheo.models.draft.protocol import Draft
from rheo.models.hub.cache_dir import home
from rheo.models.target.target import Target
from rheo.whole_file import whole_file

_ROWS = (1, 2, 4, 8, 16, 32, 64, 128)  # of a forward pass, up to the largest tree asked for
_CONTEXT = 96  # committed rows while measuring
_REPEATS = 5
_FILE = "round_costs.json"


@dataclass(frozen=True)
class RoundCost:
    """Milliseconds of a round's parts.

    Attributes:
        rows: how many rows a forward pass of the target had, ascending from 1.
        forward: its milliseconds at each of `rows`.
        root: the draft's at the root.
        level: the draft's at one level of K nodes.
    """

    rows: tuple[int, ...]
    forward: tuple[float, ...]
    root: float
    level: float

    def by_nodes(self, R: int) -> list[float]:
        """Return C(0..R), convex: a round whose tree has n draft nodes, one level below the root's.

        >>> RoundCost((1, 2, 4), (10.0, 11.0, 12.0), 1.0, 2.0).by_nodes(3)
        [13.0, 13.6667, 14.3333, 15.0]
        """
        forward = convex(self.rows, self.forward, R + 1)
        return [round(self.root + self.level + ms, 4) for ms in forward]

    def budget(self, R: int) -> Budget:
        """Return the budget of trees up to R nodes on this machine.

        A level is drafted if what it can add at most, the best score above it, is worth its time:
        a token costs no more than a plain forward pass.
        """
        cost = torch.tensor(self.by_nodes(R), dtype=torch.float64)
        return Budget(cost=cost, grow_min=min(1.0, self.level / self.forward[0]))


_READER = TypeAdapter(RoundCost)


def convex(rows: Sequence[int], ms: Sequence[float], most: int) -> list[float]:
    """Return the largest convex curve below the points (rows, ms), at 1 to `most` rows.

    Beyond the last point it goes on as between the last two.

    >>> convex([1, 2, 4], [10.0, 14.0, 12.0], 5)
    [10.0, 10.666666666666666, 11.333333333333334, 12.0, 12.666666666666666]
    """
    hull: list[tuple[float, float]] = []
    for x, y in zip(rows, ms, strict=True):
        while len(hull) > 1 and _above(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((float(x), y))
    curve, at = [], 0
    for n in range(1, most + 1):
        while at + 2 < len(hull) and n > hull[at + 1][0]:
            at += 1
        (x0, y0), (x1, y1) = hull[at], hull[min(at + 1, len(hull) - 1)]
        curve.append(y0 + (y1 - y0) * (n - x0) / (x1 - x0) if x1 > x0 else y0)
    return curve


def _above(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    """Return whether `middle` lies on or above the line from left to right."""
    (x0, y0), (x1, y1), (x2, y2) = left, middle, right
    return (y1 - y0) * (x2 - x0) >= (y2 - y0) * (x1 - x0)


@torch.inference_mode()
def measure(target: Target, draft: Draft, R: int, K: int) -> RoundCost:
    """Time the parts of a round; about a second. The caches of both models are taken over.

    Args:
        R: the largest tree. K: nodes of a level.
    """
    most = max(2, min(R + 1, target.context - 2))
    rows = (*(n for n in _ROWS if n < most), most)
    context = max(2, min(_CONTEXT, target.context - most))
    ids = torch.arange(context + most, device=target.device) % target.vocab_size
    target.reset(context + most)
    _, features = target.prefill(ids[:context])
    forwards = [_verify(target, ids, n) for n in rows]
    draft.reset(context + 2 * (_REPEATS + 2), 2 * K)
    draft.extend(ids[: context + 1], features)
    two = None if features is None else features[:2]
    level = torch.zeros(min(K, draft.vocab_size), dtype=torch.int64, device=target.device)

    def root() -> None:
        draft.extend(ids[:2], two)

    def below() -> None:
        draft.level(level, level)

    spent: list[list[float]] = []
    for _ in range(_REPEATS + 1):  # in turns, so that a busy moment strikes all alike
        spent.append([_ms(part, target.device) for part in (*forwards, root, below)])
    middle = [statistics.median(column) for column in zip(*spent[1:], strict=True)]
    target.drop()
    return RoundCost(rows, tuple(middle[:-2]), *middle[-2:])


def _verify(target: Target, ids: torch.Tensor, n: int) -> Callable[[], object]:
    """Return a forward pass of a root and n - 1 children."""
    mask = torch.eye(n, dtype=torch.bool, device=target.device)
    mask[:, 0] = True
    depth = (torch.arange(n, device=target.device) > 0).long()
    return lambda: target.verify(ids[:n], target.length + depth, mask)


def _ms(part: Callable[[], object], device: torch.device) -> float:
    """Return the milliseconds of one call."""
    start = time.perf_counter()
    part()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - start) * 1e3


def known(target: Target, draft: Draft, pair: str, R: int, K: int) -> RoundCost:
    """Return what was measured under the same conditions before, or measure it now and keep it."""
    path, key = home() / _FILE, _conditions(target, draft, pair, R, K)
    kept = _read(path)
    found = _cost(kept.get(key))
    if found is None:
        found = measure(target, draft, R, K)
        kept[key] = asdict(found)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as part:
                part.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        except OSError:
            pass  # it is measured again next time
    return found


def _cost(entry: object) -> RoundCost | None:
    """Return an entry of the file as a cost; None where it is missing or cannot have been measured.

    >>> _cost({"rows": [1, 2], "forward": [5.0, "x"], "root": 1.0, "level": 2.0})
    """
    try:
        cost = _READER.validate_python(entry)
    except ValidationError:
        return None
    times = (*cost.forward, cost.root, cost.level)
    ascending = cost.rows[:1] == (1,) and all(a < b for a, b in pairwise(cost.rows))
    fits = ascending and len(cost.rows) == len(cost.forward)
    return cost if fits and all(0 < ms < math.inf for ms in times) else None


def _read(path: Path) -> JsonObject:
    """Return the file's entries; none of a file that is not there or not whole."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _conditions(target: Target, draft: Draft, pair: str, R: int, K: int) -> str:
    """Return all that a cost depends on, as one line."""
    parts = (
        platform.machine(),
        platform.processor(),
        f"torch {torch.__version__}",
        f"{torch.get_num_threads()} threads",
        str(target.device),
        str(target.dtype),
        target.forward_name,
        pair,
        draft.name,
        f"R {R}",
        f"K {K}",
    )
    return ", ".join(map(str, parts))
