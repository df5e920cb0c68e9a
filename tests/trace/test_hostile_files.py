"""Files that mean harm, traces and checkpoint folders: refused, and nothing of them is run."""

import copy
import gzip
import json
import pickle
import random
import time
import tracemalloc
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st
from safetensors.torch import save_file

from rheo.errors import RheoError
from rheo.models.draft.checkpoints import read
from rheo.models.hub.fetch import kind_of
from rheo.models.target.target import Target
from rheo.trace import io
from rheo.trace.schema import VERSION
from tests.hostile import TEXTS, one_sentence
from tests.models.draft.heads import random_head, write
from tests.tiny import tiny_folder, tiny_model
from tests.visual import sample
from visual.browser import messages

pytestmark = pytest.mark.usefixtures("one_thread")


# Crafted traces


def trace() -> dict:
    return json.loads(json.dumps(io.to_json(sample.run(rounds=2, R=12, K=3, depth=3))))


TRACE = trace()


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


PLACES = [path for path in places(TRACE) if path]
ODD = [
    None, True, -1, 0, 1, 2, 7, 31, 10**6, 2**62, 10**30, -1e-9, 0.0, 0.5, 1.5, 1e300, -1e300, "",
    "x", "root", "probe", "accept", "reject", "emit", "\ud800", "\x00", "\u202e", [], {}, [[]], [1],
    {"a": 1}, {"__proto__": 1}, *TEXTS.values(),
]  # fmt: skip


def changed(path, value):
    made = copy.deepcopy(TRACE)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def opened(blob: bytes) -> bool:
    """Whether the trace is taken; then every view of it must be there too."""
    try:
        run = io.loads(blob, 2**20 * 4)
    except RheoError as error:
        one_sentence(str(error))
        return False
    messages.dumps(messages.whole("key", run, most=None)).encode()
    for k, round in enumerate(run.rounds):
        for what in ("panel", "ghosts", "table"):
            node = len(round.nodes) - 1
            messages.dumps(messages.answer(run, {"what": what, "round": k, "node": node})).encode()
    return True


@hypothesis(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), st.sampled_from(ODD) | st.text(max_size=9) | st.floats(width=32))
def test_a_wrong_value_anywhere_is_refused_or_can_be_shown(path, value):
    opened(json.dumps(changed(path, value)).encode())


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@hypothesis(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), ANYTHING)
def test_a_wrong_type_anywhere_is_refused_or_can_be_shown(path, value):
    opened(json.dumps(changed(path, value)).encode())


