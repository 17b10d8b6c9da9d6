"""Page makers and the assembler, which lays their pages together into batches: processes beside the training process,
whose Python has enough to do with feeding the device.

A page maker refills the layout that has the largest share of free slots. A batch holds one layout, and targets of
similar length. When pages are made too slowly, each may stand in a second batch, with another look.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import torch

from training.pages import Exercise, PageMaker
from training.slots import FORK, Buffers, Layout, Store

_MOST_FAILED = 20
"""Pages in a row that cannot be made, after which their maker gives up: then it is not one font's fault."""

_SLICE = 0.25
"""Seconds after which a process that waits looks whether the training process is still there."""

Plan = Sequence[Sequence[tuple[int, float]]]
"""For each batch of a step the layouts that it may have, by number, and their weights."""


class Pool:
    """Pages of one layout that wait for their batch."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.held: list[int] = []
        self.once: list[int] = []
        """Slots shown once, oldest first, kept in case that new pages are late."""
        self.again: set[int] = set()
        """Those of `held` that have been shown before."""

    def choose(self, rng: random.Random, sleep: Callable[[], None]) -> list[int]:
        """Slots for a batch, of similar lengths; sleeps while too few are there, those shown once included."""
        layout, ready = self.store.layout, self.store.ready
        wanted = min(3 * layout.pages, layout.slots)
        while not ready.empty():
            self.held.append(ready.get())
        late = self.once[: max(0, wanted - len(self.held))]
        del self.once[: len(late)]
        self.again.update(late)
        self.held += late
        while len(self.held) < wanted:
            if ready.empty():
                sleep()
            else:
                self.held.append(ready.get())
        lengths = self.store.arrays["meta"][:, 0]
        some = sorted(rng.sample(self.held, wanted), key=lambda slot: int(lengths[slot]))
        first = rng.randrange(wanted - layout.pages + 1)
        return some[first : first + layout.pages]

    def release(self, chosen: list[int]) -> tuple[list[int], int]:
        """Slots whose pages will not be shown any more, now that the chosen ones have been; and how many of these were
        shown for the second time."""
        done = [slot for slot in chosen if slot in self.again]
        shown_again = len(done)
        self.once += [slot for slot in chosen if slot not in self.again]
        spare = max(0, len(self.once) - self.store.layout.slots // 3)
        done += self.once[:spare]
        del self.once[:spare]
        self.again.difference_update(chosen)
        gone = set(chosen)
        self.held = [slot for slot in self.held if slot not in gone]
        return done, shown_again


class Filled(NamedTuple):
    """A batch that lies in a buffer: numbers of its layout and buffer, columns of its ids, and how many of its pages
    stand in a second batch."""

    layout: int
    buffer: int
    width: int
    shown_again: int


class Assembly:
    """Starts page makers and the assembler, and hears from them. They fork: to be made before the device is used."""

    def __init__(self, pack: Path, layouts: Sequence[Layout], workers: int, seed: int, buffers: int) -> None:
        self.stores = [Store(layout) for layout in layouts]
        self.buffers = Buffers(layouts, buffers)
        self.made: Any = FORK.Value("q", 0)
        self._vacant: Any = FORK.Array("i", [layout.slots for layout in layouts])
        self._orders, self._order = FORK.Pipe(duplex=False)
        self._returned, self._give_back = FORK.Pipe(duplex=False)
        self._filled, self._fill = FORK.Pipe(duplex=False)
        self._parent = os.getpid()
        self._processes = [FORK.Process(target=self._assemble, name="the assembler of batches", daemon=True)]
        for index in range(workers):
            arguments, name = (pack, seed * 1000 + index), f"page maker {index}"
            self._processes.append(FORK.Process(target=self._make, args=arguments, name=name, daemon=True))
        for process in self._processes:
            process.start()

    def begin(self, plan: Plan, seed: int) -> None:
        """Have batches laid together for steps of the given plan. Equal seeds give equal orders of layouts."""
        self._order.send((plan, seed))

    def give_back(self, buffer: int) -> None:
        """Let a buffer be filled anew."""
        self._give_back.send(buffer)

    def filled(self, seconds: float) -> Filled | None:
        """The next batch, None when there is none within some seconds; SystemExit when a process has died."""
        heard = wait([self._filled, *(process.sentinel for process in self._processes)], seconds)
        for process in self._processes:
            if process.sentinel in heard:
                process.join()
                raise SystemExit(
                    f"{process.name} ended with exit code {process.exitcode} (one below 0: the signal that killed it) "
                    f"after {self.made.value} pages; stderr tells why: mend that and start again, "
                    "with --resume if there is a checkpoint"
                )
        found: Filled | None = self._filled.recv() if heard else None
        return found

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()

    def _stay(self, seconds: float = 0.0) -> None:
        """In a process: sleep, and end with the training process, which may have been killed."""
        time.sleep(seconds)
        if os.getppid() != self._parent:
            raise SystemExit(0)

    def _heard(self, pipe: Any) -> Any:
        """In a process: the next message."""
        while not pipe.poll(_SLICE):
            self._stay()
        return pipe.recv()

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

    def _make(self, pack: Path, seed: int) -> None:
        """A page maker's life."""
        os.nice(5)
        torch.set_num_threads(1)
        maker, rng = PageMaker(pack, "train", seed), random.Random(seed + 1)
        while True:
            self._stay()
            index = self._claim()
            if index is None:
                self._stay(0.01)
                continue
            store = self.stores[index]
            slot = store.free.get()
            store.put(slot, _exercise(maker, store.layout, rng))
            with self.made.get_lock():
                self.made.value += 1
            store.ready.put(slot)

    def _assemble(self) -> None:
        """The assembler's life."""
        plan, seed = self._heard(self._orders)
        # How much the choice of pages draws differs between ranks, hence two sources: the order of layouts must not.
        order, rng = random.Random(seed), random.Random(f"pages {seed}")
        pools = [Pool(store) for store in self.stores]
        vacant = list(range(len(self.buffers.memory)))
        while True:
            for choices in plan:
                index = order.choices([number for number, _ in choices], [weight for _, weight in choices])[0]
                while not vacant or self._returned.poll():
                    vacant.append(self._heard(self._returned))
                buffer, pool = vacant.pop(0), pools[index]
                chosen = pool.choose(rng, lambda: self._stay(0.002))
                width = self.buffers.fill(buffer, pool.store, chosen)
                done, shown_again = pool.release(chosen)
                for slot in done:
                    pool.store.free.put(slot)
                with self._vacant.get_lock():
                    self._vacant[index] += len(done)
                self._fill.send(Filled(index, buffer, width, shown_again))


def _exercise(maker: PageMaker, layout: Layout, rng: random.Random) -> Exercise:
    """An example for a layout. One that fails, as when a font fails on one string, is told of and drawn anew."""
    for _ in range(_MOST_FAILED - 1):
        try:
            return maker.exercise(layout.task, layout.kinds(rng))
        except (ValueError, OSError, ZeroDivisionError, OverflowError):
            traceback.print_exc()
    return maker.exercise(layout.task, layout.kinds(rng))
