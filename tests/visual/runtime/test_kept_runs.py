"""What is kept of visitors: counted, bounded, the oldest forgotten first, and nobody else's."""

import copy
import gc
import pickle
import zlib

import pytest

from tests.visual import sample
from visual.runtime import kept_runs
from visual.runtime.kept_runs import RUNS, KeptRuns, RunShelf


@pytest.fixture(scope="module")
def run():
    return sample.run(rounds=1)


def packed(run) -> int:
    return len(zlib.compress(pickle.dumps(run, pickle.HIGHEST_PROTOCOL), 1))


def test_a_run_comes_back_as_it_was(run):
    own = KeptRuns(RunShelf(lambda: 2**20))
    own.keep("a", run)
    own._shelf._unpacked.clear()
    assert own["a"] == run and own.get("b") is None and list(own) == ["a"]


def test_the_oldest_of_anybody_goes_first(run):
    shelf = RunShelf(lambda: 3 * packed(run) + 9)
    visitors = [KeptRuns(shelf) for _ in range(300)]
    for visitor in visitors:
        visitor.keep("a", run)
        assert shelf.bytes <= 3 * packed(run) + 9
    assert [len(visitor) for visitor in visitors] == [0] * 297 + [1] * 3
    assert visitors[0].get("a") is None and visitors[-1]["a"] == run


def test_a_visitor_keeps_so_many_and_so_much(run, monkeypatch):
    own = KeptRuns(shelf := RunShelf(lambda: 2**30))
    for key in "abcde":
        own.keep(key, run)
    assert list(own) == ["c", "d", "e"] and len(own) == RUNS
    monkeypatch.setattr(kept_runs, "OWN_BYTES", packed(run) + 1)
    own.keep("f", run)
    assert list(own) == ["f"] and shelf.bytes == packed(run)
    own.keep("f", run)
    assert shelf.bytes == packed(run), "the same key is the same place"


def test_only_so_much_is_held_unpacked(run, monkeypatch):
    size = kept_runs._GROWTH * len(pickle.dumps(run, pickle.HIGHEST_PROTOCOL))
    monkeypatch.setattr(kept_runs, "UNPACKED_BYTES", 2 * size)
    own = [KeptRuns(shelf := RunShelf(lambda: 2**30)) for _ in range(9)]
    own = [KeptRuns(shelf) for _ in own]
    for visitor in own:
        visitor.keep("a", run)
    assert len(shelf._unpacked) == 2 and all(visitor["a"] == run for visitor in own)


def test_who_goes_leaves_nothing(run):
    shelf = RunShelf(lambda: 2**30)
    first, second = KeptRuns(shelf), KeptRuns(shelf)
    for own in (first, second):
        own.keep("a", run)
    first.clear()
    assert shelf.bytes == packed(run)
    del second, own
    gc.collect()
    assert shelf.bytes == 0, "a session that Gradio forgets ends without a word"


def test_a_copy_is_another_visitor(run):
    own = KeptRuns(RunShelf(lambda: 2**30))
    own.keep("a", run)
    other = copy.deepcopy(own)
    assert not other and other._owner != own._owner and other._shelf is own._shelf


def test_a_run_that_grows_is_there(run):
    own = KeptRuns(shelf := RunShelf(lambda: 2**30))
    own.grow("a", run)
    assert own["a"] is run and list(own) == ["a"] and shelf.bytes == 0
    own.keep("a", run)
    assert list(own) == ["a"] and shelf.bytes == packed(run)
