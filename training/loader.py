"""Batches on the device: those that the assembler (see training.assembly) lays together in memory, in turn."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from training.assembly import Assembly, Filled, Plan
from training.slots import Layout
from training.targets import Task

_PATIENCE = 300.0
"""Seconds without a batch after which a leg is given up although every process lives."""


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


class Loader:
    """Starts page makers and assembler (before the device is first used: they fork) and yields batches in turn. The
    copies of a batch to the device are begun one batch ahead, on a stream of their own."""

    def __init__(self, pack: Path, layouts: Sequence[Layout], workers: int, seed: int, buffers: int = 6) -> None:
        self.layouts = layouts
        self.assembly = Assembly(pack, layouts, workers, seed, buffers)
        self.made = self.assembly.made
        self.shown_again = 0
        """Pages that stood in a second batch, since new ones were not made fast enough."""
        self._device = torch.device("cpu")
        self._stream: torch.cuda.Stream | None = None
        self._ahead: Batch | None = None
        self._sending: deque[tuple[torch.cuda.Event, int]] = deque()
        """Buffers that are being copied to the device, in the order of their events."""

    def begin(self, plan: Plan, device: torch.device, seed: int) -> None:
        """Have batches made for steps of the given plan."""
        self._device = device
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)
            self._pin()
        self.assembly.begin(plan, seed)

    def _pin(self) -> None:
        """Fix the buffers in memory, so that the device copies them by itself while the host goes on."""
        memory = torch.from_numpy(self.assembly.buffers.memory)
        torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.nbytes, 0)
        if not memory.is_pinned():
            print("buffers of batches cannot be pinned: copies to the device will hold up the host", flush=True)
            with contextlib.suppress(RuntimeError):  # the failure would be reported by the next call to the device
                torch.zeros(1, device=self._device)

    def next(self) -> Batch:
        """The next batch; SystemExit when a process has died, or when no batch came for five minutes."""
        batch, self._ahead = self._ahead or self._send(self._wait()), None
        self._return_buffers()
        following = self.assembly.filled(0)
        if following is not None:
            self._ahead = self._send(following)
        return batch.arrived()

    def _wait(self) -> Filled:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            self._return_buffers()
            filled = self.assembly.filled(0.002 if self._sending else 1.0)
            if filled is not None:
                return filled
        raise SystemExit(f"no batch came for {_PATIENCE:.0f} s, {self.made.value} pages were made so far; leg given up")

    def _return_buffers(self) -> None:
        """Let buffers be filled anew whose copies have ended."""
        while self._sending and self._sending[0][0].query():
            self.assembly.give_back(self._sending.popleft()[1])

    def _send(self, filled: Filled) -> Batch:
        """Begin to copy a batch to the device."""
        layout = self.layouts[filled.layout]
        arrays = self.assembly.buffers.arrays(filled.buffer, layout, filled.width)

        def copied(array: NDArray[Any]) -> Tensor:
            host = torch.from_numpy(array)
            return host.to(self._device, non_blocking=True) if self._stream else host.clone()

        with torch.cuda.stream(self._stream):  # does nothing without a stream
            sent = {name: copied(array) for name, array in arrays.items()}
            meta, pages = sent["meta"].long(), sent["pages"].long().flatten(0, 1)
            batch = Batch(
                view=sent["view"].flatten(0, 1),
                rect=pages[:, :4],
                tiles=sent.get("tiles"),
                ids=sent["ids"],
                places=sent["places"],
                labels=sent["labels"].flatten(0, 1),
                tile_labels=sent.get("tile_labels"),
                length=meta[:, 0],
                level=pages[:, 4],
                grid=layout.grid,
                task=layout.task,
                together=layout.together,
                asked=meta[:, 1],
                sent=self._stream.record_event() if self._stream else None,
            )
        if batch.sent is None:
            self.assembly.give_back(filled.buffer)
        else:
            self._sending.append((batch.sent, filled.buffer))
        self.shown_again += filled.shown_again
        return batch

    def close(self) -> None:
        """End all processes."""
        self.assembly.close()
