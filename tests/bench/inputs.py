"""What the bench's tests measure: parameters, prompts and strategies, small enough to redo."""

from rheo.bench.prompts import Prompt
from rheo.params import DecodeParams

PARAMS = DecodeParams(K=3, R=8, depth=3, S=20, seed=3, max_new_tokens=12)
PROMPTS = [Prompt("odd" if i % 2 else "even", str(i), f"the {'h' * i} end") for i in range(5)]
STRATEGIES = ("topk", "rheo-rrsw", "rheo")
