"""The loop: prefill, draft, verify, commit. One Decoded round at a time, lazily recorded."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rheo.algorithm.distribution import draw, target_distribution
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.tree import KINDS, Kept, Tree, grow, prune, root_only
from rheo.algorithm.uniforms import Block, UniformSource
from rheo.algorithm.walk import TargetRows, acceptance, expected, sample_token, walk
from rheo.decoding.recorder import record
from rheo.decoding.round_buffer import Packed, pack
from rheo.decoding.timing import Clock
from rheo.errors import RheoError
from rheo.models.draft import Draft
from rheo.models.target.detokenizer import TextStream
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.schema import Emission, Milliseconds, Round, Stop


@dataclass(frozen=True)
class Decoded:
    """A round as the loop knows it. `record()` makes the trace's Round of it."""

    index: int
    position: int
    emitted: tuple[Emission, ...]
    text: str
    accepted: int
    counted: int
    expected_accepted: float
    ms: Milliseconds
    packed: Packed
    block: Block

    def record(self) -> Round:
        return record(
            self.packed,
            self.block,
            index=self.index,
            position=self.position,
            emitted=self.emitted,
            accepted=self.accepted,
            counted=self.counted,
            ms=self.ms,
        )


class Decoding:
    """One prompt being decoded: iterate it for rounds; close it to stop at once.

    Args:
        target: any; its cache is taken over.
        draft: None for `autoregressive`, which draws no tree and is otherwise the same loop.
        prompt_ids: at least one.
        stop: strings that end the text; they are cut off, the token that completes one is kept.
        lock: held while the rounds run; the models' caches hold one sequence.

    Attributes:
        first: the token sampled at prefill, once iteration has begun.
        rounds: the rounds so far.
        stopped: why it ended; "closed" until then.
        prefill_ms: prompt to first token.

    Raises:
        RheoError: the prompt fills the context, or a token is asked for that has no law (NaN).
    """

    def __init__(
        self,
        target: Target,
        draft: Draft | None,
        params: DecodeParams,
        prompt_ids: Sequence[int],
        stop: Sequence[str] = (),
        lock: "threading.Lock | None" = None,
    ) -> None:
        if len(prompt_ids) >= target.context:
            raise RheoError(
                f"The prompt has {len(prompt_ids):,} tokens and the model's context ends at "
                f"{target.context:,}: shorten it."
            )
        self.target, self.draft, self.params = target, draft, params
        self.prompt_ids, self.stop = list(prompt_ids), [s for s in stop if s]
        self.first: Emission | None = None
        self.rounds: list[Decoded] = []
        self.stopped: Stop = "closed"
        self.text = ""
        self.prefill_ms = 0.0
        self._strategy = TABLE[params.strategy]
        self._policy = self._strategy.policy(params)
        self._count = 0  # new tokens
        self._cancelled = False
        self._stream = TextStream(target.decode)
        self._lock = lock or threading.Lock()
        self._iterator = self._run()
        self._check_support()

    def _check_support(self) -> None:
        if self.draft is not None and self.params.drafts and self.draft.vocab_size < self.params.K:
            raise RheoError(
                f"The draft knows {self.draft.vocab_size} tokens, fewer than K = {self.params.K}: "
                "choose a smaller K."
            )

    def __iter__(self) -> Iterator[Decoded]:
        return self._iterator

    def close(self) -> None:
        """Stop at once, from another thread after this round; what there is stays readable."""
        self._cancelled = True
        with contextlib.suppress(ValueError):  # another thread is in the middle of a round
            self._iterator.close()

    def _run(self) -> Iterator[Decoded]:
        if not self._lock.acquire(blocking=False):
            raise RheoError("The model is busy with another run: stop it or wait until it ends.")
        try:
            yield from self._decode()
        finally:
            self._lock.release()

    def _decode(self) -> Iterator[Decoded]:
        uniforms = UniformSource(self.params)
        with torch.inference_mode():
            clock = Clock(self.target.device)
            features = self._prefill(uniforms)
            clock.lap("target")
            self.prefill_ms = clock.read().total
        tokens = torch.tensor([*self.prompt_ids, self.first.token], device=self.target.device)
        while self.stopped == "closed" and not self._cancelled:
            if self.target.length >= self.target.context:
                self.stopped = "context"
                return
            # the mode must not stay on in the caller's frame while the generator is suspended
            with torch.inference_mode():
                decoded, tokens, features = self._round(tokens, features, uniforms.block())
            self.rounds.append(decoded)
            yield decoded

    def _prefill(self, uniforms: UniformSource) -> Tensor | None:
        """Commit the prompt and sample the first token; return the prompt's features."""
        p, target = self.params, self.target
        room = len(self.prompt_ids) + p.max_new_tokens + p.depth + 2
        rows = p.R + 1 if p.drafts else 1
        target.reset(min(room, target.context) + rows)
        if self.draft is not None and p.drafts:
            self.draft.reset(min(room, target.context), p.K * p.depth)
        logits, features = target.prefill(torch.tensor(self.prompt_ids, device=target.device))
        law = target_distribution(logits, p.T, p.top_k, p.top_p)
        _check_mass(float(law.sum()))
        token = draw(law, uniforms.one().to(target.device))
        self.first = Emission(int(token), "prefill")
        self._take([self.first])
        return features

    def _round(
        self, tokens: Tensor, features: Tensor | None, block: Block
    ) -> tuple[Decoded, Tensor, Tensor | None]:
        """One round; returns it with the tokens and features that the next one begins with."""
        target, p = self.target, self.params
        clock = Clock(target.device)
        on_device = Block(*(u.to(target.device, non_blocking=True) for u in block))
        depth = min(p.depth, target.context - 1 - target.length) if p.drafts else 0
        tree, kept = self._draft(tokens, features, on_device, depth, clock)
        clock.lap("other")
        logits, features = target.verify(kept.token, target.length + kept.depth, kept.mask)
        clock.lap("target")
        packed = self._verify(tree, kept, logits, on_device, depth)
        clock.lap("verify")
        rows, drafted, last = _path(packed)
        _check_mass(float(packed["total"][0]))
        emitted = [*drafted, last]
        position = target.length
        added = self._take(emitted)
        # a length limit only cuts the text; after an EOS or a stop string there is nothing to count
        counted = added if self.stopped in ("eos", "stop string") else self._whole(emitted)
        if self.stopped == "closed":
            index = torch.tensor(rows, device=target.device)
            target.commit(index)
            tokens = torch.tensor([e.token for e in emitted], device=target.device)
            features = None if features is None else features[index]
        clock.lap("other")
        decoded = Decoded(
            index=len(self.rounds),
            position=position,
            emitted=tuple(emitted[:added]),
            text=self._delta,
            accepted=min(counted, len(drafted)),
            counted=counted,
            expected_accepted=float(packed["expected"]),
            ms=clock.read(),
            packed=packed,
            block=block,
        )
        return decoded, tokens, features

    def _draft(
        self, tokens: Tensor, features: Tensor | None, block: Block, depth: int, clock: Clock
    ) -> tuple[Tree, Kept]:
        """The round's tree. Near the end of the context it is shallower, at the end only a root."""
        root = tokens[-1]
        if depth <= 0:
            return root_only(root)
        p, draft = self.params, self.draft
        clock.lap("other")
        logits = draft.extend(tokens, features)  # (Vd,)
        clock.lap("draft")

        def level(nodes: Tensor, parents: Tensor) -> Tensor:
            clock.lap("other")
            logits = draft.level(nodes, parents)  # (K, Vd)
            clock.lap("draft")
            return logits

        tree = grow(
            logits,
            level,
            block.levels(p.K, p.depth),
            self._policy,
            K=p.K,
            depth=depth,
            S=p.S,
            T=p.T,
            target_ids=draft.target_ids,
        )
        return tree, prune(tree, root, p.R)

    def _verify(self, tree: Tree, kept: Kept, logits: Tensor, block: Block, depth: int) -> Packed:
        p, m, rule = self.params, self._policy.m, self._strategy.rule
        rows = TargetRows(logits, p.T, p.top_k, p.top_p)
        # a CPU's host can look at a tensor without waiting for anything: it spares rows and steps
        looks = logits.device.type == "cpu"
        if depth <= 0:
            one = torch.ones(1, dtype=torch.float64, device=logits.device)
            return pack(tree, kept, sample_token(rows, block.u2[0]), one, one, one[0] * 0, m)
        walked = walk(
            tree,
            kept,
            rows,
            rule,
            block.u1[: depth + 1],
            block.u2[: depth + 1],
            m,
            ended=bool if looks else None,
        )
        parents = (kept.child >= 0).any(-1)
        inner = (
            parents.nonzero()[:, 0] if looks else torch.arange(len(parents), device=rows[0].device)
        )
        mass, accept = acceptance(tree, kept, rows, rule, m, inner)
        worth = expected(kept, accept, depth)
        first = p.fields.tests_deterministic_first
        return pack(tree, kept, walked, mass, accept, worth, m, tested_first=first)

    def _take(self, emitted: list[Emission]) -> int:
        """Add tokens to the text until something stops it; return how many were added."""
        before, added = len(self.text), 0
        for emission in emitted:
            added += 1
            self._count += 1
            self.text += self._stream.push([emission.token])
            if emission.token in self.target.eos_ids:
                self.stopped = "eos"
            elif self._cut_at_stop_string(before):
                self.stopped = "stop string"
            elif self._count >= self.params.max_new_tokens:
                self.stopped = "length"
            if self.stopped != "closed":
                break
        if self.stopped != "closed" and self.stopped != "stop string":
            self.text += self._stream.flush()
        self._delta = self.text[before:]
        return added

    def _whole(self, emitted: list[Emission]) -> int:
        """Tokens up to the first EOS, all where there is none."""
        ends = (i for i, e in enumerate(emitted, 1) if e.token in self.target.eos_ids)
        return next(ends, len(emitted))

    def _cut_at_stop_string(self, before: int) -> bool:
        longest = max(map(len, self.stop), default=0)
        found = [self.text.find(s, max(0, before - longest)) for s in self.stop]
        ends = [at for at in found if at >= 0]
        if ends:
            self.text = self.text[: min(ends)]
        return bool(ends)


def _path(packed: Packed) -> tuple[list[int], list[Emission], Emission]:
    """The committed rows (the root's first), the accepted draft tokens, and the emitted one."""
    stop, token = int(packed["stopped"][0]), int(packed["stopped"][1])
    parents, nodes, kinds = (
        packed.ints("parent"),
        packed.ints("node"),
        packed["kind_of"].reshape(-1),
    )
    rows = [stop]
    while rows[-1] != 0:
        rows.append(parents[rows[-1]])
    rows.reverse()
    drafted = [Emission(int(packed["token"][r]), KINDS[int(kinds[nodes[r]])], r) for r in rows[1:]]
    leaf = stop not in parents[1:]
    return rows, drafted, Emission(token, "bonus" if leaf else "residual")


def _check_mass(total: float) -> None:
    if not abs(total - 1) < 1e-3:
        raise RheoError(
            "The target's logits are not finite, so there is nothing to sample from: the "
            "checkpoint is broken or overflows in this dtype; recorded runs still work."
        )
