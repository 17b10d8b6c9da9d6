"""The Markdown of the page, as it would be exported."""

from __future__ import annotations

from PySide6.QtGui import QFontDatabase, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from uocr.document import Block
from uocr.export.content import parts_of
from uocr.export.markdown import part_markdown


def block_markdown(block: Block) -> str:
    """One block as Markdown, without a line end."""
    return "\n\n".join(part_markdown(part) for part in parts_of(block)[0])


LONGEST = 8_000
"""Characters of a block that stream into the source."""


class SourceView(QPlainTextEdit):
    """Read only; grows at its end while the page is read."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.document().setDocumentMargin(18)
        self.setAccessibleName(self.tr("Markdown of the page"))
        self._start = 0
        self._count = 0
        self._grown = 0

    def clear_blocks(self) -> None:
        self.clear()
        self._start = self._count = 0

    def begin(self, label: str) -> None:
        cursor = self._end()
        if self._count:
            cursor.insertText("\n\n")
        self._count += 1
        self._start = cursor.position()
        self._grown = 0

    def grow(self, text: str) -> None:
        """Qt lays a paragraph out anew with every piece: past `LONGEST` the rest waits for the block's end."""
        self._grown += len(text)
        if self._grown <= LONGEST:
            self._end().insertText(text)

    def end(self, block: Block) -> None:
        """The last block is complete: what was streamed becomes its Markdown."""
        markdown = block_markdown(block)
        cursor = self._end()
        cursor.setPosition(self._start, QTextCursor.MoveMode.KeepAnchor)
        if cursor.selectedText().replace("\u2029", "\n") != markdown:
            cursor.insertText(markdown)

    def add(self, block: Block) -> None:
        self.begin(block.label)
        self.end(block)

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor
