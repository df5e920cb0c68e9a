"""What became of a checkpoint's tensors: transformers fills in what is missing and only logs it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rheo.errors import RheoError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_NAMED = 3  # tensors that a sentence names


def check_loaded(name: str, model: "PreTrainedModel", report: Mapping[str, Iterable]) -> None:
    """Refuse a model that is not wholly, and not only, what its checkpoint holds.

    Tied weights, and buffers that transformers itself leaves out, are not in the report.

    Args:
        name: of the folder or Hub id.
        report: of `from_pretrained(..., output_loading_info=True)`.

    Raises:
        RheoError: weights that were left at random, that are of another shape or have no use, or
            numbers that are quantised in a way nobody here undoes; the sentence names them.
    """
    quantised = getattr(model.config, "quantization_config", None)
    if quantised and getattr(model, "hf_quantizer", None) is None:
        wanted = quantised if isinstance(quantised, dict) else vars(quantised)
        raise RheoError(
            f"The weights of {name} are quantised by {wanted.get('quant_method', 'a method')!r}, "
            "which transformers does not know, so their numbers mean nothing; use the weights "
            "before quantisation."
        )
    check_tensors(name, report)


def check_tensors(name: str, report: Mapping[str, Iterable]) -> None:
    """Do the part of `check_loaded` that looks at the report; arguments and errors as there."""
    shapes = {key: (found, wanted) for key, found, wanted in report["mismatched_keys"]}
    faults = {
        "lacks": set(report["missing_keys"]) - shapes.keys(),
        "holds, without a use here,": set(report["unexpected_keys"]),
        "holds in another shape than its config says": set(shapes),
    }
    found = [f"{what} {_named(names)}" for what, names in faults.items() if names]
    found += [" ".join(str(text).split()) for text in report.get("error_msgs", ())]
    if found:
        raise RheoError(
            f"The checkpoint of {name} {'; it '.join(found)}: its weights belong to another model "
            "or layout, so what it would say is not this model's."
        )


def _named(names: Iterable[str]) -> str:
    """Return the first few names, and how many there are.

    >>> _named({"b", "a"}), _named("abcde")
    ('a, b', 'a, b, c and 2 more')
    """
    ordered = sorted(names)
    more = len(ordered) - _NAMED
    return ", ".join(ordered[:_NAMED]) + (f" and {more} more" if more > 0 else "")
