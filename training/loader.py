"""Pages made by worker processes, through shared memory, into batches on the device.

Layouts (a task on pages in base or with a crop grid) have slots of their own; a worker refills the layout that has the
most free slots. A batch holds one layout, and targets of similar length. When pages are made too slowly, each may stand
in a second batch, with another look.
"""

from __future__ import annotations

import mmap
import multiprocessing as mp
import os
import queue
import random
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config import PATCH, TILE, VIEW
from training.pages import GENRES, Exercise, Kind, PageMaker
from training.pages.maker import MOST_TOKENS
from training.pages.views import SLOTS
from training.targets import Task

_FORK = mp.get_context("fork")
_ROUND = 64
"""Targets are padded to multiples of this, so that few lengths occur."""


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


@dataclass
class Batch:
    """B examples on the device, each of `together` pages in order; see pages.Sample. view, rect, labels and level are
    of all their pages [B * together, ...]. `length` [B] counts ids, those beyond are padding; the first `asked` [B] of
    them are a question and not to be learned."""

    view: Tensor
    rect: Tensor
    tiles: Tensor | None
    ids: Tensor
    places: Tensor
    labels: Tensor
    tile_labels: Tensor | None
    length: Tensor
    level: Tensor
    grid: tuple[int, int] | None
    task: Task = Task.READ
    together: int = 1
    asked: Tensor | None = None
    """None: nothing is asked."""
    sent: torch.cuda.Event | None = None
    """Recorded once the copies to the device are under way; None on the CPU."""

    def arrived(self) -> Batch:
        """The batch, fit for use on the current stream."""
        if self.sent is not None:
            stream = torch.cuda.current_stream()
            stream.wait_event(self.sent)
            for value in vars(self).values():
                if isinstance(value, Tensor):
                    value.record_stream(stream)
        return self


