"""The catalogue says what is known about each pair, and says so where it is not."""

import re

import pytest

from rheo.errors import RheoError
from rheo.models.hub.catalogue import (
    ASSETS,
    DEFAULT,
    PAIRS,
    SOURCE_KINDS,
    Folder,
    Hub,
    Package,
    custom,
    pair,
)

UNTESTED = [known for known in PAIRS.values() if not known.tested]


def test_the_pairs_promised():
    assert list(PAIRS) == [
        "smollm2-135m",
        "smollm2-360m+135m",
        "qwen3-8b+0.6b",
        "vicuna-13b",
        "llama-3.1-8b",
        "r1-distill-llama-8b",
        "qwen3-0.6b",
        "qwen3-1.7b",
        "qwen3-4b",
        "qwen3-8b",
    ]


@pytest.mark.parametrize("known", PAIRS.values(), ids=PAIRS)
def test_every_pair_is_complete(known):
    assert known.kind in SOURCE_KINDS
    assert known.licence and known.size and known.label and known.note
    for half in (known.target, known.draft):
        if isinstance(half, Hub):
            assert re.fullmatch(r"[\w.-]+/[\w.-]+", half.repo)
    head_beside_lm = isinstance(known.draft, Hub) and "eagle3" in known.draft.repo.lower()
    assert (known.kind == "eagle3") == (head_beside_lm or known.name == DEFAULT)


def test_only_the_embedded_pair_claims_to_be_tested():
    embedded = pair(DEFAULT)
    assert [known.name for known in PAIRS.values() if known.tested] == [DEFAULT]
    assert isinstance(embedded.target, Package)
    assert embedded.draft.path == ASSETS / "eagle3-smollm2-135m"
    assert "Q4_1 weights, dequantised" in embedded.label
    assert "Apache-2.0" in embedded.licence


@pytest.mark.parametrize("known", UNTESTED, ids=lambda known: known.name)
def test_what_nobody_opened_says_so(known):
    assert "never opened" in known.note
    drawn_from_hub_head = known.kind == "eagle3"
    assert ("see the model card" in known.licence) == drawn_from_hub_head


def test_gated_and_rope_theta_are_where_they_belong():
    assert [known.name for known in PAIRS.values() if known.gated] == ["llama-3.1-8b"]
    overridden = {known.name for known in PAIRS.values() if known.rope_theta is not None}
    assert overridden == {"qwen3-1.7b", "qwen3-4b", "qwen3-8b"}
    assert all("rope_theta" in pair(name).note for name in overridden)


def test_an_unknown_name_lists_the_names():
    with pytest.raises(RheoError) as caught:
        pair("gpt-17")
    assert "gpt-17" in str(caught.value)
    assert all(name in str(caught.value) for name in PAIRS)


def test_custom_pairs_of_ids_and_folders(tmp_path):
    mine = custom(str(tmp_path), "owner/head", kind="eagle3")
    assert mine.target == Folder(str(tmp_path.resolve()))
    assert mine.target.path == tmp_path.resolve()
    assert mine.draft == Hub("owner/head")
    assert custom("a/b", "c/d").kind == "auto"
    assert not mine.tested


@pytest.mark.parametrize("bad", ["", "no-slash", "a/b/c", "http://a/b", "owner/na me"])
def test_custom_refuses_what_is_neither(bad):
    with pytest.raises(RheoError, match="neither a folder"):
        custom(bad, "owner/head")


def test_custom_refuses_an_unknown_kind():
    with pytest.raises(RheoError, match="eagle3, lm or auto"):
        custom("a/b", "c/d", kind="medusa")
