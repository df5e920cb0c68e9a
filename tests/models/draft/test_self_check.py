"""Which hidden states and embeddings a head reads is found out on a text, said, and overridden."""

import json
from dataclasses import replace

import pytest
import torch

from rheo.errors import RheoError
from rheo.models.draft.checkpoints import Checkpoint, read
from rheo.models.draft.config import HeadSettings, head_config
from rheo.models.draft.eagle3 import Eagle3
from rheo.models.draft.layer_ids import layer_choices
from rheo.models.draft.self_check import MARGIN, UNFIT, HeadCheck, Reading, best, self_check
from rheo.models.target.target import Target

IDS = "eagle_aux_hidden_state_layer_ids"
RIGHT = (2, 15, 27)  # what the shipped head was trained on


def reading(losses, agreement=0.4, layers=RIGHT, own=False) -> Reading:
    return Reading(layers, "so", own, agreement, 0.4, torch.tensor(losses))


def test_both_conventions_and_eagles_own_layers_are_tried():
    assert [c.layers for c in layer_choices((1, 13, 24), "outputs", 28)] == [
        (2, 14, 25),
        (1, 13, 24),
    ]
    other = [(1, 20, 24), (2, 21, 25), (2, 14, 25)]
    assert [c.layers for c in layer_choices((1, 20, 24), "inputs", 28)] == other
    fixed = layer_choices((1, 20, 24), "inputs", 28, fixed=True)
    assert [c.layers for c in fixed] == other[:1]
    assert [c.layers for c in layer_choices(None, "inputs", 28)] == [
        *((2, 14, 25), (3, 15, 26), (1, 13, 24)),
    ]


def test_ids_that_fit_in_one_convention_alone_are_of_that_one():
    # 28 is the output of the last of 28 layers; as an output id it would be number 29
    assert layer_choices((2, 14, 28), "outputs", 28)[0].layers == (2, 14, 28)
    with pytest.raises(RheoError, match=r"\[2, 14, 29\], which, as inputs or as outputs"):
        layer_choices((2, 14, 29), "outputs", 28)
    with pytest.raises(RheoError, match="as outputs, do not ascend"):
        layer_choices((2, 14, 28), "outputs", 28, fixed=True)


def test_another_reading_must_be_clearly_better_and_work():
    generator = torch.Generator().manual_seed(0)
    said = torch.randn(100, generator=generator) + 4
    noise = torch.randn(100, generator=generator)
    clear = (said - noise - 2 * MARGIN / 10).tolist()
    slight = (said - noise - noise.mean().neg()).tolist()
    first = reading(said.tolist(), layers=(3, 16, 28))
    assert best([first, reading(clear)]).layers == RIGHT
    assert best([first, reading(slight)]) is first
    assert best([first, reading(clear, agreement=UNFIT / 2)]) is first
    worse = reading((said + 1).tolist())
    assert best([first, worse]) is first


def test_what_is_said_names_the_figures():
    first, kept = reading([1.0], layers=(3, 16, 28)), replace(reading([0.5]), overlap=0.437)
    assert HeadCheck((first,), first).warning is None
    text = HeadCheck((first, kept), kept).warning
    assert all(
        x in text for x in ("2, 15 and 27", "3, 16 and 28", "0.437", "0.400", "--head-layers")
    )
    assert "embeddings" not in text
    poor = reading([3.0], agreement=0.05)
    assert (
        "5.0%" in HeadCheck((poor,), poor).warning and "layers" in HeadCheck((poor,), poor).warning
    )


def test_figures_of_a_broken_head_are_still_json():
    broken = replace(reading([float("nan")], agreement=0.0), overlap=float("nan"))
    json.dumps(HeadCheck((broken, broken), best([broken, broken])).as_dict(), allow_nan=False)


@pytest.fixture(scope="module")
def target(embedded_folder) -> Target:
    return Target.load(str(embedded_folder))


@pytest.fixture(scope="module")
def shipped(starter_head) -> Checkpoint:
    return read(starter_head)


def checked(target: Target, checkpoint: Checkpoint, asked=None, **config) -> HeadCheck:
    settings = {"vocab_size": 49152, "num_attention_heads": 9, "num_key_value_heads": 3, **config}
    found = head_config(HeadSettings.read(settings), checkpoint.tensors)
    ours = replace(checkpoint.config, layer_ids=found.layer_ids, counted=found.counted)
    ours = ours if asked is None else ours.reading(asked)
    head = Eagle3(replace(checkpoint, config=ours), target.embeddings, target.layers)
    found_out = self_check(target, head)
    assert target.feature_layers == head.feature_layers == found_out.kept.layers
    return found_out


@pytest.mark.embedded
@pytest.mark.parametrize("place", ["eagle_config", "top"])
@pytest.mark.parametrize("ids", [(1, 14, 26), (2, 15, 27), (2, 15, 29)], ids=str)
def test_the_layers_that_a_head_was_trained_on_are_found(ids, place, target, shipped):
    # 1, 14, 26 as outputs and 2, 15, 27 as inputs are the right ones; in 2, 15, 29 one is wrong
    named = {IDS: list(ids)}
    found = checked(target, shipped, **({"eagle_config": named} if place != "top" else named))
    said = (ids[0] + 1, ids[1] + 1, ids[2] + 1) if place == "eagle_config" else ids
    assert found.tried[0].layers == said and found.kept.layers == RIGHT
    assert (found.warning is None) == (said == RIGHT)
    assert found.kept.overlap == max(r.overlap for r in found.tried)


@pytest.mark.embedded
def test_what_a_person_asks_for_is_read(target, shipped):
    named = {"eagle_config": {IDS: [2, 15, 27]}}
    assert checked(target, shipped, "outputs", **named).kept.layers == (3, 16, 28)
    assert checked(target, shipped, (1, 2, 3)).kept.layers == (1, 2, 3)
    with pytest.raises(RheoError, match="names no layers"):
        checked(target, shipped, "inputs")


@pytest.mark.embedded
def test_a_head_with_random_embeddings_gets_the_targets(target, shipped):
    generator = torch.Generator().manual_seed(0)
    own = torch.randn(target.embeddings.shape, generator=generator) * 0.1
    found = checked(target, replace(shipped, tensors=shipped.tensors | {"embeddings": own}))
    assert found.tried[0].own_embeddings and not found.kept.own_embeddings
    assert found.kept.layers == RIGHT and "the target's embeddings" in found.warning
    # the control: the same numbers, moved a little, stay the head's own
    own = target.embeddings.detach() * 1.001
    found = checked(target, replace(shipped, tensors=shipped.tensors | {"embeddings": own}))
    assert found.kept.own_embeddings and found.warning is None


@pytest.mark.embedded
def test_the_shipped_head_is_read_once(target, shipped):
    head = Eagle3(shipped, target.embeddings, target.layers)
    found = self_check(target, head, known=True)
    assert len(found.tried) == 1 and found.warning is None
    assert 0.3 < found.kept.agreement < 0.6
