"""Pages from worker processes: each stands in at most two batches, and twice only when new ones are late."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training.loader import Batch, Layout, Loader  # noqa: E402
from training.smoke import smoke_pack  # noqa: E402

LAYOUT = Layout(None, 2, 12, (1.0,))


@pytest.fixture
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A loader without workers, whose batches are the numbers of their slots."""

    def gather(self: Loader, index: int, slots: list[int], device: torch.device) -> Any:
        return SimpleNamespace(arrived=lambda: list(slots))

    monkeypatch.setattr(Loader, "_gather", gather)
    loader = Loader(smoke_pack(tmp_path / "pack"), [LAYOUT], 0, 1)
    loader.begin([[(0, 1.0)]], torch.device("cpu"), 1)
    return loader


def make(loader: Loader, count: int) -> None:
    """What workers do: fill free slots."""
    store = loader.stores[0]
    for _ in range(count):
        store.ready.put(store.free.get())


def test_pages_are_shown_again_while_none_are_made_and_never_a_third_time(loader: Any) -> None:
    make(loader, 8)
    shown = Counter(slot for _ in range(4) for slot in loader.next())
    assert sum(shown.values()) == 8 and max(shown.values()) <= 2
    make(loader, 3)
    shown.update(slot for _ in range(3) for slot in loader.next())
    assert loader.shown_again > 0


def test_slots_come_back_to_the_workers(loader: Any) -> None:
    made = 0
    for _ in range(20):  # 40 pages through 12 slots
        while not loader.stores[0].free.empty() and made < 40:
            make(loader, 1)
            made += 1
        assert len(loader.next()) == 2
    assert made >= 20


def test_a_batch_on_the_cpu_is_there_at_once() -> None:
    empty = torch.zeros(1)
    batch = Batch(empty, empty, None, empty, empty, empty, None, empty, empty, None)
    assert batch.arrived() is batch
