"""A head that was made for another target is refused when the pair is loaded, in a sentence."""

import pytest
import torch

from rheo.errors import RheoError
from rheo.models.hub.catalogue import custom
from rheo.models.loader import load_pair
from tests.models.draft import heads
from tests.tiny import tiny_folder


@pytest.mark.parametrize("hidden", [8, 24])
def test_a_head_for_a_target_of_another_width(hidden, tmp_path):
    config, tensors = heads.random_head()
    sizes = {"hidden_size": hidden, "num_attention_heads": 2, "num_key_value_heads": 1}
    target = tiny_folder(tmp_path / "target", **sizes)
    own = torch.randn(288, heads.D, generator=torch.Generator().manual_seed(7))
    config |= {"vocab_size": 288}
    tensors.pop("t2d")
    head = heads.write(tmp_path / "head", config, tensors | {"embed_tokens.weight": own})
    with pytest.raises(RheoError, match=rf"width {heads.DT} and the target's are {hidden} wide"):
        load_pair(custom(str(target), str(head)))
