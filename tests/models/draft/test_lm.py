"""A small causal LM as the draft: every row equals the LM's own pass over the path's text."""

import pytest
import torch
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rheo.errors import RheoError
from rheo.models.draft.lm import LMDraft, check_same_tokenizer
from rheo.models.target.target import Target

V = 50
TREE = [[(3, 0), (9, 0), (5, 0)], [(7, 1), (3, 0), (8, 1)], [(2, 2), (1, 0)]]
PATHS = [[3], [9], [5], [9, 7], [3, 3], [9, 8], [9, 8, 2], [9, 7, 1]]
PROMPT = [4, 8, 15, 16, 23, 42]


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    generator = torch.Generator().manual_seed(0)
    config = LlamaConfig(
        vocab_size=V, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    for weight in model.parameters():
        weight.data = torch.randn(weight.shape, generator=generator) * 0.2
    return model


@pytest.fixture
def draft(model) -> LMDraft:
    draft = LMDraft(Target(model, None), V)
    draft.reset(32, 8)
    return draft


def full(model: LlamaForCausalLM, ids: list[int]) -> Tensor:
    """Logits (V,) of what follows the text, from one pass without a cache."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0, -1]


def grow(draft: LMDraft, tree=TREE) -> Tensor:
    levels = [torch.tensor(level).T for level in tree]
    return torch.cat([draft.level(tokens, parents) for tokens, parents in levels])


def distance(a: Tensor, b: Tensor) -> float:
    return (a - b).abs().max().item()


def test_rows_equal_the_whole_text(model, draft):
    assert draft.target_ids is None and draft.feature_layers is None
    root = draft.extend(torch.tensor(PROMPT), None)
    assert root.shape == (V,) and root.dtype == torch.float32
    assert distance(root, full(model, PROMPT)) <= 2e-5
    expected = torch.stack([full(model, PROMPT + path) for path in PATHS])
    assert distance(grow(draft), expected) <= 2e-5


def test_a_wrong_parent_is_noticed(model, draft):
    draft.extend(torch.tensor(PROMPT), None)
    wrong = grow(draft, [TREE[0], TREE[1], [(2, 1), (1, 0)]])[-2]
    assert distance(wrong, full(model, [*PROMPT, 9, 8, 2])) > 1e-2


def test_rounds_drop_the_tree(model, draft):
    draft.extend(torch.tensor(PROMPT), None)
    grow(draft)
    text = [*PROMPT, 9, 7, 30]
    assert distance(draft.extend(torch.tensor(text[6:]), None), full(model, text)) <= 2e-5
    expected = torch.stack([full(model, text + path) for path in PATHS])
    assert distance(grow(draft), expected) <= 2e-5


def test_padding_of_either_vocabulary(model):
    cut = LMDraft(Target(model, None), V - 7)
    cut.reset(16, 4)
    prompt = torch.tensor([4, 8, 15])
    assert cut.vocab_size == V - 7
    assert distance(cut.extend(prompt, None), full(model, prompt.tolist())[: V - 7]) <= 2e-5
    small = LMDraft(Target(model, None), V + 30)
    small.reset(16, 4)
    assert small.vocab_size == V
    assert small.extend(torch.tensor([4, 8, V + 20]), None).isfinite().all()


def tokenizer(words: list[str], added: tuple[str, ...] = ()) -> PreTrainedTokenizerFast:
    vocab = {word: i for i, word in enumerate(words)}
    fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocab, words[0])))
    fast.add_tokens(list(added))
    return fast


def test_only_one_tokenizer():
    ours = tokenizer(["a", "b", "c"])
    check_same_tokenizer(ours, tokenizer(["a", "b", "c"]))
    check_same_tokenizer(ours, tokenizer(["a", "b", "c"], ("<think>",)))
    with pytest.raises(RheoError, match="differs from the target's in 2 tokens"):
        check_same_tokenizer(ours, tokenizer(["a", "c", "b"]))
    with pytest.raises(RheoError, match="same family"):
        check_same_tokenizer(ours, tokenizer(["a", "b"]))
    with pytest.raises(RheoError, match="no tokenizer"):
        check_same_tokenizer(ours, None)


@pytest.mark.embedded
def test_a_model_folder_drafts_for_itself(embedded_folder):
    target = Target.load(str(embedded_folder))
    draft = LMDraft.load(str(embedded_folder), target)
    ids = torch.tensor([504, 3575, 282, 4649, 314])
    target.reset(8)
    draft.reset(8, 0)
    assert distance(draft.extend(ids, None), target.prefill(ids)[0]) <= 1e-4