@hypothesis(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_are_no_trace(blob):
    for wrapped in (blob, b"\x1f\x8b" + blob, gzip.compress(blob)):
        assert not opened(wrapped)


def test_the_trace_itself_is_taken():
    assert opened(json.dumps(TRACE).encode())


def _deep(depth: int) -> bytes:
    return json.dumps(changed(("note",), "@")).replace('"@"', "[" * depth + "]" * depth).encode()


def _cycle() -> bytes:
    made = copy.deepcopy(TRACE)
    made["rounds"][0]["nodes"][1]["parent"] = 2
    return json.dumps(made).encode()


def _endless_walk() -> bytes:
    made = copy.deepcopy(TRACE)
    made["rounds"][0]["visits"] *= 50
    return json.dumps(made).encode()


CRAFTED = {
    "zip bomb": lambda: gzip.compress(b" " * 200_000_000, 9),
    "zip of a zip bomb": lambda: gzip.compress(gzip.compress(b"[" * 100_000_000)),
    "cut off": lambda: gzip.compress(json.dumps(TRACE).encode())[:-9],
    "huge": lambda: json.dumps(changed(("text",), "x" * 5_000_000)).encode(),
    "deep": lambda: _deep(100_000),
    "less deep": lambda: _deep(800),
    "deep in params": lambda: json.dumps(TRACE).replace(
        '"strategy": "rheo"', '"strategy": ' + "[" * 700 + "]" * 700).encode(),
    "NaN": lambda: json.dumps(changed(("rounds", 0, "expected_accepted"), float("nan"))).encode(),
    "infinity": lambda: json.dumps(changed(("rounds", 0, "ms", "draft"), float("inf"))).encode(),
    "1e999": lambda: json.dumps(changed(("rounds", 0, "ms", "draft"), "@")).replace(
        '"@"', "1e999").encode(),
    "a million digits": lambda: json.dumps(changed(("version",), "@")).replace(
        '"@"', "9" * 10**6).encode(),
    "cycle": _cycle,
    "endless walk": _endless_walk,
    "unknown schema": lambda: json.dumps(changed(("schema",), "<b>")).encode(),
    "version of tomorrow": lambda: json.dumps(changed(("version",), VERSION + 1)).encode(),
    "a million tokens": lambda: json.dumps(
        changed(("prompt_token_ids",), [-1] * 10**6)).encode(),
    "many fields": lambda: json.dumps({str(i): 1 for i in range(200_000)}).encode(),
    "pickle": lambda: pickle.dumps(TRACE),
    "UTF-16": lambda: json.dumps(TRACE).encode("utf-16")[:-1],
}  # fmt: skip


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_traces_cost_little_and_are_refused(name):
    blob = CRAFTED[name]()
    tracemalloc.start()
    began = time.perf_counter()
    taken = opened(blob)
    seconds, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not taken
    assert seconds < 20 and peak < 150e6, (seconds, peak)


@pytest.mark.parametrize("name", TEXTS)
def test_a_trace_with_hostile_texts_is_shown_as_text_or_refused(name):
    made = copy.deepcopy(TRACE)
    text = TEXTS[name][:4000]
    made |= {"prompt": text, "text": text, "pair": text, "note": text, "target": text}
    made["tokens"] = dict.fromkeys(made["tokens"], text)
    assert opened(json.dumps(made).encode()) == (name != "lone surrogate")


# A checkpoint folder that means harm


class Bomb:
    """Unpickled, it writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def test_pickled_weights_of_a_head_run_no_code(tmp_path):
    config, _ = random_head()
    (tmp_path / "config.json").write_text(json.dumps(config))
    torch.save({"fc.weight": Bomb(tmp_path / "mark")}, tmp_path / "pytorch_model.bin")
    assert kind_of(tmp_path) in ("eagle3", "lm")
    with pytest.raises(RheoError):
        read(tmp_path)
    assert not (tmp_path / "mark").exists()
    torch.load(tmp_path / "pytorch_model.bin", weights_only=False)  # the control: it would have
    assert (tmp_path / "mark").exists()


def test_code_that_comes_with_a_model_is_not_run(tmp_path):
    folder = tiny_folder(tmp_path / "model")
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nclass X: pass\n")
    for name in ("config.json", "tokenizer_config.json"):
        config = json.loads((folder / name).read_text())
        config["auto_map"] = dict.fromkeys(
            ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer"), "evil.X"
        )
        (folder / name).write_text(json.dumps(config))
    try:
        Target.load(str(folder))
    except RheoError as error:
        assert "\n" not in str(error)
    assert not (tmp_path / "mark").exists()


def test_pickles_beside_a_model_are_not_read(tmp_path):
    folder = tiny_folder(tmp_path / "model")
    for name in ("pytorch_model.bin", "optimizer.pt", "training_args.bin", "rng_state.pth"):
        torch.save(Bomb(tmp_path / "mark"), folder / name)
    Target.load(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(RheoError):
        Target.load(str(folder))
    assert not (tmp_path / "mark").exists()


HEADERS = {
    "huge": (2**62).to_bytes(8, "little") + b"{}",
    "beyond the file": (10**6).to_bytes(8, "little") + b"{}",
    "no JSON": (4).to_bytes(8, "little") + b"{{{{",
    "deep": (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "empty": b"",
    "negative offsets": (75).to_bytes(8, "little")
    + b'{"fc.weight":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709,1]}}',
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_lie_are_one_sentence(tmp_path, name):
    config, _ = random_head()
    config.pop("draft_vocab_size", None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(HEADERS[name])
    for open_it in (kind_of, read):
        with pytest.raises(RheoError) as caught:
            open_it(tmp_path)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_wrong_shapes_of_a_head_are_one_sentence(tmp_path):
    config, tensors = random_head()
    rng = random.Random(0)
    for name in set(tensors) - {"t2d"}:  # of which only the ids count, in whatever shape
        for change in (lambda x: x.flatten()[:0], lambda x: x[None], lambda x: x * float("nan")):
            folder = tmp_path / f"{name}{rng.random()}"
            changed = tensors | {name: change(tensors[name].float())}
            write(folder, config, changed)
            with pytest.raises(RheoError):
                read(folder)


def test_a_target_with_wrong_shapes_is_one_sentence(tmp_path):
    folder = tiny_folder(tmp_path)
    state = tiny_model(vocab=288).state_dict()
    save_file({k: v[:1].clone() for k, v in state.items()}, folder / "model.safetensors")
    with pytest.raises(RheoError) as caught:
        Target.load(str(folder))
    assert "\n" not in str(caught.value)


def test_a_chat_template_stays_in_its_sandbox(tmp_path):
    template = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    target = Target.load(str(tiny_folder(tmp_path, template=template)))
    with pytest.raises(Exception, match=r"unsafe|chat template"):
        target.encode("x")
