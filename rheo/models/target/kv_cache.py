"""The target's keys and values: committed rows, then the scratch rows of one tree."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import Cache

BUCKET = 256  # columns a masked CUDA call is rounded up to: few distinct shapes, aligned masks


class KVCache(Cache):
    """Rows of keys and values in buffers allocated once, written in place.

    The first `length` rows are the committed text; the `scratch` rows after them belong to a tree
    that has not been decided. A forward pass is announced with `begin`, which fixes where its rows
    go and how many columns attention sees; `end` or `keep` then says what became of them.
    Decoding caches one text; a batch of texts that grow by the same columns fits as well.

    Layers that share a device share one buffer (layers, 2, batch, heads, capacity, width):
    compaction is one gather and one write a device, not four kernels a layer.

    Args:
        devices: the device of each layer, first layer first.
        heads: key/value heads of a layer.
        width: width of one head.
        dtype: of the rows.
        bucket: masked calls see a multiple of this many columns; 1 = exactly the filled ones.
            The surplus columns hold finite numbers and must be masked out.

    >>> cache = KVCache([torch.device("cpu")], heads=1, width=2, dtype=torch.float32)
    >>> cache.reserve(8)
    >>> _ = cache.begin(2)
    >>> k, v = cache.update(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), 0)
    >>> cache.end(2)
    >>> k.shape, cache.length, cache.scratch
    (torch.Size([1, 1, 2, 2]), 0, 2)
    """

    def __init__(
        self,
        devices: Sequence[torch.device],
        heads: int,
        width: int,
        dtype: torch.dtype,
        bucket: int = 1,
    ) -> None:
        super().__init__(layers=[])  # transformers' own layers stay unused
        self.devices, self.heads, self.width, self.dtype = list(devices), heads, width, dtype
        self.bucket = bucket
        self.batch = 1
        self.capacity = self.length = self.scratch = 0
        self._start = self._stop = self._columns = 0
        self._slots: Tensor | None = None
        self._buffers: list[Tensor] = []  # one a device
        self._rows: list[tuple[Tensor, Tensor]] = []  # a layer's keys, values: views of its buffer

    @property
    def filled(self) -> int:
        """Return the number of committed and scratch rows."""
        return self.length + self.scratch

    def reserve(self, capacity: int, batch: int = 1) -> None:
        """Empty the cache and make room for `capacity` rows of each of `batch` texts.

        The old buffers stay where they suffice and hold as many texts.
        """
        self.length = self.scratch = 0
        if capacity <= self.capacity and batch == self.batch:
            return
        self.free()  # before the larger ones are taken
        self.batch = batch
        self.capacity = -(-capacity // self.bucket) * self.bucket
        slots: dict[torch.device, Tensor] = {}
        for device in dict.fromkeys(self.devices):
            layers = self.devices.count(device)
            shape = (layers, 2, batch, self.heads, self.capacity, self.width)
            # zeros, not empty: a masked column meets the values as 0 * value; 0 * nan is nan
            slots[device] = torch.zeros(shape, dtype=self.dtype, device=device)
        self._buffers = list(slots.values())
        layers_of = {device: iter(buffer) for device, buffer in slots.items()}
        for device in self.devices:
            layer = next(layers_of[device])  # (2, batch, heads, capacity, width)
            self._rows.append((layer[0], layer[1]))

    def free(self) -> None:
        """Let go of the buffers, and of what is in them."""
        self.capacity = self.length = self.scratch = 0
        self._buffers, self._rows = [], []

    def begin(self, rows: int, masked: bool = False) -> int:
        """Announce a forward pass of `rows` rows after the filled ones.

        Returns:
            Columns that attention will see: the filled rows and the new ones, rounded up to the
            bucket where the caller masks (an unmasked call must not see padding).

        Raises:
            ValueError: the rows exceed the capacity; the caller reserved too little.
        """
        self._start, self._stop = self.filled, self.filled + rows
        if self._stop > self.capacity:
            raise ValueError(f"{self._stop} rows exceed the reserved capacity of {self.capacity}")
        self._columns = -(-self._stop // self.bucket) * self.bucket if masked else self._stop
        self._slots = None
        return self._columns

    def places(self) -> Tensor:
        """Return the announced pass's rows (rows,) int64: what `write_at` takes."""
        return torch.arange(self._start, self._stop, device=self.devices[0])

    def write_at(self, slots: Tensor) -> None:
        """Let the announced pass write at these rows, whose numbers only the device knows."""
        self._slots = slots

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        """Write a layer's (batch, heads, rows, width); return views of all columns, no copy."""
        keys, values = self._rows[layer_idx]
        if self._slots is None:
            keys[:, :, self._start : self._stop].copy_(key_states)
            values[:, :, self._start : self._stop].copy_(value_states)
        else:
            keys.index_copy_(2, self._slots, key_states)
            values.index_copy_(2, self._slots, value_states)
        return keys[:, :, : self._columns], values[:, :, : self._columns]

    def rows(self, layer: int) -> tuple[Tensor, Tensor]:
        """Return views (batch, heads, length, width) of a layer's committed keys and values."""
        keys, values = self._rows[layer]
        return keys[:, :, : self.length], values[:, :, : self.length]

    def end(self, rows: int) -> None:
        """Count the `rows` rows just written as scratch."""
        self.scratch += rows

    def keep(self, rows: int) -> None:
        """Count the `rows` rows just written as committed. Scratch must be empty."""
        self.length += rows

    def drop(self) -> None:
        """Forget the scratch rows; the next pass overwrites them."""
        self.scratch = 0

    def commit(self, rows: Tensor) -> None:
        """Keep scratch rows `rows` (a,), in that order, behind the committed ones; drop others.

        `rows` count from the first scratch row and may live on any device; only its size is read.

        Raises:
            ValueError: more rows than there are scratch rows.
        """
        count = rows.numel()
        if count > self.scratch:
            raise ValueError(f"{count} rows cannot be kept of {self.scratch} scratch rows")
        if self.scratch > 1:  # of one scratch row, the only commit is the row where it is
            for buffer in self._buffers:
                # gathered into a copy first: the target rows may overlap the source rows
                kept = buffer.index_select(4, rows.to(buffer.device) + self.length)
                buffer[..., self.length : self.length + count, :].copy_(kept)
        self.length += count
        self.scratch = 0

    def select(self, texts: Tensor) -> None:
        """Keep the texts `texts` (b,) of the batch, in that order, and forget the others.

        The buffers keep their size, so a batch that shrinks never holds its rows twice.
        """
        count = texts.numel()
        for layer in self._rows:
            for rows in layer:
                filled = rows[:, :, : self.filled]
                # gathered into a copy first: a text may move onto another that is still to move
                filled[:count] = filled.index_select(0, texts.to(rows.device))
        self._rows = [(keys[:count], values[:count]) for keys, values in self._rows]
        self._buffers = [buffer[:, :, :count] for buffer in self._buffers]
        self.batch = count

    # What transformers asks when it builds the mask of an unmasked call.

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the rows before those of the announced pass: where its causal mask starts."""
        return self._start

    def get_query_offset(self, layer_idx: int = 0) -> int:
        """Return the same as `get_seq_length`."""
        return self._start

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        """Return the columns and their offset in the announced pass."""
        return self._columns, 0

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """Return how many rows there is room for."""
        return self.capacity

    def __len__(self) -> int:
        return len(self.devices)
