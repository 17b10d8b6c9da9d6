"""Memory that page makers, the assembler of batches and the training process share: slots that hold an example each,
and buffers that hold a batch each. To be made before the processes fork.
"""

from __future__ import annotations

import math
import mmap
import multiprocessing as mp
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.config import PATCH, TILE, VIEW
from training.pages import GENRES, Exercise, Kind
from training.pages.maker import MOST_TOKENS
from training.pages.views import SLOTS
from training.targets import Task

FORK = mp.get_context("fork")
_ROUND = 64
"""Targets are padded to multiples of this, so that few lengths occur."""

_ALIGNED = 256
"""Fields of a batch begin at multiples of this many bytes."""


@dataclass(frozen=True)
class Layout:
    """A task on pages of one crop grid (None = base): how many examples stand in a batch and how many in memory, how
    often levels and genres occur. A slot holds one example."""

    grid: tuple[int, int] | None
    pages: int
    slots: int
    levels: tuple[float, ...]
    genres: tuple[float, ...] = (1.0,)
    """Weights of GENRES; those left out do not occur."""
    task: Task = Task.READ
    together: int = 1
    """Pages of an example."""

    def kinds(self, rng: random.Random) -> list[Kind]:
        """The pages of an example."""
        kinds = []
        for _ in range(self.together):
            level = rng.choices(range(len(self.levels)), self.levels)[0]
            genre = rng.choices(GENRES[: len(self.genres)], self.genres)[0]
            kinds.append(Kind(level, self.grid, genre=genre))
        return kinds

    def fields(self, width: int = MOST_TOKENS) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Shapes and types of what is kept of an example, with room for `width` ids."""
        side, cells = VIEW // PATCH, TILE // PATCH
        fields: dict[str, tuple[tuple[int, ...], Any]] = {
            "view": ((self.together, VIEW, VIEW), np.uint8),
            "ids": ((width,), np.int16),
            "places": ((width, 2), np.uint8),
            "labels": ((self.together, side, side, SLOTS), np.uint8),
            "pages": ((self.together, 5), np.int32),  # rectangle and level of each
            "meta": ((2,), np.int32),  # ids, and how many of them are a question
        }
        if self.grid:
            tiles = self.grid[0] * self.grid[1]
            fields["tiles"] = ((tiles, TILE, TILE), np.uint8)
            fields["tile_labels"] = ((tiles, cells, cells, SLOTS), np.uint8)
        return fields


def _shared(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array that forked processes share; it begins at a page of memory."""
    count = math.prod(shape)
    return np.frombuffer(mmap.mmap(-1, max(count * np.dtype(dtype).itemsize, 1)), dtype, count).reshape(shape)


class Store:
    """The slots of one layout: arrays [slots, ...] of its fields, and the numbers of those that are free, and ready."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.arrays = {name: _shared((layout.slots, *shape), kind) for name, (shape, kind) in layout.fields().items()}
        self.free: Any = FORK.SimpleQueue()
        self.ready: Any = FORK.SimpleQueue()
        for slot in range(layout.slots):
            self.free.put(slot)

    def put(self, slot: int, exercise: Exercise) -> None:
        arrays, count = self.arrays, len(exercise.ids)
        arrays["ids"][slot, :count] = exercise.ids
        arrays["places"][slot, :count] = exercise.places
        arrays["meta"][slot] = (count, exercise.asked)
        for number, page in enumerate(exercise.pages):
            arrays["view"][slot, number] = page.view
            arrays["labels"][slot, number] = page.labels
            arrays["pages"][slot, number] = (*page.rect, page.level)
            if page.tiles is not None:
                arrays["tiles"][slot] = page.tiles
                arrays["tile_labels"][slot] = page.tile_labels


class Buffers:
    """Memory [count, bytes] for batches; each buffer is large enough for a batch of any layout."""

    def __init__(self, layouts: Sequence[Layout], count: int) -> None:
        sizes = [
            sum(_room(_bytes(layout, shape, kind)) for shape, kind in layout.fields().values()) for layout in layouts
        ]
        self.memory = _shared((count, max(sizes)), np.uint8)

    def arrays(self, number: int, layout: Layout, width: int) -> dict[str, NDArray[Any]]:
        """The fields of a batch in a buffer, [pages, ...] each, ids and places with `width` columns."""
        found, begin = {}, 0
        for name, (shape, kind) in layout.fields(width).items():
            size = _bytes(layout, shape, kind)
            found[name] = self.memory[number, begin : begin + size].view(kind).reshape(layout.pages, *shape)
            begin += _room(size)
        return found

    def fill(self, number: int, store: Store, slots: Sequence[int]) -> int:
        """Copy slots into the rows of a batch; answers the width of its ids."""
        longest = int(store.arrays["meta"][slots, 0].max())
        width = min(MOST_TOKENS, -(-longest // _ROUND) * _ROUND)
        for name, rows in self.arrays(number, store.layout, width).items():
            source = store.arrays[name]
            source = source[:, :width] if name in ("ids", "places") else source
            for row, slot in enumerate(slots):
                rows[row] = source[slot]
        return width


def _bytes(layout: Layout, shape: tuple[int, ...], kind: Any) -> int:
    """Size of a field of a batch."""
    return layout.pages * math.prod(shape) * np.dtype(kind).itemsize


def _room(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
