"""The ways in that a person starts: dialogs, paste, drop, the sample."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from PySide6.QtCore import QMimeData, QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit

from leggio.pages.items import PageItem
from leggio.sources.incoming import from_mime
from leggio.sources.samples import sample_page

if TYPE_CHECKING:
    from leggio.window.main_window import MainWindow


class Intake(QObject):
    """Belongs to the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._folder = Path.home()
        self._pictures = itertools.count(1)

    def choose_files(self) -> None:
        from uocr.sources.expand import SUFFIXES  # brings the PDF library, which starting must not wait for

        patterns = " ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
        kinds = self.tr("Pictures and PDFs ({0});;All files (*)").format(patterns)
        names, _ = QFileDialog.getOpenFileNames(self._window, self.tr("Open"), str(self._folder), kinds)
        if names:
            self._folder = Path(names[0]).parent
            self._window.open_inputs([Path(n) for n in names])

    def choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self._window, self.tr("Open folder"), str(self._folder))
        if name:
            self._folder = Path(name)
            self._window.open_inputs([Path(name)])

    def open_sample(self) -> None:
        sample = sample_page()
        if sample is None:
            words = self.tr("The sample pages are missing from this installation.")
            self._window.desk.notice.tell(words, "warn")
        else:
            self._window.open_inputs([sample])

    def paste(self) -> None:
        self.take(QGuiApplication.clipboard().mimeData(), self.tr("Pasted picture"))

    def take(self, data: QMimeData, picture_name: str) -> bool:
        """Open what `data` holds; whether there was anything. A refusal is told in the window."""
        incoming = from_mime(data)
        if not incoming.inputs:
            self._window.desk.notice.tell(incoming.refused, "warn")
            return False
        for each in incoming.inputs:
            if isinstance(each, Image.Image):
                each.info["name"] = f"{picture_name} {next(self._pictures)}"
        self._window.open_inputs(incoming.inputs)
        return True

    def ask_password(self, item: PageItem) -> None:
        """Open an encrypted document again, with a password."""
        words = self.tr("Password for {0}").format(item.document.name)
        title, hidden = self.tr("Encrypted PDF"), QLineEdit.EchoMode.Password
        password, given = QInputDialog.getText(self._window, title, words, hidden)
        if given and password:
            source = item.document.input
            self._window.page_actions.remove([i for i in self._window.model.items if i.document is item.document])
            self._window.open_inputs([source], password=password)
