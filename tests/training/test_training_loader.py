"""Batches from other processes: they hold what was made, stay as they are while in use, and no process is missed or
left behind. On a machine with a GPU the same is asked of batches on it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training import assembly  # noqa: E402
from training.assembly import Filled, Pool  # noqa: E402
from training.loader import Batch, Loader  # noqa: E402
from training.pages import Exercise, Kind, Sample  # noqa: E402
from training.pages.views import SLOTS  # noqa: E402
from training.slots import Layout, Store  # noqa: E402
from training.smoke import smoke_pack  # noqa: E402
from training.targets import Task  # noqa: E402

CPU = torch.device("cpu")
PLAIN = Layout(None, 2, 12, (1.0,))
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU for PyTorch")),
]


def page(number: int, tiles: int = 0) -> Sample:
    """A page of noise; level and rectangle tell its number."""
    noise = np.random.default_rng(number)

    def draw(*shape: int) -> Any:
        return noise.integers(0, 256, shape, np.uint8)

    return Sample(
        view=draw(1024, 1024),
        rect=(number, 2 * number, 3 * number, 4 * number),
        tiles=draw(tiles, 640, 640) if tiles else None,
        ids=np.zeros(0, np.int16),
        places=draw(0, 2),
        labels=draw(64, 64, SLOTS),
        tile_labels=draw(tiles, 40, 40, SLOTS) if tiles else None,
        blocks=[],
        level=number,
    )


def example(number: int, layout: Layout, length: int = 70) -> Exercise:
    tiles = layout.grid[0] * layout.grid[1] if layout.grid else 0
    pages = [page(number * 10 + part, tiles) for part in range(layout.together)]
    places = np.random.default_rng(number).integers(0, 64, (length, 2), np.uint8)
    return Exercise(pages, (number % 999 + np.arange(length)).astype(np.int16), places, 5 if number % 2 else 0)


class Maker:
    """In place of PageMaker: makes nearly empty pages as fast as they are taken."""

    def __init__(self, pack: Path, split: str, seed: int) -> None:
        self.made = seed * 100

    def exercise(self, task: Task, kinds: list[Kind]) -> Exercise:
        self.made += 1
        return example(self.made, Layout(kinds[0].grid, 1, 1, (1.0,), task=task, together=len(kinds)))


class Broken(Maker):
    def exercise(self, task: Task, kinds: list[Kind]) -> Exercise:
        raise KeyError("no such page")


Start = Callable[..., Loader]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts loaders, without page makers if not said otherwise, and ends them."""
    begun: list[Loader] = []

    def started(layouts: list[Layout], workers: int = 0, buffers: int = 6) -> Loader:
        begun.append(Loader(tmp_path, layouts, workers, 1, buffers))
        return begun[-1]

    yield started
    for loader in begun:
        loader.close()


def put(store: Store, *exercises: Exercise) -> None:
    """What page makers do: fill free slots."""
    for exercise in exercises:
        slot = store.free.get()
        store.put(slot, exercise)
        store.ready.put(slot)


LAYOUTS = [
    Layout(None, 3, 3, (1.0,)),
    Layout((2, 3), 2, 2, (1.0,)),
    Layout(None, 2, 2, (1.0,), task=Task.SEVERAL, together=3),
    Layout((1, 2), 2, 2, (1.0,), task=Task.LOCATE),
]


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_is_what_was_made_from_short_to_long(start: Start, device: str) -> None:
    loader = start(LAYOUTS)
    lengths = (130, 64, 1)
    made = [
        [example(10 * number + row, layout, lengths[row]) for row in range(layout.pages)]
        for number, layout in enumerate(LAYOUTS)
    ]
    for store, exercises in zip(loader.assembly.stores, made, strict=True):
        put(store, *exercises)
    loader.begin([[(number, 1.0)] for number in range(len(LAYOUTS))], torch.device(device), 1)
    for layout, exercises in zip(LAYOUTS, made, strict=True):
        batch, exercises = loader.next(), exercises[::-1]
        pages = [page for exercise in exercises for page in exercise.pages]
        assert batch.grid == layout.grid and batch.task is layout.task and batch.together == layout.together
        assert batch.view.device.type == device and batch.length.tolist() == [len(e.ids) for e in exercises]
        assert batch.asked is not None and batch.asked.tolist() == [e.asked for e in exercises]
        assert batch.ids.shape == (layout.pages, 192) and batch.places.shape == (layout.pages, 192, 2)
        for row, exercise in enumerate(exercises):
            assert np.array_equal(batch.ids[row, : len(exercise.ids)].cpu(), exercise.ids)
            assert np.array_equal(batch.places[row, : len(exercise.ids)].cpu(), exercise.places)
        assert np.array_equal(batch.view.cpu(), np.stack([page.view for page in pages]))
        assert np.array_equal(batch.labels.cpu(), np.stack([page.labels for page in pages]))
        assert batch.rect.tolist() == [list(page.rect) for page in pages]
        assert batch.level.tolist() == [page.level for page in pages]
        for found, wanted in ((batch.tiles, "tiles"), (batch.tile_labels, "tile_labels")):
            assert (found is None) == (layout.grid is None)
            if found is not None:
                assert np.array_equal(found.cpu(), np.stack([getattr(page, wanted) for page in pages]))


