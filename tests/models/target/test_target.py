"""The target against transformers itself: trees, commits, features, prompts, greedy text."""

import pytest
import torch
from torch import Tensor

from rheo.errors import RheoError
from rheo.models.target.target import Target
from tests.tiny import EOS, FAMILIES, LAYERS, VOCAB, tiny_model

# float32, as a share of the largest value compared (logits of about 5, features of about 50): a
# rounding of 1e-7 an operation grows through 8 layers of wide weights to some 5e-6, on another
# processor to another value. A mistake must exceed it 100-fold.
TOLERANCE = 4e-5
MISTAKE = 100 * TOLERANCE
KERNELS = [("sdpa", "bool"), ("sdpa", "additive"), ("eager", "additive")]
TAPS = [2, 4, LAYERS]


def coin(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_ids(count: int, generator: torch.Generator) -> Tensor:
    return torch.randint(0, VOCAB, (count,), generator=generator)


def random_tree(nodes: int, generator: torch.Generator) -> list[list[int]]:
    """Paths root first, own node last; a parent is any earlier node, so depth and width vary."""
    paths = [[0]]
    for node in range(1, nodes):
        parent = int(torch.randint(0, node, (1,), generator=generator))
        paths.append([*paths[parent], node])
    return paths


def mask_of(paths: list[list[int]]) -> Tensor:
    mask = torch.zeros(len(paths), len(paths), dtype=torch.bool)
    for node, path in enumerate(paths):
        mask[node, path] = True
    return mask


def positions_of(paths: list[list[int]], start: int) -> Tensor:
    return torch.tensor([start + len(path) - 1 for path in paths])


@torch.no_grad()
def sequential(target: Target, ids: Tensor) -> Tensor:
    """The reference: logits (V,) behind a plain sequence, without cache, mask or positions."""
    return target.model(input_ids=ids[None], use_cache=False).logits[0, -1]


def off(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest value expected."""
    return float((found - expected).abs().max() / expected.abs().max())


def tree_errors(target: Target, logits: Tensor, prompt: Tensor, tokens: Tensor, paths) -> Tensor:
    """Largest logit difference at each node (n,), as a share of the largest logit."""
    rows = [sequential(target, torch.cat([prompt, tokens[path]])) for path in paths]
    expected = torch.stack(rows)  # (n, V)
    return (logits - expected).abs().amax(-1) / expected.abs().max()


def prepared(target: Target, seed: int, nodes: int = 12, prompt_rows: int = 9):
    generator = coin(seed)
    prompt, tokens = random_ids(prompt_rows, generator), random_ids(nodes, generator)
    paths = random_tree(nodes, generator)
    target.reset(prompt_rows + 2 * nodes)
    target.prefill(prompt)
    return prompt, tokens, paths


@pytest.mark.parametrize("bucket", [1, 256])
@pytest.mark.parametrize(("attn", "kind"), KERNELS)
@pytest.mark.parametrize("family", FAMILIES)
def test_tree_logits_are_sequential_at_every_node(family, attn, kind, bucket):
    target = Target(tiny_model(family, attn=attn), None, mask_kind=kind, bucket=bucket)
    for seed in range(3):
        prompt, tokens, paths = prepared(target, seed)
        logits, features = target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
        assert features is None
        assert tree_errors(target, logits, prompt, tokens, paths).max() <= TOLERANCE


@pytest.mark.parametrize(("attn", "kind"), KERNELS)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_one_wrong_mask_bit_or_position_shows(family, attn, kind):
    target = Target(tiny_model(family, attn=attn), None, mask_kind=kind)
    prompt, tokens, paths = prepared(target, 0)
    positions, mask = positions_of(paths, len(prompt)), mask_of(paths)
    node = max(range(len(paths)), key=lambda each: len(paths[each]))
    stranger = next(n for n in range(node) if n not in paths[node])
    for row, column in ((node, paths[node][-2]), (node, stranger)):
        wrong = mask.clone()
        wrong[row, column] ^= True
        logits, _ = target.verify(tokens, positions, wrong)
        assert tree_errors(target, logits, prompt, tokens, paths)[row] > MISTAKE
    positions[node] += 1
    logits, _ = target.verify(tokens, positions, mask)
    assert tree_errors(target, logits, prompt, tokens, paths)[node] > MISTAKE


def test_eager_never_gets_a_bool_mask():
    target = Target(tiny_model(attn="eager"), None, mask_kind="bool")
    prompt, tokens, paths = prepared(target, 0)
    logits, _ = target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
    assert tree_errors(target, logits, prompt, tokens, paths).max() <= TOLERANCE


@pytest.mark.parametrize(("attn", "bucket"), [("sdpa", 1), ("sdpa", 64), ("eager", 1)])
def test_two_hundred_rounds_against_a_full_recompute(attn, bucket):
    generator = coin(5)
    target = Target(tiny_model("qwen3", attn=attn), None, bucket=bucket)
    text = random_ids(5, generator)
    target.reset(5 + 200 * 4 + 10)
    target.prefill(text)
    for step in range(200):
        nodes = int(torch.randint(1, 10, (1,), generator=generator))
        tokens, paths = random_ids(nodes, generator), random_tree(nodes, generator)
        logits, _ = target.verify(tokens, positions_of(paths, len(text)), mask_of(paths))
        path = paths[int(torch.randint(0, nodes, (1,), generator=generator))][:4]
        text = torch.cat([text, tokens[path]])
        target.commit(torch.tensor(path))
        assert target.length == len(text)
        if step % 10 == 9 or step == 199:
            assert off(logits[path[-1]], sequential(target, text)) <= TOLERANCE
    with torch.no_grad():
        fresh = target.model(input_ids=text[None], use_cache=True).cache
    for layer in range(LAYERS):
        ours, theirs = target.cache.rows(layer)[0], fresh.layers[layer].keys
        assert off(ours, theirs) <= TOLERANCE


def test_commit_of_a_wrong_row_shows():
    target = Target(tiny_model(), None)
    prompt, tokens, paths = prepared(target, 1)
    target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
    path = max(paths, key=len)
    stranger = next(n for n in range(len(paths)) if n not in path)
    target.commit(torch.tensor([*path[:-1], stranger]))
    follow = random_ids(1, coin(2))
    logits, _ = target.verify(follow, torch.tensor([target.length]))
    expected = sequential(target, torch.cat([prompt, tokens[path], follow]))
    assert off(logits[0], expected) > MISTAKE


@pytest.mark.parametrize("family", FAMILIES)
def test_features_are_the_hidden_states(family):
    model = tiny_model(family)
    prompt = random_ids(20, coin(3))
    states: list[Tensor] = []
    # transformers' own last entry is behind the final norm: take the last layer's output by hand
    hook = model.model.layers[-1].register_forward_hook(lambda *call: states.append(call[-1]))
    with torch.no_grad():
        hidden = model(input_ids=prompt[None], output_hidden_states=True).hidden_states
    hook.remove()
    expected = torch.cat([hidden[2][0], hidden[4][0], states[0][0]], -1)
    target = Target(model, None, feature_layers=TAPS)
    target.reset(64)
    _, features = target.prefill(prompt[:8], chunk=3)
    assert off(features, expected[:8]) <= TOLERANCE
    _, features = target.verify(prompt[8:], torch.arange(8, 20))
    assert features.shape == (12, 3 * target.hidden_size)
    assert off(features, expected[8:]) <= TOLERANCE
    for wrong in ([3, 4, LAYERS], [2, 4, LAYERS - 1], [4, 2, LAYERS]):
        target.close()
        target = Target(model, None, feature_layers=wrong)
        target.reset(64)
        assert off(target.prefill(prompt)[1], expected) > MISTAKE


def test_close_takes_the_taps_off():
    model = tiny_model()
    target = Target(model, None, feature_layers=TAPS)
    assert sum(len(module._forward_pre_hooks) for module in model.modules()) == 3
    target.close()
    assert not any(module._forward_pre_hooks for module in model.modules())
    with pytest.raises(RheoError, match="Feature layer 9"):
        Target(model, None, feature_layers=[LAYERS + 1])


@pytest.mark.parametrize("attn", ["sdpa", "eager"])
def test_prefill_in_chunks_and_in_turns_is_one_prefill(attn):
    target = Target(tiny_model(attn=attn), None, feature_layers=TAPS)
    ids = random_ids(50, coin(4))
    target.reset(64)
    whole, features = target.prefill(ids)
    assert off(whole, sequential(target, ids)) <= TOLERANCE
    for chunk in (1, 7, 49):
        target.reset(64)
        logits, part = target.prefill(ids, chunk=chunk)
        assert target.length == 50
        assert off(logits, whole) <= TOLERANCE
        assert off(part, features) <= TOLERANCE
    target.reset(64)
    target.prefill(ids[:20])
    target.verify(ids[:3], torch.arange(20, 23))  # scratch that the next prefill must not see
    logits, _ = target.prefill(ids[20:])
    assert off(logits, whole) <= TOLERANCE


@pytest.mark.parametrize("attn", ["sdpa", "eager"])
@torch.inference_mode()
def test_a_prefill_that_loses_a_row_shows(attn, monkeypatch):
    """A second chunk that does not see the first row, or sees another's values in its place."""
    target = Target(tiny_model(attn=attn), None, feature_layers=TAPS)
    ids = random_ids(50, coin(4))
    target.reset(64)
    whole, features = target.prefill(ids)

    def second_chunk() -> tuple[float, float]:
        logits, part = target.prefill(ids[20:])
        return off(logits, whole), off(part, features[20:])

    target.reset(64)
    target.prefill(ids[:20])
    assert max(second_chunk()) <= TOLERANCE
    target.reset(64)
    target.prefill(ids[:20])
    for layer in range(LAYERS):
        keys, values = target.cache.rows(layer)
        keys[:, :, 0], values[:, :, 0] = keys[:, :, 1], values[:, :, 1]
    assert min(second_chunk()) > MISTAKE
    spread = target._spread

    def blind(mask: Tensor, columns: int) -> Tensor:
        seen = spread(mask, columns)
        seen[..., 0] = torch.finfo(seen.dtype).min
        return seen

    monkeypatch.setattr(target, "_spread", blind)
    target.reset(64)
    target.prefill(ids[:20])
    assert min(second_chunk()) > MISTAKE


@pytest.mark.parametrize(("attn", "kind"), KERNELS)
@pytest.mark.parametrize("bucket", [1, 64])
def test_grow_level_by_level_is_verify(attn, kind, bucket):
    target = Target(tiny_model("qwen2", attn=attn), None, mask_kind=kind, bucket=bucket)
    prompt, tokens, paths = prepared(target, 6, nodes=15)
    order = sorted(range(15), key=lambda node: len(paths[node]))  # by level
    place = {node: row for row, node in enumerate(order)}
    tokens, paths = tokens[order], [[place[n] for n in paths[node]] for node in order]
    positions, mask = positions_of(paths, len(prompt)), mask_of(paths)
    expected, _ = target.verify(tokens, positions, mask)
    target.drop()
    start, grown = 0, []
    for stop in [*(i for i in range(1, 15) if positions[i] != positions[i - 1]), 15]:
        rows = slice(start, stop)
        grown.append(target.grow(tokens[rows], positions[rows], mask[rows, :stop]))
        start = stop
    assert len(grown) >= 3
    assert off(torch.cat(grown), expected) <= TOLERANCE
    path = max(paths, key=len)
    target.commit(torch.tensor(path))
    follow = random_ids(1, coin(2))
    logits, _ = target.verify(follow, torch.tensor([target.length]))
    text = torch.cat([prompt, tokens[path], follow])
    assert off(logits[0], sequential(target, text)) <= TOLERANCE


def test_grow_of_one_row_masks_its_siblings():
    target = Target(tiny_model(), None)
    prompt, tokens, _ = prepared(target, 7, nodes=3)
    at, yes = len(prompt), True
    target.grow(tokens[:1], torch.tensor([at]), torch.tensor([[yes]]))
    target.grow(tokens[1:2], torch.tensor([at + 1]), torch.tensor([[yes, yes]]))
    logits = target.grow(tokens[2:], torch.tensor([at + 1]), torch.tensor([[yes, False, yes]]))
    assert tree_errors(target, logits, prompt, tokens, [[0, 2]]).max() <= TOLERANCE


@pytest.mark.parametrize("attn", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_is_that_of_generate(family, attn):
    model = tiny_model(family, attn=attn)
    target = Target(model, None)
    row = torch.tensor([0])
    for seed in range(3):
        prompt = random_ids(11, coin(seed))
        asked = {"max_new_tokens": 40, "do_sample": False, "pad_token_id": 0}
        expected = model.generate(prompt[None], **asked)[0, 11:].tolist()
        target.reset(64)
        logits, _ = target.prefill(prompt)
        text = [int(logits.argmax())]
        while len(text) < 40 and text[-1] not in target.eos_ids:
            logits, _ = target.verify(torch.tensor(text[-1:]), torch.tensor([target.length]))
            target.commit(row)
            text.append(int(logits[0].argmax()))
        assert text == expected


def test_one_row_takes_the_path_without_a_mask(monkeypatch):
    target = Target(tiny_model(), None)
    _, tokens, paths = prepared(target, 0)
    given = []
    forward = target.model.forward

    def spy(**arguments):
        given.append(arguments["attention_mask"])
        return forward(**arguments)

    monkeypatch.setattr(target.model, "forward", spy)
    target.verify(tokens[:1], torch.tensor([9]), torch.ones(1, 1, dtype=torch.bool))
    target.verify(tokens, positions_of(paths, 9), mask_of(paths))
    assert given[0] is None
    assert given[1].shape == (1, 1, 12, 9 + 12)


def test_older_transformers_name_the_cache_otherwise(monkeypatch):
    model = tiny_model()
    forward = model.forward

    def older(input_ids, attention_mask, position_ids, past_key_values, use_cache, logits_to_keep):
        return forward(
            input_ids,
            attention_mask,
            position_ids,
            past_key_values,
            use_cache=use_cache,
            logits_to_keep=logits_to_keep,
        )

    monkeypatch.setattr(model, "forward", older)
    target = Target(model, None)
    prompt, tokens, paths = prepared(target, 0)
    logits, _ = target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths))
    monkeypatch.undo()
    assert tree_errors(target, logits, prompt, tokens, paths).max() <= TOLERANCE


def test_same_input_same_bits():
    target = Target(tiny_model(), None, feature_layers=TAPS)
    results = []
    for _ in range(2):
        prompt, tokens, paths = prepared(target, 8)
        results.append(target.verify(tokens, positions_of(paths, len(prompt)), mask_of(paths)))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_facts_about_the_model():
    target = Target(tiny_model(), None)
    assert (target.vocab_size, target.hidden_size, target.layers) == (VOCAB, 32, LAYERS)
    assert (target.context, target.dtype, target.device.type) == (4096, torch.float32, "cpu")
    assert target.eos_ids == frozenset({EOS, 1})
    assert target.embeddings.shape == (VOCAB, 32)


def test_too_little_room_is_an_error_and_changes_nothing():
    target = Target(tiny_model(), None)
    prompt, tokens = random_ids(9, coin(0)), random_ids(4, coin(1))
    target.reset(12)
    target.prefill(prompt)
    with pytest.raises(ValueError, match="13 rows exceed"):
        target.verify(tokens, torch.arange(9, 13))
    logits, _ = target.verify(tokens[:3], torch.arange(9, 12))
    expected = sequential(target, torch.cat([prompt, tokens[:3]]))
    assert off(logits[-1], expected) <= TOLERANCE
