"""What visitors leave behind is bounded: 300 traces of 300 sessions, most of them an attack's.

The attack's: 0.3 MB of gzip whose `u2` has 3.8 million entries. Between them traces that open, each
with more nodes than a page shows at once.
"""

import base64
import gzip
import json
from dataclasses import replace

import psutil
import pytest

from rheo.trace import io
from tests.browser.app_process import served
from tests.hostile import one_sentence
from tests.visitor import Visitor
from tests.visual import sample

TRACES, EVERY = 300, 5  # one in five opens
MOST_MB = 600


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6)).decode()


def opened(address: str, data: str) -> dict:
    """What a new session reads at the end, having opened a trace."""
    visitor = Visitor(address)
    visitor.join("taken_in", [None], {"data": data}).raise_for_status()
    ends = [
        m for m in visitor.messages() if m["msg"] in ("process_generating", "process_completed")
    ]
    visitor.http.close()
    told = [m["output"]["data"][0] for m in ends if m["output"].get("data")]
    return json.loads(told[0])


def memory_mb(address: str) -> float:
    """Resident memory of the app that listens at `address`."""
    port = int(address.rsplit(":", 1)[1])
    app = next(c for c in psutil.Process().children(recursive=True) if str(port) in c.cmdline())
    return app.memory_info().rss / 2**20


@pytest.mark.slow
def test_three_hundred_traces_leave_little_behind(tmp_path, count=TRACES):
    run = sample.run(rounds=1)
    run = replace(run, rounds=tuple(replace(run.rounds[0], index=k) for k in range(40)))
    io.save(sample.run(rounds=1), tmp_path / "first.json.gz")
    good = base64.b64encode(io.dumps(run, packed=True)).decode()
    hollow = replace(run.rounds[0], uniforms=replace(run.rounds[0].uniforms, u2=(-7.0,)))
    text = io.dumps(replace(run, rounds=(hollow,)), packed=False).decode()
    assert "[-7.0]" in text
    attack = packed(text.replace("[-7.0]", f"[{','.join(['0.5'] * 3_800_000)}]"))
    with served(tmp_path, RHEO_RATE="0") as address:
        for number in range(count):
            if number % EVERY:
                told = opened(address, attack)
                assert told["type"] == "say" and "3,800,000 entries" in one_sentence(
                    told["sentence"]
                )
            else:
                told = opened(address, good)
                assert told["type"] == "run" and len(told["rounds"]) == 40
                assert None in told["rounds"] or sum(len(r.nodes) for r in run.rounds) <= 1500
            assert memory_mb(address) < MOST_MB