def test_rows_are_padded_to_the_next_multiple_of_64(start: Start) -> None:
    layout = Layout(None, 1, 1, (1.0,))
    loader = start([layout])
    loader.begin([[(0, 1.0)]], CPU, 1)
    for length, width in ((1, 64), (64, 64), (65, 128), (2560, 2560)):
        put(loader.assembly.stores[0], example(3, layout, length))
        assert loader.next().ids.shape == (1, width)


@pytest.mark.parametrize("device", DEVICES)
def test_batches_stay_as_they_are_while_others_are_made(
    start: Start, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr(assembly, "PageMaker", Maker)
    loader = start([PLAIN], workers=2, buffers=2)
    loader.begin([[(0, 1.0)]], torch.device(device), 1)
    held = [loader.next() for _ in range(8)]
    for batch in held:
        for row, number in enumerate(batch.level.tolist()):
            assert np.array_equal(batch.view[row].cpu(), page(number).view)
    assert loader.made.value >= 10


def test_a_buffer_is_filled_anew_only_when_it_was_given_back(start: Start) -> None:
    loader = start([PLAIN], buffers=3)
    put(loader.assembly.stores[0], *(example(number, PLAIN) for number in range(12)))
    loader.begin([[(0, 1.0)]], CPU, 1)
    found = [loader.assembly.filled(20) for _ in range(3)]
    filled = [each for each in found if each is not None]
    assert [each.buffer for each in filled] == [0, 1, 2]

    def levels(each: Filled) -> list[int]:
        return loader.assembly.buffers.arrays(each.buffer, PLAIN, each.width)["pages"][:, 0, 4].tolist()

    before = [levels(each) for each in filled]
    assert len({level for some in before for level in some}) == 6
    assert loader.assembly.filled(0.3) is None, "all buffers are in use"
    loader.assembly.give_back(1)
    fourth = loader.assembly.filled(20)
    assert fourth is not None and fourth.buffer == 1
    assert [levels(each) for each in filled if each.buffer != 1] == [before[0], before[2]]


def test_buffers_go_back_once_their_copies_have_ended(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    loader, given, ended = start([PLAIN]), list[int](), {4}
    monkeypatch.setattr(loader.assembly, "give_back", given.append)
    for buffer in (4, 2, 5):
        event: Any = SimpleNamespace(query=lambda buffer=buffer: buffer in ended)
        loader._sending.append((event, buffer))
    ended.add(5)
    loader._return_buffers()
    assert given == [4], "copies end in the order in which they were begun"
    ended.add(2)
    loader._return_buffers()
    assert given == [4, 2, 5] and not loader._sending


def awake() -> None:
    raise AssertionError("pages are there: nothing to wait for")


def test_pages_are_shown_again_while_none_are_made_and_never_a_third_time() -> None:
    store = Store(PLAIN)
    pool, rng = Pool(store), random.Random(1)
    put(store, *(example(number, PLAIN) for number in range(8)))
    shown, again = Counter[int](), 0
    for _ in range(4):
        chosen = pool.choose(rng, awake)
        shown.update(chosen)
        again += pool.release(chosen)[1]
    assert sum(shown.values()) == 8 and max(shown.values()) == 2 and again == sum(n - 1 for n in shown.values())


def test_no_page_is_shown_again_while_new_ones_are_there() -> None:
    store = Store(Layout(None, 2, 30, (1.0,)))
    pool, rng = Pool(store), random.Random(1)
    put(store, *(example(number, PLAIN) for number in range(30)))
    shown = set[int]()
    for _ in range(13):
        chosen = pool.choose(rng, awake)
        assert not shown & set(chosen) and pool.release(chosen)[1] == 0
        shown.update(chosen)
    pool.choose(rng, awake)
    assert len(pool.again) == 2, "only four new ones are left to choose among six"


def test_slots_come_back_to_the_page_makers(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "PageMaker", Maker)
    loader = start([PLAIN, LAYOUTS[2]], workers=1)
    loader.begin([[(0, 1.0)], [(1, 1.0)]], CPU, 1)
    shown = Counter(number for _ in range(30) for number in loader.next().level.tolist())
    assert loader.made.value > 30 and max(shown.values()) <= 2


def test_ranks_draw_the_same_order_of_layouts_however_many_pages_they_have(start: Start) -> None:
    layouts = [Layout(None, 1, 40, (1.0,))] * 3
    orders = []
    for made in (7, 40):
        loader = start(layouts, buffers=20)
        for store in loader.assembly.stores:
            put(store, *[example(1, PLAIN)] * made)
        loader.begin([[(0, 1.0), (1, 1.0), (2, 1.0)]], CPU, 5)
        found = [loader.assembly.filled(20) for _ in range(12)]
        orders.append([each.layout for each in found if each is not None])
    assert orders[0] == orders[1] and len(orders[0]) == 12 and set(orders[0]) == {0, 1, 2}


def test_a_page_maker_that_dies_is_told_of_at_once(
    start: Start, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(assembly, "PageMaker", Broken)
    loader = start([PLAIN], workers=1)
    loader.begin([[(0, 1.0)]], CPU, 1)
    with pytest.raises(SystemExit, match=r"page maker 0 ended with exit code 1 .* after 0 pages; stderr tells why"):
        loader.next()
    assert "KeyError: 'no such page'" in capfd.readouterr().err


def test_an_assembler_that_is_killed_is_told_of_even_when_a_batch_is_there(start: Start) -> None:
    loader = start([PLAIN])
    put(loader.assembly.stores[0], *(example(number, PLAIN) for number in range(12)))
    loader.begin([[(0, 1.0)]], CPU, 1)
    loader.next()
    assembler = loader.assembly._processes[0]
    assert assembler.pid is not None
    os.kill(assembler.pid, signal.SIGKILL)
    assembler.join()
    with pytest.raises(SystemExit, match="the assembler of batches ended with exit code -9"):
        loader.next()


def test_a_leg_without_pages_is_given_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.loader._PATIENCE", 0.1)
    loader = start([PLAIN])
    loader.begin([[(0, 1.0)]], CPU, 1)
    with pytest.raises(SystemExit, match="no batch came for 0 s, 0 pages were made so far"):
        loader.next()


def test_a_page_that_fails_is_made_anew_but_not_without_end(capfd: pytest.CaptureFixture[str]) -> None:
    tries = 0

    def exercise(task: Task, kinds: list[Kind]) -> Exercise:
        nonlocal tries
        tries += 1
        if tries < fine_at:
            raise OSError(f"font fails {tries}")
        return example(1, PLAIN)

    maker: Any = SimpleNamespace(exercise=exercise)
    fine_at = 20
    assert assembly._exercise(maker, PLAIN, random.Random(1)).pages
    assert "font fails 19" in capfd.readouterr().err
    tries, fine_at = 0, 1000
    with pytest.raises(OSError, match="font fails 20"):
        assembly._exercise(maker, PLAIN, random.Random(1))


def test_close_leaves_no_process(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "PageMaker", Maker)
    loader = start([PLAIN], workers=2)
    loader.begin([[(0, 1.0)]], CPU, 1)
    loader.next()
    processes = loader.assembly._processes
    assert len(processes) == 3 and all(process.is_alive() for process in processes)
    loader.close()
    assert not any(process.is_alive() for process in processes)


@pytest.mark.parametrize("begun", [False, True])
def test_no_process_outlives_a_trainer_that_is_killed(tmp_path: Path, begun: bool) -> None:
    """They hold its output open as long as they live."""
    script = f"""
import os, sys, torch
from pathlib import Path
from training.loader import Loader
from training.slots import Layout
loader = Loader(Path(sys.argv[1]), [Layout(None, 1, 6, (1.0,))], 1, 1)
if {begun}:
    loader.begin([[(0, 1.0)]], torch.device("cpu"), 1)
    loader.next()
print("begun", flush=True)
os.kill(os.getpid(), 9)
"""
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", script, str(smoke_pack(tmp_path / "pack"))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == -signal.SIGKILL and run.stdout == "begun\n" and "Traceback" not in run.stderr


def test_a_batch_on_the_cpu_is_there_at_once() -> None:
    empty = torch.zeros(1)
    batch = Batch(empty, empty, None, empty, empty, empty, None, empty, empty, None)
    assert batch.arrived() is batch
