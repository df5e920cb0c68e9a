"""Every wrong value and every wrong pair of values is one sentence."""

import math

import pytest

from rheo.errors import RheoError
from rheo.params import STRATEGIES, DecodeParams


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"strategy": "greedy"}, "no strategy"),
        ({"m": -1}, "m must be a whole number"),
        ({"m": 1.5}, "m must be a whole number"),
        ({"m": True}, "m must be a whole number"),
        ({"m": "1"}, "m must be a whole number"),
        ({"m": None}, "m must be a whole number"),
        ({"m": 10}, "leaves no slot for the probe"),
        ({"K": 0}, "K must be"),
        ({"R": 0}, "R must be"),
        ({"R": 10**30}, "R must be"),
        ({"depth": 0}, "depth must be"),
        ({"T": math.nan}, "T must be a number"),
        ({"T": math.inf}, "T must be a number"),
        ({"T": -0.1}, "T must be a number"),
        ({"T": 2.1}, "T must be a number"),
        ({"S": 9}, "cannot fill K = 10"),
        ({"S": "all"}, "S must be"),
        ({"strategy": "rheo-multi", "m": 8, "probes": 3}, "need 11 slots"),
        ({"top_p": 0.0}, "keeps no token"),
        ({"top_p": 1.1}, "top_p must be"),
        ({"seed": -1}, "seed must be"),
        ({"max_new_tokens": 0}, "max_new_tokens must be"),
    ],
)
def test_wrong_values_are_one_sentence(values: dict, said: str) -> None:
    with pytest.raises(RheoError, match=said) as error:
        DecodeParams(**values)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_values_are_plain_and_round_trip() -> None:
    params = DecodeParams(m=2.0, T=1, S="full")
    assert (params.m, type(params.m), params.T, type(params.T), params.S) == (
        2,
        int,
        1.0,
        float,
        None,
    )
    assert DecodeParams.from_dict(params.as_dict()) == params
    with pytest.raises(RheoError, match="Unknown parameter 'beam'"):
        DecodeParams.from_dict({"beam": 3})


def test_probes_by_strategy() -> None:
    j = {s: DecodeParams(strategy=s, probes=2).J for s in STRATEGIES}
    assert j == {
        "rheo": 1, "topk": 0, "rheo-rrsw": 1, "rheo-multi": 2, "naive": 1, "autoregressive": 0
    }  # fmt: skip
