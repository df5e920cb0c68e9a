"""Which pass is chosen when a model is loaded, and what happens where none fits."""

import copy
import pickle

import pytest
import torch
from torch import nn

from rheo.errors import RheoError
from rheo.models.cpu import fast_forward as chooser
from rheo.models.cpu.fast_forward import fast_forward, fastest
from rheo.models.cpu.forwards import FORWARDS
from rheo.models.cpu.fused_linear import FusedLinear, OutputRows
from rheo.models.cpu.packed_linear import PackedLinear, can_pack
from rheo.models.target.target import Target
from tests.tiny import tiny_folder, tiny_model

IDS = torch.arange(12)[None]
LARGE = torch.ones(512, 256)


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
    assert fastest(LARGE) is FusedLinear
    times[FusedLinear] = 3.0
    assert fastest(LARGE) is PackedLinear
    assert fastest(LARGE[:4]) is FusedLinear  # of a small one, whatever a trial would say
    monkeypatch.setattr(chooser, "can_pack", lambda weight: False)
    assert fastest(LARGE) is FusedLinear


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


class Adapted(nn.Linear):
    """A linear layer with more to it, as adapters and quantised layers are."""

    def forward(self, x):
        return super().forward(x) * 1.5


def adapted(model, at):
    layer = model.model.layers[at].self_attn.q_proj
    layer.__class__ = Adapted


def hooked(model, at):
    model.model.layers[at].mlp.down_proj.register_forward_hook(lambda module, args, out: out * 1.5)


def patched(model, at):
    layer = model.model.layers[at].mlp.up_proj
    own = layer.forward
    layer.forward = lambda x: own(x) * 1.5


def half_biased(model, at):
    layer = model.model.layers[at].self_attn.q_proj
    layer.bias = nn.Parameter(torch.ones(layer.out_features))


def of_another_dtype(model, at):
    layer = model.model.layers[at].mlp.gate_proj.double()
    own = layer.forward
    layer.forward = lambda x: own(x.double()).float()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (adapted, "q_proj of layer 3 is of the class Adapted"),
        (hooked, "down_proj of layer 3 does more than its class"),
        (patched, "up_proj of layer 3 does more than its class"),
        (half_biased, "only some of q_proj, k_proj and v_proj have a bias"),
        (of_another_dtype, "gate_proj of layer 3 has weights of another kind"),
    ],
)
def test_what_a_layer_has_beyond_its_weights_is_never_lost(change, why):
    """An adapter, a hook: replaced and put back, such a layer would be the bare one, in silence."""
    model = tiny_model()
    change(model, 3)
    before = logits_of(model)
    assert fast_forward(model, "auto") is None
    assert torch.equal(logits_of(model), before)
    with pytest.raises(RheoError, match=why):
        fast_forward(model, "plain")


def test_a_tied_matrix_that_is_put_back_is_tied(monkeypatch):
    model = tiny_model(tie_word_embeddings=True)
    before = logits_of(model)
    monkeypatch.setattr(chooser, "_AGREES", {torch.float32: -1.0})  # nothing is near enough
    assert fast_forward(model, "auto") is None
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert torch.equal(logits_of(model), before)


@pytest.mark.parametrize("asked", ["packed", "plain"])
@pytest.mark.parametrize("tied", [False, True])
def test_a_copy_a_pickle_and_a_saved_folder_have_all_weights(asked, tied, tmp_path):
    model = tiny_model(tie_word_embeddings=tied)
    fast_forward(model, asked)
    before = logits_of(model)
    assert torch.equal(logits_of(copy.deepcopy(model)), before)
    assert torch.equal(logits_of(pickle.loads(pickle.dumps(model))), before)
    model.save_pretrained(tmp_path)
    read, report = type(model).from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert (logits_of(read.eval()) - before).abs().max() <= 1e-4


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


def test_bfloat16_is_not_packed_where_the_cpu_has_none(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert not can_pack(torch.ones(2, 2).bfloat16())
    assert can_pack(torch.ones(2, 2))
