"""The cache against a plain list of rows: in place, views, compaction, nothing of padding seen."""

import pytest
import torch
from torch import Tensor

from rheo.models.target.kv_cache import KVCache
from rheo.models.target.target import Target
from tests.tiny import tiny_model

CPU = torch.device("cpu")
LAYERS, HEADS, WIDTH = 3, 2, 4


def empty(capacity: int = 32, bucket: int = 1) -> KVCache:
    cache = KVCache([CPU] * LAYERS, HEADS, WIDTH, torch.float32, bucket)
    cache.reserve(capacity)
    return cache


def write(cache: KVCache, rows: Tensor, masked: bool = False) -> list[tuple[Tensor, Tensor]]:
    """One announced pass; row r holds the number `rows[r]`, plus 100 a layer, values negated."""
    cache.begin(len(rows), masked)
    seen = []
    for layer in range(LAYERS):
        keys = (rows + 100.0 * layer).view(1, 1, -1, 1).expand(1, HEADS, -1, WIDTH)
        seen.append(cache.update(keys, -keys, layer, kwargs={}))
    return seen


def read(cache: KVCache, layer: int) -> list[float]:
    """The committed numbers of a layer; every head and width, keys and values must agree."""
    keys, values = cache.rows(layer)
    assert torch.equal(keys, -values)
    assert torch.equal(keys, keys[:, :1, :, :1].expand_as(keys))
    return (keys[0, 0, :, 0] - 100.0 * layer).tolist()


def test_attention_gets_views_of_the_filled_rows():
    cache = empty()
    first = write(cache, torch.arange(3.0))
    cache.keep(3)
    second = write(cache, torch.arange(3.0, 5.0))
    for (k1, v1), (k2, v2) in zip(first, second, strict=True):
        assert k1.shape == (1, HEADS, 3, WIDTH)
        assert k2.shape == (1, HEADS, 5, WIDTH)
        assert k1.data_ptr() == k2.data_ptr()
        assert v1.data_ptr() == v2.data_ptr()
        assert k2[0, 1, :, 0].sub(k2[0, 1, 0, 0]).tolist() == [0, 1, 2, 3, 4]


def test_bucket_pads_masked_calls_only_and_with_finite_rows():
    cache = empty(20, bucket=8)
    assert cache.capacity == 24
    keys, values = write(cache, torch.arange(5.0), masked=True)[1]
    assert keys.shape[2] == values.shape[2] == 8
    assert keys.isfinite().all()
    assert values.isfinite().all()
    assert write(cache, torch.arange(5.0))[1][0].shape[2] == 5


def test_commit_against_a_list_of_rows():
    generator = torch.Generator().manual_seed(0)
    cache, expected, serial = empty(400), [], 0
    for _ in range(60):
        count = int(torch.randint(1, 12, (1,), generator=generator))
        passes = [count] if count < 6 else [count - 4, 3, 1]  # one tree, in one pass or by levels
        scratch: list[float] = []
        for rows in passes:
            numbers = torch.arange(serial, serial + rows, dtype=torch.float32)
            write(cache, numbers)
            cache.end(rows)
            scratch += numbers.tolist()
            serial += rows
        kept = torch.randperm(count, generator=generator)[: 1 + count // 2]  # any order: overlaps
        cache.commit(kept)
        expected += [scratch[i] for i in kept]
        assert cache.length == cache.filled == len(expected)
        for layer in range(LAYERS):
            assert read(cache, layer) == expected


def test_drop_and_reserve_forget():
    cache = empty(16)
    write(cache, torch.arange(4.0))
    cache.keep(4)
    write(cache, torch.arange(50.0, 53.0))
    cache.end(3)
    cache.drop()
    write(cache, torch.arange(4.0, 6.0))
    cache.end(2)
    cache.commit(torch.tensor([0, 1]))
    assert read(cache, 2) == [0, 1, 2, 3, 4, 5]
    cache.commit(torch.tensor([], dtype=torch.long))
    assert cache.length == 6
    before = cache.update(*[torch.zeros(1, HEADS, 0, WIDTH)] * 2, 0) if cache.begin(0) else None
    cache.reserve(10)
    after = write(cache, torch.zeros(1))[0]
    assert cache.length == 0
    assert before[0].data_ptr() == after[0].data_ptr()
    cache.reserve(17)
    assert cache.capacity == 17


def test_a_batch_of_texts_keeps_those_that_are_selected():
    cache = KVCache([CPU] * LAYERS, HEADS, WIDTH, torch.float32)
    cache.reserve(8, batch=4)
    texts = torch.tensor([0.0, 10.0, 20.0, 30.0]).view(4, 1, 1, 1)  # what text b's rows hold
    expected = torch.empty(4, 0)

    def append(rows: Tensor) -> None:
        cache.begin(len(rows))
        for layer in range(LAYERS):
            keys = (texts + rows.view(1, 1, -1, 1) + 100.0 * layer).expand(-1, HEADS, -1, WIDTH)
            seen, _ = cache.update(keys, -keys, layer)
            assert seen.shape == (len(texts), HEADS, cache.length + len(rows), WIDTH)
        cache.keep(len(rows))

    for rows, kept in ((3, [3, 0, 2]), (1, [1, 2]), (2, [0])):  # in any order: texts overlap
        numbers = torch.arange(rows) + float(cache.length)
        append(numbers)
        expected = torch.cat([expected, texts[:, 0, 0] + numbers], dim=1)[kept]
        texts = texts[kept]
        cache.select(torch.tensor(kept))
        for layer in range(LAYERS):
            keys, values = cache.rows(layer)
            assert torch.equal(keys, -values)
            assert torch.equal(keys, (expected + 100.0 * layer)[:, None, :, None].expand_as(keys))
    cache.reserve(8)
    assert cache.rows(0)[0].shape == (1, HEADS, 0, WIDTH)


def test_misuse_is_named():
    cache = empty(4)
    with pytest.raises(ValueError, match="5 rows exceed the reserved capacity of 4"):
        cache.begin(5)
    write(cache, torch.arange(2.0))
    cache.end(2)
    with pytest.raises(ValueError, match="3 rows cannot be kept of 2"):
        cache.commit(torch.tensor([0, 1, 1]))


def test_transformers_reads_and_writes_no_copy_of_it():
    """Inside the real forward, too: the buffers hold the rows, and stay where they are."""
    target = Target(tiny_model(), None)
    target.reset(64)
    ids = torch.arange(10)
    target.prefill(ids)
    where = target.cache.rows(7)[0].data_ptr()
    target.verify(ids[:4], torch.arange(10, 14))
    target.commit(torch.tensor([0, 1]))
    assert target.cache.rows(7)[0].data_ptr() == where
    with torch.no_grad():
        text = torch.cat([ids, ids[:2]])
        theirs = target.model(input_ids=text[None], use_cache=True).cache.layers[7].values
    assert (target.cache.rows(7)[1] - theirs).abs().max() <= 1e-5