def _shared(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array that forked processes share."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype=dtype, count=int(np.prod(shape))).reshape(shape)


def _fields(tiles: int, together: int) -> dict[str, tuple[tuple[int, ...], Any, torch.dtype]]:
    side, cells = VIEW // PATCH, TILE // PATCH
    fields: dict[str, tuple[tuple[int, ...], Any, torch.dtype]] = {
        "view": ((together, VIEW, VIEW), np.uint8, torch.uint8),
        "ids": ((MOST_TOKENS,), np.int16, torch.int16),
        "places": ((MOST_TOKENS, 2), np.uint8, torch.uint8),
        "labels": ((together, side, side, SLOTS), np.uint8, torch.uint8),
        "pages": ((together, 5), np.int32, torch.int32),  # rectangle and level of each
        "meta": ((2,), np.int32, torch.int32),  # ids, and how many of them are a question
    }
    if tiles:
        fields["tiles"] = ((tiles, TILE, TILE), np.uint8, torch.uint8)
        fields["tile_labels"] = ((tiles, cells, cells, SLOTS), np.uint8, torch.uint8)
    return fields


class _Store:
    """The slots of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.fields = _fields(layout.grid[0] * layout.grid[1] if layout.grid else 0, layout.together)
        self.arrays = {name: _shared((layout.slots, *shape), kind) for name, (shape, kind, _) in self.fields.items()}
        self.free: Any = _FORK.SimpleQueue()
        self.ready: Any = _FORK.SimpleQueue()

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


class Loader:
    """Starts the workers (before the device is first used: they fork) and yields batches in turn.

    `plan` names the layouts of the batches of a step; an entry with several layouts is drawn by their
    weights.
    """

    def __init__(self, pack: Path, layouts: Sequence[Layout], workers: int, seed: int) -> None:
        self.stores = [_Store(layout) for layout in layouts]
        self._vacant: Any = _FORK.Array("i", [layout.slots for layout in layouts])
        for store in self.stores:
            for slot in range(store.layout.slots):
                store.free.put(slot)
        self.made: Any = _FORK.Value("q", 0)
        self._processes = [
            _FORK.Process(target=self._work, args=(pack, seed * 1000 + index), daemon=True) for index in range(workers)
        ]
        for process in self._processes:
            process.start()
        self._batches: queue.Queue[Batch] = queue.Queue(3)
        self._pinned: dict[int, list[tuple[dict[str, Tensor], torch.cuda.Event | None]]] = {}
        self._stream: torch.cuda.Stream | None = None
        self.shown_again = 0
        """Pages that stood in a second batch, since new ones were not made fast enough."""

    def _claim(self) -> int | None:
        """The layout with the largest share of free slots, one of which is now the caller's; None when all
        are full."""
        with self._vacant.get_lock():
            shares = [vacant / store.layout.slots for vacant, store in zip(self._vacant, self.stores, strict=True)]
            best = max(range(len(shares)), key=shares.__getitem__)
            if shares[best] <= 0:
                return None
            self._vacant[best] -= 1
            return best

    def _work(self, pack: Path, seed: int) -> None:
        os.nice(5)
        torch.set_num_threads(1)
        maker, rng = PageMaker(pack, "train", seed), random.Random(seed + 1)
        while True:
            index = self._claim()
            if index is None:
                threading.Event().wait(0.01)
                continue
            store = self.stores[index]
            slot = store.free.get()
            done = False
            while not done:
                try:
                    store.put(slot, maker.exercise(store.layout.task, store.layout.kinds(rng)))
                    done = True
                except (
                    ValueError,
                    OSError,
                    ZeroDivisionError,
                    OverflowError,
                ):  # a font that fails on one string
                    traceback.print_exc()
            with self.made.get_lock():
                self.made.value += 1
            store.ready.put(slot)

    def begin(self, plan: Sequence[Sequence[tuple[int, float]]], device: torch.device, seed: int) -> None:
        """Start assembling batches for steps of the given plan: for each part of a step, (layout, weight)
        choices."""
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        threading.Thread(target=self._assemble, args=(plan, device, random.Random(seed)), daemon=True).start()

    def next(self) -> Batch:
        """The next batch; an error when no page came for five minutes."""
        return self._batches.get(timeout=300).arrived()

    def _assemble(self, plan: Sequence[Sequence[tuple[int, float]]], device: torch.device, rng: random.Random) -> None:
        pools: list[list[int]] = [[] for _ in self.stores]
        once: list[list[int]] = [[] for _ in self.stores]
        twice: list[set[int]] = [set() for _ in self.stores]
        while True:
            for choices in plan:
                index = rng.choices([c for c, _ in choices], [w for _, w in choices])[0]
                store, pool = self.stores[index], pools[index]
                pages = store.layout.pages
                wanted = min(3 * pages, store.layout.slots)
                while not store.ready.empty():
                    pool.append(store.ready.get())
                again = once[index][: max(0, wanted - len(pool))]
                del once[index][: len(again)]
                twice[index].update(again)
                pool += again
                while len(pool) < wanted:
                    pool.append(store.ready.get())
                lengths = store.arrays["meta"][:, 0]
                some = sorted(rng.sample(pool, wanted), key=lambda slot: int(lengths[slot]))
                first = rng.randrange(len(some) - pages + 1)
                chosen = some[first : first + pages]
                batch = self._gather(index, chosen, device)
                taken = set(chosen)
                pool[:] = [slot for slot in pool if slot not in taken]
                self.shown_again += len(taken & twice[index])
                once[index] += [slot for slot in chosen if slot not in twice[index]]
                done = [slot for slot in chosen if slot in twice[index]]
                spare = max(0, len(once[index]) - store.layout.slots // 3)
                done += once[index][:spare]
                del once[index][:spare]
                twice[index] -= taken
                for slot in done:
                    store.free.put(slot)
                with self._vacant.get_lock():
                    self._vacant[index] += len(done)
                self._batches.put(batch)

    def _gather(self, index: int, slots: list[int], device: torch.device) -> Batch:
        """Copy slots into (reused, pinned) host memory and start the copy to the device, on a stream of its own."""
        store = self.stores[index]
        ring, pin = self._pinned.setdefault(index, []), device.type == "cuda"
        if len(ring) < 8:
            host = {
                name: torch.empty((len(slots), *shape), dtype=kind, pin_memory=pin)
                for name, (shape, _, kind) in store.fields.items()
            }
        else:
            host, copied = ring.pop(0)
            if copied is not None:
                copied.synchronize()
        for row, slot in enumerate(slots):
            for name, array in store.arrays.items():
                host[name][row] = torch.from_numpy(array[slot])
        longest = int(host["meta"][:, 0].max())
        width = min(MOST_TOKENS, -(-longest // _ROUND) * _ROUND)

        def sent(name: str, columns: int | None = None) -> Tensor:
            return host[name][:, :columns].to(device, non_blocking=True) if pin else host[name][:, :columns].clone()

        with torch.cuda.stream(self._stream):  # does nothing without a stream
            meta, pages = sent("meta").long(), sent("pages").long().flatten(0, 1)
            crops, layout = "tiles" in host, store.layout
            batch = Batch(
                view=sent("view").flatten(0, 1),
                rect=pages[:, :4],
                tiles=sent("tiles") if crops else None,
                ids=sent("ids", width),
                places=sent("places", width),
                labels=sent("labels").flatten(0, 1),
                tile_labels=sent("tile_labels") if crops else None,
                length=meta[:, 0],
                level=pages[:, 4],
                grid=layout.grid,
                task=layout.task,
                together=layout.together,
                asked=meta[:, 1],
                sent=self._stream.record_event() if self._stream else None,
            )
        ring.append((host, batch.sent))
        return batch

    def close(self) -> None:
        """End the workers."""
        for process in self._processes:
            process.terminate()
