"""The list says of every pair what it needs; a typed Hub id is answered, never ignored."""

import re
from types import SimpleNamespace

import huggingface_hub
import pytest

from rheo.models.hub.catalogue import PAIRS
from visual.runtime import pair_needs
from visual.words import refusals


@pytest.mark.parametrize("pair", PAIRS.values(), ids=lambda pair: pair.name)
def test_every_pair_says_size_memory_licence_gated_and_tried(pair):
    row = re.search(rf'<li data-pair="{re.escape(pair.name)}">(.*?)</li>', pair_needs.listing())[1]
    assert pair.size in row and pair.licence.split("(")[0].strip() in row
    assert (refusals.PAIR_GATED in row) == pair.gated
    assert (refusals.PAIR_NEVER_TRIED in row) == (not pair.tested)
    assert pair_needs.memory(pair.gigabytes) in row
    halves = [float(x) for x in re.findall(r"([\d.]+) GB", pair.size)]
    assert pair.gigabytes <= sum(halves) + 1e-9 or not pair.name.startswith("qwen")


class Stand:
    """A Hub of one target and one head."""

    def model_info(self, repo, **options):
        if repo == "no/where":
            raise ConnectionError
        head = repo == "some/head"
        names = {"config.json": 1000, "model.safetensors": 3_200_000_000}
        names |= {} if head else {"tokenizer.json": 5000}
        names |= {"model.bin": 7} if head else {}
        files = [SimpleNamespace(rfilename=name, size=size) for name, size in names.items()]
        card = SimpleNamespace(license="apache-2.0")
        return SimpleNamespace(siblings=files, card_data=card, gated="manual" if head else False)


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setattr(huggingface_hub, "HfApi", Stand)
    pair_needs._needs.cache_clear()
    yield
    pair_needs._needs.cache_clear()


def test_a_typed_pair_is_told_what_it_would_need(hub):
    said = pair_needs.typed(" some/target ", "some/head")
    assert said.count("3.2 GB") == 2 and "apache-2.0" in said
    assert refusals.PAIR_GATED in said and refusals.PAIR_OPEN in said
    assert "--target some/target --draft some/head" in said


@pytest.mark.parametrize("text", ["<b>x</b>", "no slash", "../etc", "/etc", "a/b/c", "x" * 500])
def test_what_is_no_hub_id_is_one_escaped_sentence(hub, text):
    said = pair_needs.typed(text, "")
    assert 'class="wrong"' in said and "<b>x" not in said and len(said) < 900


def test_an_unreachable_hub_is_said_and_nothing_typed_says_nothing(hub):
    assert "cannot be reached" in pair_needs.typed("no/where", "")
    assert pair_needs.typed("", None) == ""
