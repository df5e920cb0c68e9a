"""What only a GPU can tell: `python -m tests.space.gpu_check`, some five minutes on one big card.

Milliseconds by part and the share outside the forwards at the shapes of an 8B target with random
weights (goal: 5 %), no host sync in drafts and verification, greedy text equal to plain decoding,
and the distribution of two tokens, all in bfloat16; then the same rounds with CUDA graphs. `--cpu`
runs what it can on a tiny model, so that the script itself is tested.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from scipy import stats
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from rheo.algorithm.distribution import target_distribution
from rheo.decoding import loop
from rheo.decoding.loop import Decoding
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.target.cuda_graphs import CudaGraph
from rheo.models.target.target import Target
from rheo.params import DecodeParams
from rheo.training.init_head import initial_head
from tests.tiny import byte_level_tokenizer, tiny_model

EIGHT_B = {
    "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192,
}  # fmt: skip
GOAL = 0.05
TREE = {"K": 10, "R": 60, "depth": 8, "S": 128}
SMALL = {"K": 4, "R": 12, "depth": 3, "S": 20}


def loaded(model, device: torch.device, drafted: int) -> tuple[Target, Eagle3]:
    """A target and a new head, on one device."""
    _, checkpoint = initial_head(model, torch.arange(drafted))
    target = Target(model, byte_level_tokenizer())
    target.eos_ids = frozenset()
    head = Eagle3(checkpoint, target.embeddings, target.layers, device, target.dtype)
    target.tap(head.feature_layers)
    return target, head


def eight_b(device: torch.device) -> tuple[Target, Eagle3]:
    """Random weights in the shape of Llama 3.1 8B."""
    with torch.random.fork_rng(), device:
        torch.manual_seed(0)
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = LlamaForCausalLM(LlamaConfig(**EIGHT_B, attn_implementation="sdpa")).eval()
        finally:
            torch.set_default_dtype(default)
    return loaded(model, device, 32000)


@contextmanager
def no_sync(device: torch.device) -> Iterator[None]:
    """Drafts, verify forward and walk raise where they make the host wait; the one copy may."""

    def strict(function):
        def call(*arguments, **options):
            if device.type != "cuda":
                return function(*arguments, **options)
            torch.cuda.set_sync_debug_mode("error")
            try:
                return function(*arguments, **options)
            finally:
                torch.cuda.set_sync_debug_mode("default")

        return call

    watched = [(Decoding, "_draft"), (Target, "verify")]
    watched += [(loop, name) for name in ("walk", "acceptance", "expected")]
    former = [(place, name, getattr(place, name)) for place, name in watched]
    try:
        for place, name, function in former:
            setattr(place, name, strict(function))
        yield
    finally:
        for place, name, function in former:
            setattr(place, name, function)


def run(target: Target, head: Eagle3, prompt: list[int], **asked) -> Decoding:
    d = Decoding(target, head, DecodeParams(**asked), prompt)
    for _ in d:
        pass
    return d


def tokens(d: Decoding) -> list[int]:
    return [d.first.token, *(e.token for r in d.rounds for e in r.emitted)]


def speed(target: Target, head: Eagle3, tree: dict, count: int) -> tuple[str, float]:
    """Median milliseconds by part, after a run to warm up; the share outside the forwards."""
    prompt = list(range(5, 69))
    for _ in range(2):
        d = run(target, head, prompt, T=1.0, max_new_tokens=count, **tree)
    parts = ("draft", "target", "verify", "other")
    ms = {part: statistics.median(getattr(r.ms, part) for r in d.rounds) for part in parts}
    share = (ms["verify"] + ms["other"]) / sum(ms.values())
    shown = ", ".join(f"{part} {value:.2f}" for part, value in ms.items())
    return f"ms a round: {shown}; outside the forwards {share:.1%} (goal {GOAL:.0%})", share


def greedy(target: Target, head: Eagle3, tree: dict, count: int) -> tuple[str, bool]:
    """Whether T = 0 gives plain decoding's tokens; where not, how near the tie was."""
    prompt = list(range(5, 37))
    drafted = tokens(run(target, head, prompt, T=0.0, max_new_tokens=count, **tree))
    plain = run(target, head, prompt, T=0.0, max_new_tokens=count, strategy="autoregressive")
    at = next(
        (i for i, (a, b) in enumerate(zip(drafted, tokens(plain), strict=True)) if a != b), None
    )
    if at is None:
        return f"greedy: {count} tokens equal", True
    target.reset(len(prompt) + at + 1)
    logits, _ = target.prefill(torch.tensor(prompt + drafted[:at], device=target.device))
    best = logits.float().topk(2).values
    gap, step = float(best[0] - best[1]), float(best[0].abs()) * 2**-8
    near = gap <= 2 * step
    return f"greedy: differs at token {at}; best two {gap:.4f} apart, one step {step:.4f}", near


