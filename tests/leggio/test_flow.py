"""32,000 tokens at 200 a second: one repaint a frame, work that does not grow, memory that does not either
(kind K19).

The clock is fake: a frame is delivered whenever it would be due, so the test takes as long as the work does.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import mean
from types import FrameType
from typing import Any

import pytest
from leggio.pages.items import DocumentItem, PageItem
from leggio.reading.frames import FRAME_S, BlockGrew, Counted, Gatherer
from leggio.reading.pulse import Pulse
from leggio.sources.inputs import open_page
from leggio.transcript.writer import PIECE
from PIL import Image
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from uocr import events
from uocr.control import Control

from .scripted import ScriptedEngine, long_text

TOKENS = 32_000
RATE = 200.0


class PaintCounter(QObject):
    """Counts paint events of a widget."""

    def __init__(self, watched: Any) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.count += 1
        return False


class Calls:
    """Counts Python calls: work that does not depend on how fast this machine is."""

    def __init__(self) -> None:
        self.count = 0

    def _seen(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    def __enter__(self) -> Calls:
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


class Edits(QObject):
    """Counts characters that a text document removed or added: what Qt lays out anew."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self.characters = 0
        document.contentsChange.connect(self._changed)

    def _changed(self, position: int, removed: int, added: int) -> None:
        self.characters += removed + added


class Playback:
    """A window whose frames come when the fake clock says so."""

    def __init__(self, window: Any, picture: Any, text: str) -> None:
        self.window = window
        self.now = 0.0
        document = DocumentItem(picture, "long.png")
        self.item = PageItem(document, 0)
        window.choice.add([self.item])
        self.engine = ScriptedEngine(text, tokens_per_s=RATE, max_new_tokens=TOKENS)
        self.gatherer = Gatherer()
        self.pulse = Pulse(self.gatherer, window, clock=lambda: self.now)
        self.pulse.frame.connect(window.session.take_frame)
        self.frames = 0

    def play(self, around: Callable[[int], AbstractContextManager[Any]]) -> None:
        """Plays to the end; every frame is delivered inside `around(tokens so far)`."""
        due, tokens = FRAME_S, 0
        with open_page(self.item.document.input, "long.png", 0) as source:
            for event in self.engine.stream(source, control=Control()):
                if isinstance(event, events.TextDelta):
                    tokens, self.now = event.count, event.decode_s
                self.gatherer.push(self.item.key, event)
                if self.now >= due or isinstance(event, events.PageFinished):
                    due += FRAME_S
                    with around(tokens):
                        self.pulse.deliver()
                        QApplication.processEvents()
                    self.frames += 1


@pytest.fixture
def playback(make_window, picture, qtbot):
    window = make_window(ScriptedEngine(), read_at_once=False)
    path = picture("long.png")

    def make(text: str) -> Playback:
        play = Playback(window, path, text)
        qtbot.waitUntil(lambda: window.desk.canvas.page_size != (0, 0))
        return play

    return make


def test_a_long_page_takes_one_repaint_a_frame_steady_work_and_flat_memory(playback):
    play = playback(long_text(TOKENS))
    view = play.window.panel.view
    paints, calls, edited = PaintCounter(view.viewport()), Calls(), Edits(view.document())
    most_paints = 0
    work: dict[str, list[tuple[int, int]]] = {"early": [], "late": []}
    memory: dict[int, int] = {}

    @contextmanager
    def around(tokens: int) -> Iterator[None]:
        nonlocal most_paints
        before, edits_before = paints.count, edited.characters
        watched = "early" if 1_000 <= tokens < 2_000 else "late" if 30_000 <= tokens < 31_000 else ""
        with calls if watched else nullcontext():
            yield
        most_paints = max(most_paints, paints.count - before)
        if watched:
            work[watched].append((calls.count, edited.characters - edits_before))
            calls.count = 0
        if tokens >= 1_000 and not memory:
            tracemalloc.start()
            memory[1_000] = 0
        if tokens >= 31_000 and 31_000 not in memory:
            memory[31_000] = window_memory()
            tracemalloc.stop()

    play.play(around)
    assert play.item.page.timings.generated_tokens == TOKENS
    assert play.window.panel.view.toPlainText() == "\n".join(b.text for b in play.item.page.blocks)
    assert play.frames == pytest.approx(TOKENS / RATE * 30, rel=0.05)
    assert most_paints == 1
    early, late = ([mean(column) for column in zip(*work[part], strict=True)] for part in ("early", "late"))
    assert late[0] < early[0] * 1.1 + 20, "Python calls a frame"
    assert late[1] < early[1] * 1.1 + 20, "characters laid out anew a frame"
    # Since the first 1,000 tokens: the text (5 bytes a token) and the list of its 500 blocks, nothing else.
    assert memory[31_000] < 30_000 * 5 + 500 * 400


def test_a_page_without_a_single_break_stays_cheap(playback):
    play = playback(long_text(8_000, paragraph=0))
    edited = Edits(play.window.panel.view.document())
    most = 0

    @contextmanager
    def around(tokens: int) -> Iterator[None]:
        nonlocal most
        before = edited.characters
        yield
        if tokens < 8_000:
            most = max(most, edited.characters - before)

    play.play(around)
    assert most < 200
    block = play.window.panel.view.document().begin()
    lengths = []
    while block.isValid():
        lengths.append(block.length())
        block = block.next()
    assert max(lengths) < PIECE + 200
    assert sum(lengths) > 8_000 * 5 * 0.95


def test_many_events_between_two_frames_become_few_messages():
    gatherer = Gatherer()
    engine = ScriptedEngine(long_text(3_000, paragraph=0))
    with open_page(Image.new("RGB", (60, 80), "white"), "a", 0) as source:
        for event in engine.stream(source):
            gatherer.push(7, event)
    frame = gatherer.take()
    assert len(frame.changes) <= 8
    # 3,000 words of five characters; the parser drops the blank at the end.
    assert sum(len(c.text) for c in frame.changes if isinstance(c, BlockGrew)) == 3_000 * 5 - 1
    assert [c.tokens for c in frame.changes if isinstance(c, Counted)][-1] > 3_000
    assert gatherer.take().changes == []


def test_the_window_is_woken_once_a_frame_not_once_a_token():
    gatherer = Gatherer()
    engine = ScriptedEngine(long_text(500))
    with open_page(Image.new("RGB", (60, 80), "white"), "a", 0) as source:
        woken = [gatherer.push(7, event) for event in engine.stream(source)]
    assert woken.count(True) == 1


def window_memory() -> int:
    """Bytes held by allocations that the window's code made while they were traced."""
    gc.collect()
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/leggio/*")])
    return sum(s.size for s in found.statistics("filename") if "tests" not in s.traceback[0].filename)
