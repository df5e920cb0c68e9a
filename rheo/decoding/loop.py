"""The loop: prefill, draft, verify, commit. One decoded round at a time, recorded by who asks."""

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence

import torch
from torch import Tensor

from rheo.algorithm.budget import ALL, Budget
from rheo.algorithm.distribution import draw, target_distribution
from rheo.algorithm.strategies import TABLE
from rheo.algorithm.tree import Kept, Tree, grow, prune, root_only
from rheo.algorithm.uniforms import Block, UniformSource, recorded
from rheo.algorithm.walk import TargetRows, acceptance, expected, sample_token, walk
from rheo.decoding.finite import check_round, check_target
from rheo.decoding.output_text import OutputText
from rheo.decoding.round_buffer import Decoded, Outcome, expected_of, pack, pack_outcome
from rheo.decoding.timing import Clock
from rheo.decoding.watch import RoundInterrupted, Watch
from rheo.errors import RheoError
from rheo.models.draft.protocol import Draft
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.trace.schema import Emission, Stop


class Decoding:
    """One prompt being decoded: iterate it for rounds; close it to stop at once.

    Args:
        target: any; its cache is taken over.
        draft: None for `autoregressive`, which draws no tree and is otherwise the same loop.
        prompt_ids: at least one.
        stop: strings that end the text; they are cut off, the token that completes one is kept.
        lock: held while the rounds run; the models' caches hold one sequence.
        watch: what may end it within a round, and times plain steps beside it.
        budget: asked once, when the rounds begin; None spends all of R.
        record: keep what a trace and expectations need; the text alone needs a part of it.

    Attributes:
        first: the token sampled at prefill, once iteration has begun.
        rounds: the rounds so far.
        prefill_ms: prompt to first token.
        budget: what a round may spend, once iteration has begun.
        budget_s: seconds that asking for it took: no part of the decoding.
        watch: the argument, or one that ends nothing and times nothing.

    Raises:
        RheoError: the prompt fills the context, the draft knows fewer tokens than K; from the
            iterator, another run is going on, or the target's logits are not finite.
    """

    def __init__(
        self,
        target: Target,
        draft: Draft | None,
        params: DecodeParams,
        prompt_ids: Sequence[int],
        stop: Sequence[str] = (),
        lock: "threading.Lock | None" = None,
        watch: Watch | None = None,
        budget: Callable[[], Budget] | None = None,
        record: bool = True,
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
        self.prefill_ms = 0.0
        self._strategy = TABLE[params.strategy]
        self._policy = self._strategy.policy(params)
        ends = sorted(target.eos_ids)
        self._ends = torch.tensor(ends, dtype=torch.int64, device=target.device)
        self._output = OutputText(target, self.stop, params.max_new_tokens)
        self._cancelled, self.watch = False, watch or Watch()
        self.budget, self.budget_s, self._ask_budget, self._record = ALL, 0.0, budget, record
        self._lock = lock or threading.Lock()
        self._iterator = self._run()
        self._check_support()

    def _check_support(self) -> None:
        if self.draft is not None and self.params.drafts and self.draft.vocab_size < self.params.K:
            raise RheoError(
                f"The draft knows {self.draft.vocab_size} tokens, fewer than K = {self.params.K}: "
                "choose a smaller K."
            )

    @property
    def text(self) -> str:
        """Return the text so far."""
        return self._output.text

    @property
    def stopped(self) -> Stop:
        """Return why it ended; "closed" until then."""
        return self._output.stopped

    def __iter__(self) -> Iterator[Decoded]:
        return self._iterator

    def close(self) -> None:
        """Stop at once, from another thread within this round; what there is stays readable."""
        self._cancelled = True
        with contextlib.suppress(ValueError):  # another thread is in the middle of a round
            self._iterator.close()

    def _run(self) -> Generator[Decoded, None, None]:
        if not self._lock.acquire(blocking=False):
            raise RheoError("The model is busy with another run: stop it or wait until it ends.")
        try:
            yield from self._decode()
        finally:
            self._lock.release()

    def _decode(self) -> Iterator[Decoded]:
        uniforms = UniformSource(self.params)
        if self._ask_budget is not None and self.params.drafts:
            start = time.perf_counter()
            self.budget = self._ask_budget()
            self.budget_s = time.perf_counter() - start
        with torch.inference_mode():
            clock = Clock(self.target.device)
            first, features = self._prefill(uniforms)
            clock.lap("target")
            self.prefill_ms = clock.read().total
        tokens = torch.tensor([*self.prompt_ids, first.token], device=self.target.device)
        while self.stopped == "closed" and not self._cancelled:
            if self.target.length >= self.target.context:
                self._output.stopped = "context"
                return
            try:  # the mode must not stay on in the caller's frame while this is suspended
                with torch.inference_mode():
                    block = uniforms.block()
                    self._beside(tokens[-1], block)
                    decoded, tokens, features = self._round(tokens, features, block)
            except RoundInterrupted:
                return
            self.rounds.append(decoded)
            yield decoded

    def _look(self) -> None:
        """Leave the round if the decoding is to end."""
        if self._cancelled or self.watch.over():
            raise RoundInterrupted

    def _beside(self, root: Tensor, block: Block) -> None:
        """Let the watch time a plain step from the same root; nothing of it is committed or kept.

        It uses a uniform that the round will use too, and takes none.
        """

        def step() -> None:
            on_device = Block(*(u.to(self.target.device) for u in block))
            tree, kept = root_only(root)
            logits, _ = self.target.verify(kept.token, self.target.length + kept.depth, kept.mask)
            self._verify(tree, kept, logits, on_device, 0)

        if self.params.drafts:
            self.watch.beside(len(self.rounds), step)

    def _prefill(self, uniforms: UniformSource) -> tuple[Emission, Tensor | None]:
        """Commit the prompt and sample the first token; return it and the prompt's features."""
        params, target = self.params, self.target
        room = len(self.prompt_ids) + params.max_new_tokens + params.depth + 2
        rows = params.R + 1 if params.drafts else 1
        target.reset(min(room, target.context) + rows)
        if self.draft is not None and params.drafts:
            self.draft.reset(min(room, target.context), params.K * params.depth)
        logits, features = target.prefill(torch.tensor(self.prompt_ids, device=target.device))
        p = target_distribution(logits, params.T, params.top_k, params.top_p)  # (V,)
        check_target(float(logits.amax()), float(p.sum()), 0)
        token = draw(p, uniforms.one().to(target.device))
        self.first = Emission(int(token), "prefill")
        self._output.add([self.first])
        return self.first, features

    def _round(
        self, tokens: Tensor, features: Tensor | None, block: Block
    ) -> tuple[Decoded, Tensor, Tensor | None]:
        """Decode one round; return it with the tokens and features that the next begins with.

        Args:
            tokens: (n,) committed since the draft's last turn, the root last.
            features: (f, 3 dt) of the tokens before them, where the draft reads features.
            block: the round's uniforms, on the host.
        """
        target, params = self.target, self.params
        clock = Clock(target.device)
        on_device = Block(*(u.to(target.device, non_blocking=True) for u in block))
        depth = min(params.depth, target.context - 1 - target.length) if params.drafts else 0
        tree, kept = self._draft(tokens, features, on_device, depth, clock)
        clock.lap("other")
        self._look()
        logits, features = target.verify(kept.token, target.length + kept.depth, kept.mask)
        clock.lap("target")
        buffer = self._verify(tree, kept, logits, on_device, depth)
        clock.lap("verify")
        check_round(buffer, "draft" if self.draft is None else self.draft.name, len(self.rounds))
        rows, emitted = buffer.path()
        position = target.length
        added = self._output.add(emitted)
        counted = self._output.counted(emitted, added)
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
            text=self._output.delta,
            accepted=min(counted, len(emitted) - 1),
            counted=counted,
            expected_accepted=expected_of(buffer),
            ms=clock.read(),
            buffer=buffer,
            block=block,
        )
        return decoded, tokens, features

    def _draft(
        self, tokens: Tensor, features: Tensor | None, block: Block, depth: int, clock: Clock
    ) -> tuple[Tree, Kept]:
        """Draw the round's candidate tree, and prune it.

        Near the end of the context it is shallower; at the end, or without a draft, only a root.
        """
        root, params, draft = tokens[-1], self.params, self.draft
        if depth <= 0 or draft is None:
            return root_only(root)
        clock.lap("other")
        logits = draft.extend(tokens, features)  # (Vd,)
        clock.lap("draft")

        def level(nodes: Tensor, parents: Tensor) -> Tensor:
            self._look()
            clock.lap("other")
            logits = draft.level(nodes, parents)  # (K, Vd)
            clock.lap("draft")
            return logits

        tree = grow(
            logits,
            level,
            recorded(block.levels(params.K, params.depth)),
            self._policy,
            K=params.K,
            depth=depth,
            S=params.S,
            T=params.T,
            target_ids=draft.target_ids,
            budget=self.budget,
        )
        return tree, prune(tree, root, params.R, self.budget)

    def _verify(self, tree: Tree, kept: Kept, logits: Tensor, block: Block, depth: int) -> Outcome:
        """Walk the pruned tree with the target's logits (R + 1, V); the result is on the host."""
        params, m, rule = self.params, self._policy.m, self._strategy.rule
        broken = ~logits.amax(-1).isfinite()  # (R + 1,)
        logits = logits.masked_fill_(broken[:, None], 0.0)  # no place is looked up by a NaN
        rows = TargetRows(logits, params.T, params.top_k, params.top_p)
        # a CPU's host can look at a tensor without waiting for anything: it spares rows and steps
        host_is_free = logits.device.type == "cpu"
        if depth <= 0:
            one = torch.ones(1, dtype=torch.float64, device=logits.device)
            p = one.masked_fill(broken, torch.nan)
            sampled = sample_token(rows, block.u2[0])
            if not self._record:
                return pack_outcome(tree, kept, sampled, p)
            return pack(tree, kept, sampled, p, one, one[0] * 0, m)
        walked = walk(
            tree,
            kept,
            rows,
            rule,
            block.u1[: depth + 1],
            block.u2[: depth + 1],
            m,
            ended=bool if host_is_free else None,
        )
        if not self._record:
            finite = torch.ones_like(broken, dtype=torch.float64).masked_fill(broken, torch.nan)
            return pack_outcome(tree, kept, walked, finite)
        parents = (kept.child >= 0).any(-1)  # (R + 1,)
        every_row = torch.arange(len(parents), device=logits.device)
        inner = parents.nonzero()[:, 0] if host_is_free else every_row
        p, accept = acceptance(tree, kept, rows, rule, m, inner)  # (R + 1,) each
        p = p.masked_fill(broken, torch.nan)  # `check_round` finds it
        accepted = expected(kept, accept, depth, self._ends)
        first = self._strategy.fields.tests_deterministic_first
        return pack(tree, kept, walked, p, accept, accepted, m, deterministic_first=first)
