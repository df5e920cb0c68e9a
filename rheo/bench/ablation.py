"""The paper's ablation of verification: one level, all of its slots kept, at T = 1."""

from dataclasses import replace

from rheo.params import DecodeParams

# acceptance at depth 1 in arXiv 2609.21827
PAPER_DEPTH_1 = {"topk": 0.800, "rheo-rrsw": 0.835, "rheo": 0.854}
_PAPER = DecodeParams(T=1.0)  # K, m and the rest are the defaults, which are the paper's


def one_level(params: DecodeParams) -> DecodeParams:
    """Return the parameters with a single level, of which pruning drops nothing.

    >>> params = one_level(DecodeParams(K=5))
    >>> params.depth, params.R
    (1, 5)
    """
    return replace(params, depth=1, R=params.K)


def departures(params: DecodeParams) -> list[str]:
    """Return the paper's values where these differ in what the acceptance depends on.

    >>> departures(DecodeParams(T=0.5, K=4))
    ['K = 10', 'T = 1']
    """
    names = ("m", "K", "T", "top_p", "top_k")
    return [
        f"{name} = {getattr(_PAPER, name):g}"
        for name in names
        if getattr(params, name) != getattr(_PAPER, name)
    ]
