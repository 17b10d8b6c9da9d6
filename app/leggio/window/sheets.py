"""The dialogs that the menus open, and what their answers change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QFileDialog
from uocr.errors import Cancelled, UocrError

from leggio.history.dialog import HistoryDialog
from leggio.settings.dialog import ReadWithDialog, SettingsDialog
from leggio.sources.capture import ScreenCapture
from leggio.window.about import AboutDialog, save_diagnostics

if TYPE_CHECKING:
    from leggio.models.pull import Puller
    from leggio.window.main_window import MainWindow


class Sheets(QObject):
    """Belongs to the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._puller: Puller | None = None
        self._capture = ScreenCapture(self)
        self._capture.captured.connect(lambda path: window.open_inputs([path]))
        self._capture.refused.connect(self._capture_refused)

    def _capture_refused(self, words: str) -> None:
        if words:  # empty: the person gave it up
            self._window.desk.notice.tell(words, "warn")

    def capture(self) -> None:
        self._capture.start()

    def settings(self) -> None:
        dialog = SettingsDialog(self._window.store, self._window)
        if self._run(dialog) and dialog.engine_changed:
            self._window.open_engine()

    def read_with(self) -> None:
        """Read the chosen pages with settings of their own."""
        items = self._window.pages.selected_items()
        if not items:
            return
        settings = self._window.store.read.with_changes(
            {k: v for k, v in items[0].settings.items() if k not in ("rotate", "region", "password")}
        )
        dialog = ReadWithDialog(settings, len(items), self._window)
        if self._run(dialog):
            for item in items:
                item.settings = item.settings | dialog.changes
            self._window.presenter.reload()
            self._window.session.read(items)

    def history(self) -> None:
        dialog = HistoryDialog(self._window.keeper.history, self._window)
        dialog.open_wanted.connect(self._window.resume.open_past)
        self._run(dialog)

    def models(self) -> None:
        """The sheet of models; a download goes on when it is closed."""
        from leggio.models.sheet import (
            ModelSheet,
        )  # brings the hub's client along, which starting must not wait for

        window = self._window.store.window
        sheet = ModelSheet(f"{window.model} {window.quant}", self._puller, self._window)
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
        self._window.desk.notice.tell(words, "info", [(self.tr("Models…"), self.models)])

    def _pull_failed(self, error: UocrError) -> None:
        self._puller = None
        if not isinstance(error, Cancelled):
            self._window.desk.notice.tell(str(error), "warn", [(self.tr("Models…"), self.models)])

    def _run(self, dialog: QDialog) -> bool:
        """Show a dialog and wait; whether it was accepted. It is gone afterwards."""
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        return accepted

    def _use(self, model: str, quant: str) -> None:
        self._window.store.set_window(model=model, quant=quant)
        self._window.open_engine()

    def close(self) -> None:
        """Stop a download; what arrived is kept."""
        if self._puller is not None:
            self._puller.stop()
            self._puller.wait()

    def about(self) -> None:
        self._run(AboutDialog(self._window.session.facts, self._window))

    def diagnostics(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self._window,
            self.tr("Save diagnostics file"),
            str(Path.home() / "leggio-diagnostics.json"),
            "*.json",
        )
        if not name:
            return
        try:
            save_diagnostics(Path(name), self._window.session.facts, self._window.store)
        except OSError as error:
            self._window.desk.notice.tell(
                self.tr("{0} could not be written: {1}. Choose another folder.").format(
                    Path(name).name, error.strerror
                ),
                "bad",
            )
        else:
            self._window.desk.notice.tell(
                self.tr("Saved {0}. It holds versions and settings, nothing of your documents.").format(Path(name).name)
            )
