"""The verdicts of a visited node, in the order in which its rule gives them.

Only what was decided on the device is written down; nothing is drawn or decided again.
"""

from rheo.algorithm.expansion import DETERMINISTIC, PROBE
from rheo.algorithm.uniforms import Block
from rheo.decoding.round_buffer import FloatArray, RoundBuffer
from rheo.trace.schema import Step, Verdict


def steps_of(buffer: RoundBuffer, block: Block, visit: int) -> list[Step]:
    """Return the steps of a visit, the last one an accepted child or the emitted token."""
    node = _Visit(buffer, block, visit)
    steps: list[Step] = []
    for part in (node.first_siblings, node.probes, node.later_siblings):
        steps += part()
        if steps and steps[-1].verdict == "accept":
            return steps
    return [*steps, node.emission()]


class _Visit:
    """One visited node of a round: its kept children by slot, and what was decided there."""

    def __init__(self, buffer: RoundBuffer, block: Block, visit: int) -> None:
        self.buffer, self.visit = buffer, visit
        self.u1: list[float] = block.u1[visit].tolist()
        self.u2, self.share = float(block.u2[visit]), float(buffer.share[visit])
        self.taken = int(buffer.slot[visit])
        row = int(buffer.visited[visit])
        expansion = max(int(buffer.expansion[row]), 0)  # a leaf has no children to look up there
        self.true: FloatArray = buffer.true[expansion]
        K = buffer.kind.shape[-1]
        children = (buffer.parent[1:] == row).nonzero()[0] + 1
        rows = {int(buffer.candidate[r]) % K: int(r) for r in children}
        self.child = dict(sorted(rows.items()))  # slot -> row
        self.token = {slot: int(buffer.token[r]) for slot, r in self.child.items()}
        kinds = buffer.kind[expansion]
        self._probes = [s for s in self.child if kinds[s] == PROBE]
        # RRSw tests its deterministic children first, as intervals of p itself
        first = buffer.deterministic_first
        self._first = [s for s in self.child if first and kinds[s] == DETERMINISTIC]
        self._later = [s for s in self.child if s not in self._first + self._probes]

    def first_siblings(self) -> list[Step]:
        """Return the steps of the children tested before the probes."""
        at = self.visit
        return self._intervals(
            self._first, self.buffer.first_mass[at], float(self.buffer.total[at]), self.u2
        )

    def later_siblings(self) -> list[Step]:
        """Return the steps of the children drawn from the last residual."""
        at = self.visit
        mass = float(self.buffer.residual_mass[at])
        return self._intervals(self._later, self.buffer.child_residual[at], mass, self.share)

    def _intervals(
        self, slots: list[int], masses: FloatArray, total: float, share: float
    ) -> list[Step]:
        """Return point masses in slot order, up to the child in whose interval `share` falls."""
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
                    share=share,
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
        """Return the probes' tests u1 < min(1, r / q-tilde), up to the one accepted."""
        steps = []
        for j, slot in enumerate(self._probes):
            steps.append(
                Step(
                    rule="probe",
                    token=self.token[slot],
                    verdict=self._verdict(slot),
                    uniform=self.u1[j],
                    share=self.u1[j],
                    p=float(self.buffer.tested[self.visit, j]),
                    child=self.child[slot],
                    q_tilde=float(self.true[slot]),
                    ratio=float(self.buffer.ratio[self.visit, j]),
                )
            )
            if slot == self.taken:
                break
        return steps

    def emission(self) -> Step:
        """Return the draw from everything but the kept children: residual, or bonus at a leaf."""
        low, high = float(self.buffer.emitted_low), float(self.buffer.emitted_high)
        mass, left = float(self.buffer.residual_mass[self.visit]), self.buffer.child_residual
        gone = sum(float(left[self.visit, s]) for s in self.child) / mass if mass > 0 else 0.0
        return Step(
            rule="emit",
            token=int(self.buffer.emitted_token),
            verdict="emit",
            uniform=self.u2,
            share=self.share,
            p=min(1.0, (high - low) / (1.0 - gone)) if gone < 1 else 1.0,
            low=low,
            high=high,
        )

    def _verdict(self, slot: int) -> Verdict:
        return "accept" if slot == self.taken else "reject"
