"""The dialogs that the menus open, and what their answers change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget
from uocr.errors import Cancelled, UocrError

from leggio.history.dialog import HistoryDialog
from leggio.history.store import HistoryStore
from leggio.look.languages import languages_text
from leggio.look.notice import Notice
from leggio.look.told import system_reason, told
from leggio.pages.list_view import PageList
from leggio.reading.session import Session
from leggio.settings.dialog import ReadWithDialog, SettingsDialog
from leggio.settings.store import SettingsStore
from leggio.sources.capture import ScreenCapture
from leggio.window.about import AboutDialog, save_diagnostics

if TYPE_CHECKING:
    from leggio.models.pull import Puller
    from leggio.models.sheet import ModelSheet


_LEAVE_S = 2.0
"""How long quitting waits for a download to notice that it is to stop."""


class Sheets(QObject):
    """One method a menu entry; what follows from an answer outside the dialogs is asked for by a signal."""

    files_wanted = Signal(list)
    """Paths that came through a dialog or a screen capture."""
    past_wanted = Signal(object)
    """leggio.history.store.Past to show."""
    engine_wanted = Signal()
    """The settings name another model or its options now: open it."""
    reload_wanted = Signal()
    """Settings of the current page changed."""

    def __init__(
        self,
        store: SettingsStore,
        session: Session,
        pages: PageList,
        history: HistoryStore,
        notice: Notice,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._store, self._session, self._pages, self._history = store, session, pages, history
        self._notice, self._window = notice, window
        self._puller: Puller | None = None
        self._capture = ScreenCapture(self)
        self._capture.captured.connect(lambda path: self.files_wanted.emit([path]))
        self._capture.refused.connect(self._capture_refused)

    def _capture_refused(self, words: str) -> None:
        if words:  # empty: the person gave it up
            self._notice.tell(words, "warn")

    def capture(self) -> None:
        self._capture.start()

    def settings(self) -> None:
        dialog = SettingsDialog(self._store, self._session.front_end, self._window)
        if self._run(dialog) and dialog.engine_changed:
            self.engine_wanted.emit()

    def read_with(self) -> None:
        """Read the chosen pages with settings of their own."""
        items = self._pages.selected_items()
        if not items:
            return
        settings = self._store.read.with_changes(
            {k: v for k, v in items[0].settings.items() if k not in ("rotate", "region", "password")}
        )
        dialog = ReadWithDialog(settings, len(items), self._session.front_end, self._window)
        if self._run(dialog):
            for item in items:
                item.settings = item.settings | dialog.changes
            self.reload_wanted.emit()
            self._session.read(items)

    def history(self) -> None:
        dialog = HistoryDialog(self._history, self._window)
        dialog.open_wanted.connect(self.past_wanted)
        self._run(dialog)

    def model_sheet(self) -> ModelSheet:
        """The sheet of models, which tells the languages of the one that is open."""
        # Brings the hub's client along, which starting must not wait for.
        from leggio.models.sheet import ModelSheet

        window = self._store.window
        reads = languages_text(self._session.front_end)
        return ModelSheet(f"{window.model} {window.quant}", self._puller, self._window, reads=reads)

    def models(self) -> None:
        """Show the sheet of models; a download goes on when it is closed."""
        sheet = self.model_sheet()
        sheet.use_wanted.connect(self._use)
        self._run(sheet)
        if sheet.puller is not None and sheet.puller is not self._puller:
            sheet.puller.done.connect(self._pulled)
            sheet.puller.failed.connect(self._pull_failed)
        self._puller = sheet.puller

    def _pulled(self, path: Path) -> None:
        """A download ended after its sheet was closed."""
        self._puller = None
        words = self.tr("{0} is ready to be used.").format(f"{path.parent.name.replace('--', '/')} {path.stem}")
        self._notice.tell(words, "info", [(self.tr("Models…"), self.models)])

    def _pull_failed(self, error: UocrError) -> None:
        self._puller = None
        if not isinstance(error, Cancelled):
            self._notice.tell(told(error), "warn", [(self.tr("Models…"), self.models)])

    def _run(self, dialog: QDialog) -> bool:
        """Show a dialog and wait; whether it was accepted. It is gone afterwards."""
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        return accepted

    def _use(self, model: str, quant: str) -> None:
        self._store.set_window(model=model, quant=quant)
        self.engine_wanted.emit()

    def close(self) -> None:
        """Stop a download; what arrived is kept."""
        if self._puller is not None:
            self._puller.stop()
            self._puller.wait(_LEAVE_S)

    def about(self) -> None:
        self._run(AboutDialog(self._session.facts, self._window))

    def diagnostics(self) -> None:
        title, suggested = self.tr("Save diagnostics file"), str(Path.home() / "leggio-diagnostics.json")
        name, _ = QFileDialog.getSaveFileName(self._window, title, suggested, "*.json")
        if not name:
            return
        try:
            save_diagnostics(Path(name), self._session.facts, self._store)
        except OSError as error:
            words = self.tr("{0} could not be written: {1}. Choose another folder.")
            reason = system_reason(error) or error.strerror or str(error)
            self._notice.tell(words.format(Path(name).name, reason), "bad")
        else:
            words = self.tr("Saved {0}. It holds versions and settings, nothing of your documents.")
            self._notice.tell(words.format(Path(name).name))
