"""The real page with a scripted model: `python -m tests.browser.served TRACES --port N`.

The model replays rounds of a sample run, slowly enough to be stopped: 60 for a prompt with the word
"long", else 8; the prompt "fail" fails. Everything else is the app as it is. With the environment
variable RHEO_REAL set, the real model is loaded instead; RHEO_ROUND_S is the seconds of a round.
"""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import app
from rheo.errors import RheoError
from rheo.trace.schema import Run
from tests.visual import sample
from visual.runtime import model_loader, run_store

ROUND_S = float(os.getenv("RHEO_ROUND_S", "0.25"))
SLOW_S = 2.0  # for a prompt with the word "slow"


class Decoding:
    """Rounds of the sample, one every `ROUND_S` seconds."""

    prompt_ids = ()

    def __init__(self, run: Run) -> None:
        self.run, self.rounds, self.over = run, [], False

    def __iter__(self):
        for round in self.run.rounds:
            time.sleep(SLOW_S if "slow" in self.run.prompt else ROUND_S)
            self.rounds.append(round)
            self.over = len(self.rounds) == len(self.run.rounds)
            yield round

    def close(self) -> None:
        """Nothing to free."""


class Engine:
    """What the page needs of an engine."""

    warning = None

    def fit(self, prompt: str, new_tokens: int, most: int) -> tuple[str, int, int]:
        """Words are the tokens, and a hundred of them fill the context."""
        words = prompt.split(" ")
        kept = words[-100:] if len(words) > 100 else words
        return " ".join(kept), len(kept), len(words)

    def decode(self, prompt: str, params, watch=None) -> Decoding:
        if prompt == "fail":
            raise RheoError("The prompt has 9,999 tokens and the model's context ends at 2,048.")
        rounds = 60 if "long" in prompt else 8
        made = sample.run(rounds, seed=crc32(repr((prompt, params)).encode()))  # of all settings
        return Decoding(replace(made, prompt=prompt, params=params.as_dict()))

    def record(self, decoding: Decoding, prompt: str) -> Run:
        stop = "length" if decoding.over else "closed"
        return replace(decoding.run, rounds=tuple(decoding.rounds), stop=stop)


def load(name: str, progress) -> Engine:
    """A model that takes a moment, or until the file that RHEO_GATE names is there."""
    gate = os.getenv("RHEO_GATE")
    while gate and not Path(gate).exists():
        progress("Loading the target", 0.4)
        time.sleep(0.1)
    for part in range(5):
        progress("Loading the target", part / 5)
        time.sleep(0.1)
    return Engine()


if __name__ == "__main__":
    run_store.TRACES = Path(sys.argv.pop(1))
    if not os.getenv("RHEO_REAL"):
        model_loader.MODELS._load = load
    app.main()
