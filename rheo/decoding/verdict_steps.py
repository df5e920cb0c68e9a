"""The verdicts of a visited node, in the order in which its rule gives them.

Only what was decided on the device is written down; nothing is drawn or decided again.
"""

import numpy as np

from rheo.algorithm.tree import DETERMINISTIC, PROBE
from rheo.algorithm.uniforms import Block
from rheo.decoding.round_buffer import Packed
from rheo.trace.schema import Step


def steps_of(packed: Packed, block: Block, i: int) -> list[Step]:
    """Steps of the i-th visit, the last one an accepted child or the emitted token."""
    node = _Node(packed, block, i)
    steps: list[Step] = []
    for part in (node.head, node.probes, node.siblings):
        steps += part()
        if steps and steps[-1].verdict == "accept":
            return steps
    return [*steps, node.emission()]


class _Node:
    """One visit of a packed round."""

    def __init__(self, packed: Packed, block: Block, i: int) -> None:
        row = packed.ints("visited")[i]
        e = int(packed["expansion"][row])
        K = packed["kind_of"].shape[-1]
        edges = zip(packed.ints("node"), packed.ints("parent"), strict=True)
        rows = {node % K: r for r, (node, parent) in enumerate(edges) if r and parent == row}
        kinds = packed.ints("kind_of")[e] if e >= 0 else []
        self.child = dict(sorted(rows.items()))  # slot -> row
        self.token = {slot: int(packed["token"][r]) for slot, r in self.child.items()}
        self.taken = int(packed["slot"][i])
        self.u1, self.u2, self.share = block.u1[i].tolist(), float(block.u2[i]), packed["share"][i]
        self.tested, self.true = packed["tested"][i], packed["true_of"][max(e, 0)]
        self.total, self.mass = float(packed["total"][i]), float(packed["mass"][i])
        self.was_tested_first, self.left, self.ratio = (
            packed[n][i] for n in ("head", "left", "ratio")
        )
        self.stopped = packed["stopped"].tolist()
        # RRSw tests its deterministic children first, as intervals of p itself
        first = [s for s in self.child if kinds[s] == DETERMINISTIC and packed.tested_first]
        self.first, self.probe = first, [s for s in self.child if kinds[s] == PROBE]
        self.rest = [s for s in self.child if s not in first and s not in self.probe]

    def head(self) -> list[Step]:
        return self._intervals(self.first, self.was_tested_first, self.total, self.u2)

    def siblings(self) -> list[Step]:
        return self._intervals(self.rest, self.left, self.mass, float(self.share))

    def _intervals(
        self, slots: list[int], masses: np.ndarray, total: float, x: float
    ) -> list[Step]:
        """Point masses in slot order, up to the one taken: a child is accepted where x falls in."""
        steps, low = [], 0.0
        for slot in slots:
            high = low + (float(masses[slot]) / total if total > 0 else 0.0)
            chance = min(1.0, (high - low) / (1.0 - low)) if low < 1 else 0.0
            steps.append(
                Step(
                    rule="sibling",
                    token=self.token[slot],
                    verdict=self._verdict(slot),
                    uniform=self.u2,
                    share=x,
                    p=chance,
                    child=self.child[slot],
                    ratio=chance,
                    low=low,
                    high=high,
                )
            )
            if slot == self.taken:
                break
            low = high
        return steps

    def probes(self) -> list[Step]:
        """u < min(1, r / q-tilde) in turn, each rejection leaving norm(max(0, r - q-tilde))."""
        steps = []
        for j, slot in enumerate(self.probe):
            steps.append(
                Step(
                    rule="probe",
                    token=self.token[slot],
                    verdict=self._verdict(slot),
                    uniform=self.u1[j],
                    share=self.u1[j],
                    p=float(self.tested[j]),
                    child=self.child[slot],
                    q_tilde=float(self.true[slot]),
                    ratio=float(self.ratio[j]),
                )
            )
            if slot == self.taken:
                break
        return steps

    def emission(self) -> Step:
        """Residual, or bonus at a leaf: the token drawn from everything but the kept children."""
        _, token, low, high = self.stopped
        gone = sum(float(self.left[s]) for s in self.child) / self.mass if self.mass > 0 else 0.0
        return Step(
            rule="emit",
            token=int(token),
            verdict="emit",
            uniform=self.u2,
            share=float(self.share),
            p=min(1.0, (high - low) / (1.0 - gone)) if gone < 1 else 1.0,
            low=low,
            high=high,
        )

    def _verdict(self, slot: int) -> str:
        return "accept" if slot == self.taken else "reject"
