"""The ways in that a person starts: dialogs, paste, drop, the sample, a password."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QWidget

from leggio.look.notice import Notice
from leggio.look.told import Told
from leggio.pages.items import PageItem
from leggio.pages.opening import Opener
from leggio.settings.store import SettingsStore
from leggio.sources.incoming import from_mime
from leggio.sources.inputs import Input
from leggio.sources.samples import sample_page


class Intake(QObject):
    """Hands inputs to the opener; says in `notice` why something cannot be taken."""

    reopened = Signal(object)
    """DocumentItem whose pages make room: it is opened again, with a password."""

    def __init__(self, opener: Opener, store: SettingsStore, notice: Notice, window: QWidget) -> None:
        super().__init__(window)
        self._opener, self._store, self._notice, self._window = opener, store, notice, window
        self._folder = Path.home()
        self._pictures = itertools.count(1)
        self._refusal = ""
        opener.refused.connect(self._refuse)

    def open(
        self, inputs: Sequence[Input], *, pages: str | None = None, password: str | None = None, show: bool = False
    ) -> None:
        """Look into files, folders and pictures; what the settings say holds where nothing is given.

        `show`: they come from outside the window; the first of their pages is shown, and no notice is taken as read.
        """
        if not show and self._refusal and self._notice.text == self._refusal:
            self._notice.dismiss()  # what others told, such as an offer to go on, stays
        read = self._store.read
        self._opener.open(inputs, pages=pages or read.pages, password=password or read.password, show=show)

    def _refuse(self, words: str | Told) -> None:
        if self._notice.text not in ("", self._refusal):
            self._notice.mention(str(words))  # an offer to go on, say, comes back
            return
        self._notice.tell(words, "warn")
        self._refusal = self._notice.text

    def choose_files(self) -> None:
        from uocr.sources.expand import SUFFIXES  # brings the PDF library, which starting must not wait for

        patterns = " ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
        kinds = self.tr("Pictures and PDFs ({0});;All files (*)").format(patterns)
        names, _ = QFileDialog.getOpenFileNames(self._window, self.tr("Open"), str(self._folder), kinds)
        if names:
            self._folder = Path(names[0]).parent
            self.open([Path(n) for n in names])

    def choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self._window, self.tr("Open folder"), str(self._folder))
        if name:
            self._folder = Path(name)
            self.open([Path(name)])

    def open_sample(self) -> None:
        sample = sample_page()
        if sample is None:
            self._refuse(self.tr("The sample pages are missing from this installation."))
        else:
            self.open([sample])

    def paste(self) -> None:
        self.take(QGuiApplication.clipboard().mimeData(), self.tr("Pasted picture"))

    def take(self, data: QMimeData | None, picture_name: str) -> bool:
        """Open what `data` holds; whether there was anything. A refusal is told in the window."""
        incoming = from_mime(data)
        if not incoming.inputs:
            self._refuse(incoming.refused)
            return False
        for each in incoming.inputs:
            if isinstance(each, Image.Image):
                each.info["name"] = f"{picture_name} {next(self._pictures)}"
        self.open(incoming.inputs)
        return True

    def ask_password(self, item: PageItem) -> None:
        """Open an encrypted document again, with a password."""
        words = self.tr("Password for {0}").format(item.document.name)
        title, hidden = self.tr("Encrypted PDF"), QLineEdit.EchoMode.Password
        password, given = QInputDialog.getText(self._window, title, words, hidden)
        if given and password:
            self.reopened.emit(item.document)
            self.open([item.document.input], password=password)
