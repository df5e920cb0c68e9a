"""The starter head grows the same Top-K tree as the reference EAGLE implementation."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rheo.algorithm.expansion import Policy
from rheo.algorithm.tree import grow, prune
from rheo.algorithm.uniforms import recorded
from rheo.models.draft.eagle3 import Eagle3

pytestmark = pytest.mark.embedded
VECTORS = Path(__file__).parents[2] / "vectors" / "eagle3_starter_reference.safetensors"
K, DEPTH, R = 10, 8, 59


def paths(tokens: list[int], mask: torch.Tensor, depth: list[int]) -> set[tuple[int, ...]]:
    """Each node as the tokens from the root to it; a row attends exactly its ancestors."""
    out = set()
    for row in mask:
        line = sorted(row.nonzero()[:, 0].tolist(), key=lambda i: depth[i])
        out.add(tuple(tokens[i] for i in line))
    return out


@pytest.fixture(scope="module")
def reference() -> dict[str, torch.Tensor]:
    return load_file(VECTORS)


def our_paths(folder: Path, head: Path, reference: dict, R: int = R) -> set[tuple[int, ...]]:
    embeddings = load_file(folder / "model.safetensors")["model.embed_tokens.weight"].float()
    draft = Eagle3.load(head, embeddings, 30)
    draft.reset(64, K * DEPTH)
    tokens = reference["input_ids"].long()
    logits = draft.extend(tokens, reference["features"].float())
    uniforms = [torch.zeros(K if d else 1, 0) for d in range(DEPTH)]
    tree = grow(
        logits,
        draft.level,
        recorded(uniforms),
        Policy(K, 0),
        K=K,
        depth=DEPTH,
        S=None,
        T=1.0,
        target_ids=draft.target_ids,
    )
    kept = prune(tree, tokens[-1], R)
    return paths(kept.token.tolist(), kept.mask, kept.depth.tolist())


def test_the_tree_is_the_same_set_of_paths(embedded_folder, starter_head, reference) -> None:
    theirs = paths(
        reference["tree_tokens"].tolist(),
        reference["tree_mask"].bool(),
        reference["tree_depth"].tolist(),
    )
    assert len(theirs) == R + 1
    assert our_paths(embedded_folder, starter_head, reference) == theirs
    assert our_paths(embedded_folder, starter_head, reference, R=58) != theirs  # control