def distribution(target: Target, head: Eagle3, tree: dict, runs: int) -> tuple[str, bool]:
    """Chi-square of the first two tokens of many seeds against the target's own distribution."""
    prompt = list(range(5, 17))
    counts: dict[tuple[int, int], int] = {}
    for seed in range(runs):
        pair = tuple(tokens(run(target, head, prompt, T=1.0, seed=seed, max_new_tokens=2, **tree)))
        counts[pair] = counts.get(pair, 0) + 1
    first = _distribution_after(target, prompt)
    common = [int(t) for t in first.topk(min(8, len(first))).indices]
    cells = []  # (seen, expected)
    for a in common:
        second = _distribution_after(target, [*prompt, a]) * first[a]
        cells += [(counts.get((a, b), 0), runs * float(second[b])) for b in range(len(second))]
    kept = [cell for cell in cells if cell[1] >= 5]
    kept.append((runs - sum(s for s, _ in kept), runs - sum(e for _, e in kept)))
    value = float(stats.chisquare(*zip(*kept, strict=True)).pvalue)
    return f"distribution: {runs} runs, {len(kept)} cells, p = {value:.3f}", value > 1e-3


def _distribution_after(target: Target, ids: list[int]) -> Tensor:
    """The target's distribution (V,) after `ids`, float64 on the host."""
    target.reset(len(ids))
    logits, _ = target.prefill(torch.tensor(ids, device=target.device))
    return target_distribution(logits, 1.0).double().cpu()


def checks(device: torch.device) -> bool:
    """All of it, a line each; whether all passed."""
    cuda = device.type == "cuda"
    big = eight_b(device) if cuda else loaded(tiny_model(vocab=288), device, 250)
    tree, count = (TREE, 256) if cuda else (SMALL, 24)
    with no_sync(device):
        said, share = speed(*big, tree, count)
    print(said, "\nno host sync in drafts and verification" if cuda else "", flush=True)
    ok = share <= GOAL or not cuda
    said, equal = greedy(*big, tree, count)
    print(said, flush=True)
    if cuda:
        for part in big:
            part.graphs.capture = CudaGraph
        said, _ = speed(*big, tree, count)
        print(f"CUDA graphs ({big[0].graphs.note}, {big[1].graphs.note}): {said}", flush=True)
        said, again = greedy(*big, tree, count)
        print(said, flush=True)
        ok = ok and again
    del big
    small = tiny_model(vocab=24).to(device, torch.bfloat16)
    said, exact = distribution(*loaded(small, device, 20), SMALL, 3000 if cuda else 150)
    print(said, flush=True)
    return ok and equal and exact


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="what a CPU can run, on a tiny model")
    if parser.parse_args().cpu:
        return 0 if checks(torch.device("cpu")) else 1
    if not torch.cuda.is_available():
        print("There is no GPU here: nothing was checked (--cpu runs what a CPU can).")
        return 0
    return 0 if checks(torch.device("cuda")) else 1


if __name__ == "__main__":
    sys.exit(main())
