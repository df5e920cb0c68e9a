"""A target spread over two devices: `python -m tests.space.two_devices FIRST` (cpu or cuda).

The second device is the pretended CUDA of the `spaces` package: tensors on it are the CPU's, but
an operation that mixes the two raises, as it would. accelerate's own hooks carry activations over,
as they do under `device_map="auto"`. Prints the largest difference to the same target in one piece.
"""

import importlib
import os
import sys

from tests.space import pretend

PROMPT, COUNT = list(range(5, 25)), 12


def spread(model, first: str, second: str) -> None:
    """Embeddings and the lower half of the layers on `first`, the rest on `second`."""
    from accelerate.hooks import AlignDevicesHook, add_hook_to_module

    layers = model.model.layers
    upper = [*layers[len(layers) // 2 :], model.model.norm, model.lm_head]
    lower = [model.model.embed_tokens, *layers[: len(layers) // 2], model.model.rotary_emb]
    for place, modules in ((first, lower), (second, upper)):
        for module in modules:
            add_hook_to_module(module.to(place), AlignDevicesHook(execution_device=place))
    add_hook_to_module(model, AlignDevicesHook(io_same_device=True))


def main() -> None:
    first = sys.argv[1]
    os.environ |= {"SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": "http://127.0.0.1:1"}
    pretend.a_cuda_build()
    importlib.import_module("spaces")

    import torch

    from rheo.decoding import loop
    from rheo.decoding.loop import Decoding
    from rheo.decoding.timing import Clock
    from rheo.models.draft.eagle3 import Eagle3
    from rheo.models.target.target import Target
    from rheo.params import DecodeParams
    from rheo.training.init_head import initial_head
    from tests.tiny import byte_level_tokenizer, tiny_model

    loop.Clock = lambda device: Clock(torch.device("cpu"))  # a pretended GPU has no events

    def decoded(model, checkpoint) -> Decoding:
        target = Target(model, byte_level_tokenizer(), bucket=1)
        target.eos_ids = frozenset()
        head = Eagle3(checkpoint, target.embeddings, target.layers, target.device)
        target.tap(head.feature_layers)
        head.bucket = 1  # a rounding of its own could tip a tie between two nodes
        asked = DecodeParams(K=4, R=12, depth=3, S=20, T=1.0, seed=2, max_new_tokens=COUNT)
        d = Decoding(target, head, asked, PROMPT)
        for _ in d:
            pass
        return d

    models = [tiny_model(seed=1), tiny_model(seed=1)]
    for model in models:
        model.generation_config.eos_token_id = model.config.eos_token_id = None
    _, checkpoint = initial_head(models[0], torch.arange(90))
    spread(models[1], first, "cuda" if first == "cpu" else "cpu")
    whole, parts = (decoded(model, checkpoint) for model in models)
    places = {str(device) for device in parts.target.cache.devices}
    assert len(places) == 2 and len(parts.target.cache._buffers) == 2, places
    assert str(parts.target.device).startswith(first) and parts.target.graphs is None
    assert whole.text == parts.text and len(whole.rounds) == len(parts.rounds) > 3
    pairs = zip(whole.rounds, parts.rounds, strict=True)
    print(max(abs(a.buffer.p - b.buffer.p).max() for a, b in pairs))


if __name__ == "__main__":
    main()
