"""Which pass is chosen when a model is loaded, and what happens where none fits."""

import pytest
import torch

from rheo.errors import RheoError
from rheo.models.cpu import fast_forward as chooser
from rheo.models.cpu.fast_forward import fast_forward, fastest
from rheo.models.cpu.forwards import FORWARDS
from rheo.models.cpu.fused_linear import FusedLinear, OutputRows
from rheo.models.cpu.packed_linear import PackedLinear, can_pack
from rheo.models.target.target import Target
from tests.tiny import tiny_folder, tiny_model

IDS = torch.arange(12)[None]


def logits_of(model) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=IDS, use_cache=False).logits


@pytest.mark.parametrize(("asked", "kind"), [("packed", PackedLinear), ("plain", FusedLinear)])
def test_what_is_asked_for_is_what_runs(asked, kind):
    model = tiny_model()
    before = logits_of(model)
    forward = fast_forward(model, asked)
    assert forward is not None
    assert type(model.get_output_embeddings()) is kind
    assert (logits_of(model) - before).abs().max() <= 1e-4  # transformers, on the new layers


def test_auto_takes_the_faster_product(monkeypatch):
    times = {PackedLinear: 2.0, FusedLinear: 1.0}
    monkeypatch.setattr(chooser, "_spent", lambda layer: times[type(layer)])
    assert fastest(torch.ones(4, 4)) is FusedLinear
    times[FusedLinear] = 3.0
    assert fastest(torch.ones(4, 4)) is PackedLinear
    monkeypatch.setattr(chooser, "can_pack", lambda weight: False)
    assert fastest(torch.ones(4, 4)) is FusedLinear


def test_transformers_by_name_changes_nothing():
    model = tiny_model()
    assert fast_forward(model, "transformers") is None
    assert not any(isinstance(layer, FusedLinear | OutputRows) for layer in model.modules())


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tiny_model("llama", hidden_act="gelu"), "its activation is gelu"),
        (lambda: tiny_model("llama", attn="eager"), "its attention is eager"),
        (lambda: tiny_model("llama").double(), "its dtype is torch.float64"),
    ],
)
def test_another_shape_keeps_transformers_and_says_why(make, why):
    assert fast_forward(make(), "auto") is None
    with pytest.raises(RheoError, match=why):
        fast_forward(make(), "packed")


def test_an_unknown_name_is_one_sentence():
    with pytest.raises(RheoError, match="There is no forward 'fast': choose one of auto, packed"):
        fast_forward(tiny_model(), "fast")
    assert FORWARDS == ("auto", "packed", "plain", "transformers")


def test_a_layer_that_does_more_is_noticed_and_put_back():
    """A model of a known class whose layers do something else: its own forward stays."""
    model = tiny_model()
    attention = model.model.layers[5].self_attn
    attention.register_forward_hook(lambda module, args, out: (out[0] * 1.5, *out[1:]))
    before = logits_of(model)
    assert fast_forward(model, "auto") is None
    assert torch.equal(logits_of(model), before)
    assert not any(isinstance(layer, FusedLinear | OutputRows) for layer in model.modules())
    with pytest.raises(RheoError, match="its logits would differ"):
        fast_forward(model, "packed")


def test_loading_takes_it_and_greedy_text_is_the_same(tmp_path):
    folder = str(tiny_folder(tmp_path))
    fast, plain = (Target.load(folder, forward=forward) for forward in ("auto", "transformers"))
    assert fast.forward is not None
    assert plain.forward is None
    texts = [
        target.model.generate(IDS, do_sample=False, max_new_tokens=12) for target in (fast, plain)
    ]
    assert torch.equal(*texts)


def test_what_cannot_be_packed():
    assert can_pack(torch.ones(2, 2))
    assert not can_pack(torch.ones(2, 2).double())
    assert not can_pack(torch.ones(2, 2, device="meta"))
