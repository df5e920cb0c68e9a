"""Which of the target's hidden states a head reads: the conventions that public files follow.

A file that names layers may mean those whose output is read (SpecForge, SGLang) or the indices of
transformers' `hidden_states`, which are inputs (vLLM's speculators). Most files of the first kind
carry their ids in `eagle_config`, of the second at the top of a speculators config; both kinds are
in the wild under either name, so the layout only says what is tried first (see `self_check`).
A file that names none means what EAGLE's own code reads: 2, n // 2 and n - 3.
"""

from typing import Literal, NamedTuple

from rheo.errors import RheoError

Layers = tuple[int, int, int]
Counted = Literal["inputs", "outputs"]
AskedLayers = Counted | Layers  # what a person may ask for instead of what the file says


class LayerChoice(NamedTuple):
    """Three indices of transformers' `hidden_states`, and what they would mean."""

    layers: Layers
    meaning: str


def layer_choices(
    ids: Layers | None, counted: Counted, n: int, fixed: bool = False
) -> list[LayerChoice]:
    """Return what may be read of a target of `n` layers, what the file says first.

    Args:
        ids: that the file names, None where it names none.
        counted: what its layout takes them for.
        fixed: nothing but that is to be tried.

    Raises:
        RheoError: the ids fit the target in neither convention.

    >>> [choice.layers for choice in layer_choices((1, 13, 24), "outputs", 28)]
    [(2, 14, 25), (1, 13, 24)]
    >>> [choice.layers for choice in layer_choices((2, 14, 28), "outputs", 28)]
    [(2, 14, 28), (2, 14, 25)]
    """
    standard = LayerChoice((2, n // 2, n - 3), "the layers that EAGLE itself reads")
    if ids is None:
        asked = [standard] + [
            LayerChoice(_shifted(standard.layers, by), f"those one {way}")
            for by, way in ((1, "above"), (-1, "below"))
        ]
    else:
        other: Counted = "inputs" if counted == "outputs" else "outputs"
        named = [LayerChoice(_read(ids, x), f"its ids as {x} of layers") for x in (counted, other)]
        asked = [*named, standard]
    if fixed:
        asked = asked[:1]
    fitting = [choice for choice in asked if _fits(choice.layers, n)]
    if not fitting or (ids is not None and fitting[0] is standard):
        shown = list(standard.layers if ids is None else ids)
        how = f"as {counted}" if fixed else "as inputs or as outputs of layers"
        raise RheoError(
            f"The head reads the layers {shown}, which, {how}, do not ascend in a target of {n} "
            "layers; use the target that the head was trained for."
        )
    unique: dict[Layers, LayerChoice] = {}
    for choice in fitting:
        unique.setdefault(choice.layers, choice)
    return list(unique.values())


def _read(ids: Layers, counted: Counted) -> Layers:
    """Return ids as indices of `hidden_states`: the output of layer i is number i + 1."""
    return _shifted(ids, 1) if counted == "outputs" else ids


def _shifted(layers: Layers, by: int) -> Layers:
    low, middle, high = layers
    return low + by, middle + by, high + by


def _fits(layers: Layers, n: int) -> bool:
    low, middle, high = layers
    return 0 <= low < middle < high <= n
