"""The right side: a notice about the page, its text (rendered or as Markdown), find, corrections."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QTextCursor
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget
from uocr.document import Block

from leggio.look.notice import Notice
from leggio.transcript import table_text
from leggio.transcript.editor import BlockEditor
from leggio.transcript.find import FindBar, highlights
from leggio.transcript.formulas import FormulaImages
from leggio.transcript.source import SourceView
from leggio.transcript.view import TranscriptView, find_all

_BLOCKS_A_TURN = 40
"""Finished blocks laid out before the event loop gets its turn."""


class TranscriptPanel(QWidget):
    """Shows the text of one page, finished or streaming."""

    block_pointed = Signal(int)
    block_clicked = Signal(int)
    corrected = Signal(int, str)
    """(block, text)."""

    def __init__(self, picture: Callable[[Block], QImage | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.formulas = FormulaImages(self)
        self.notice = Notice(self)
        self.view = TranscriptView(self.formulas, picture, self)
        self.source = SourceView(self)
        self.find_bar = FindBar(self)
        self.editor = BlockEditor(self.view.viewport())
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.source)
        self._blocks: list[Block] = []
        self._open_label = ""
        self._open: list[str] | None = None
        """Text of the block that streams, None when none does."""
        self._laid_out = 0
        self._scroll: int | None = None
        """Where to scroll to when all blocks are laid out; None: leave it."""
        self._editable = False
        self._found: list[QTextCursor] = []
        self._place = -1
        self._doubt: tuple[int, int] = (-1, -1)
        self._fill = QTimer(self)
        self._fill.setSingleShot(True)
        self._fill.timeout.connect(self._lay_out_some)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.notice)
        box.addWidget(self._stack, 1)
        box.addWidget(self.find_bar)
        self.view.block_pointed.connect(self.block_pointed)
        self.view.block_clicked.connect(self.block_clicked)
        self.view.edit_wanted.connect(self.edit_block)
        self.view.verticalScrollBar().valueChanged.connect(lambda _: self.editor.keep())
        self.editor.finished.connect(self._take)
        self.find_bar.sought.connect(self._seek)
        self.find_bar.stepped.connect(self.step)
        self.find_bar.closed.connect(self._stop_finding)

    # -- a whole page --------------------------------------------------------------------------------------

    def show_blocks(self, blocks: Sequence[Block], *, editable: bool = False) -> None:
        """Show finished blocks; more may stream in behind them."""
        self.editor.drop()
        self._blocks = list(blocks)
        self._editable = editable
        self._open = None
        self._found, self._place, self._doubt = [], -1, (-1, -1)
        self._scroll = None
        self._restart()

    @contextlib.contextmanager
    def place_kept(self) -> Iterator[None]:
        """What is shown inside is scrolled to where the text before it was."""
        place = self._shown.verticalScrollBar().value()
        self._shown.viewport().setUpdatesEnabled(False)  # nobody sees the text go and come back
        try:
            yield
        finally:
            self._shown.viewport().setUpdatesEnabled(True)
        self._scroll = place
        self._scroll_back()

    def _scroll_back(self) -> None:
        """Scroll to the place that is kept, as far as there is text already."""
        if self._scroll is not None:
            self._shown.verticalScrollBar().setValue(self._scroll)
            if not self.filling:
                self._scroll = None

    def set_editable(self, editable: bool) -> None:
        """Whether blocks may be corrected: not while they stream."""
        self._editable = editable

    def _restart(self) -> None:
        self._fill.stop()
        self._laid_out = 0
        if self.shows_source:
            self.source.clear_blocks()
        else:
            self.view.light(-1)
            self.view.writer.clear()
        self._lay_out_some()

    def _lay_out_some(self) -> None:
        stop = min(len(self._blocks), self._laid_out + _BLOCKS_A_TURN)
        for block in self._blocks[self._laid_out : stop]:
            (self.source if self.shows_source else self.view.writer).add(block)
        self._laid_out = stop
        if stop < len(self._blocks):
            self._fill.start(0)
            self._scroll_back()
            return
        self._scroll_back()
        if self._open is not None:
            self._begin_shown("".join(self._open))
        if not self.find_bar.isHidden():
            self._seek(self.find_bar.text)

    @property
    def filling(self) -> bool:
        """Finished blocks are still being laid out."""
        return self._laid_out < len(self._blocks)

    # -- streaming -----------------------------------------------------------------------------------------

    def begin_block(self, label: str) -> None:
        self._open_label = label
        self._open = []
        if not self.filling:
            self._begin_shown("")

    def grow_block(self, text: str) -> None:
        if self._open is None:
            return
        self._open.append(text)
        if not self.filling:
            self._growing(text)

    def end_block(self, block: Block) -> None:
        if self._open is None:
            return
        self._open = None
        filling = self.filling
        self._blocks.append(block)
        if not filling:
            self._laid_out += 1
            follow = self._at_end()
            if self.shows_source:
                self.source.end(block)
            else:
                self.view.writer.end(len(self._blocks) - 1, block)
            self._follow(follow)

    def _begin_shown(self, text: str) -> None:
        follow = self._at_end()
        (self.source if self.shows_source else self.view.writer).begin(self._open_label)
        if text:
            self._growing(text)
        self._follow(follow)

    def _growing(self, text: str) -> None:
        follow = self._at_end()
        (self.source if self.shows_source else self.view.writer).grow(text)
        self._follow(follow)

    def _at_end(self) -> bool:
        bar = self._shown.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def _follow(self, follow: bool) -> None:
        """Keep the end in view for whoever was looking at the end."""
        if follow:
            bar = self._shown.verticalScrollBar()
            bar.setValue(bar.maximum())

    # -- rendered or source --------------------------------------------------------------------------------

    @property
    def shows_source(self) -> bool:
        return self._stack.currentIndex() == 1

    @property
    def _shown(self) -> TranscriptView | SourceView:
        return self.source if self.shows_source else self.view

    def show_source(self, source: bool) -> None:
        if source != self.shows_source:
            self.editor.keep()
            self._stack.setCurrentIndex(1 if source else 0)
            self._restart()

    # -- corrections ---------------------------------------------------------------------------------------

    def edit_block(self, index: int) -> None:
        """Open the editor over block `index`."""
        if self._editable and not self.shows_source and not self.filling and 0 <= index < len(self._blocks):
            self.view.light(index, reveal=True)
            text = self._blocks[index].text
            self.editor.edit(
                index,
                table_text.shown(text),
                self.view.block_rect(index),
                self.view.document().defaultFont(),
                tabs=table_text.is_plain(text),
            )

    def _take(self, index: int, text: str) -> None:
        """Block `index` was corrected in the editor."""
        self.corrected.emit(index, table_text.written(text, self._blocks[index].text))

    def update_block(self, index: int, block: Block) -> None:
        """Block `index` was corrected."""
        self._blocks[index] = block
        if self.shows_source or self.filling:
            self._restart()
        else:
            self.view.writer.replace(index, block)

    # -- find and doubtful words ---------------------------------------------------------------------------

    def open_find(self) -> None:
        self.find_bar.enter(self._shown.textCursor().selectedText())

    def _seek(self, text: str) -> None:
        self._found = find_all(self._shown.document(), text)
        self._place = 0 if self._found else -1
        self._show_place()

    def step(self, by: int) -> None:
        if self._found:
            self._place = (self._place + by) % len(self._found)
            self._show_place()

    def _show_place(self) -> None:
        self.find_bar.tell(self._place + 1, len(self._found))
        marks = highlights(self._found, self._place)
        if self.shows_source:
            self.source.setExtraSelections(marks)
            if self._place >= 0:
                self.source.setTextCursor(QTextCursor(self._found[self._place]))
        else:
            self.view.set_found(marks)
            if self._place >= 0:
                self.view.show_position(self._found[self._place].selectionStart())

    def _stop_finding(self) -> None:
        self._found, self._place = [], -1
        self.source.setExtraSelections([])
        self.view.set_found([])
        self._shown.setFocus(Qt.FocusReason.OtherFocusReason)

    def next_doubtful(self) -> str | None:
        """Select the next word the model was unsure of; the word, or None when there is none."""
        if self.shows_source or self.filling:
            return None
        below = self.view.writer.doubt_below
        doubts = [
            (i, n) for i, block in enumerate(self._blocks) for n, w in enumerate(block.words) if w.confidence < below
        ]
        if not doubts:
            return None
        self._doubt = next((d for d in doubts if d > self._doubt), doubts[0])
        index, number = self._doubt
        word = self._blocks[index].words[number]
        cursor = self.view.writer.find_word(index, number)
        if cursor is not None:
            self.view.setTextCursor(cursor)
            self.view.show_position(cursor.selectionStart())
        self.block_pointed.emit(index)
        return word.text

    # -- Qt's events ---------------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_fill") and not self.shows_source:
            self._restart()
