"""The sheet of models: what is here, what can be had, and its way here."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from uocr import models
from uocr.errors import UocrError

from leggio.look.told import Told, told
from leggio.look.units import bytes_text, duration_text
from leggio.models.pull import Puller, PullState, SizeQuestion, was_stopped

FULL_MODEL = models.PUBLISHED
ABOUT_BYTES = 6_700_000_000
"""Bytes of the full model's checkpoint as far as anyone knows without asking its hub."""
PROFILES = ("q4", "q8", "f16")


class ModelSheet(QDialog):
    """Opened from the menu; a pull goes on when the sheet is closed."""

    use_wanted = Signal(str, str)
    """(model, quantisation)."""

    def __init__(
        self, current: str, puller: Puller | None = None, parent: QWidget | None = None, *, reads: str = ""
    ) -> None:
        """reads: what is to be said of the languages of the model in use."""
        super().__init__(parent)
        self.setWindowTitle(self.tr("Models"))
        self._current = current
        self.puller = puller
        self._checkpoint, self._size_is_known = ABOUT_BYTES, False
        self._list = QListWidget(self)
        self._list.setAccessibleName(self.tr("Models on this machine"))
        self._list.setUniformItemSizes(True)
        self._use = QPushButton(self.tr("Use"), self)
        self._remove = QPushButton(self.tr("Remove…"), self)
        line = QHBoxLayout()
        line.addWidget(self._remove)
        line.addStretch(1)
        line.addWidget(self._use)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        box = QVBoxLayout(self)
        box.setContentsMargins(20, 18, 20, 16)
        box.setSpacing(12)
        box.addWidget(QLabel(self.tr("On this machine"), self))
        box.addWidget(self._list, 1)
        box.addLayout(line)
        if reads:
            box.addWidget(_wrapped(reads, self))
        box.addSpacing(6)
        box.addWidget(self._get_box())
        box.addWidget(buttons)
        self._list.itemSelectionChanged.connect(self._update)
        self._use.clicked.connect(self._use_chosen)
        self._remove.clicked.connect(self._ask_remove)
        self.refresh()
        self._question = SizeQuestion(FULL_MODEL)
        self._question.answered.connect(self._size_known)
        if puller is not None:
            self._watch(puller)
        else:
            self._question.put()
        self._update()
        self.setMinimumWidth(max(560, self.sizeHint().width()))

    def _get_box(self) -> QGroupBox:
        group = QGroupBox(self.tr("Get the full model: {0}").format(FULL_MODEL), self)
        words = _wrapped(
            self.tr(
                "Reads many languages, tables, formulas and handwriting. Fetched once, then used without a network."
            ),
            group,
        )
        self._profile = QComboBox(group)
        self._profile.setAccessibleName(self.tr("Quantisation"))
        self._profile.setToolTip(
            self.tr("How finely the model's numbers are kept: q4 is smallest and fastest, f16 closest to the original")
        )
        for profile in PROFILES:
            self._profile.addItem(profile, profile)
        self._get = QPushButton(self.tr("Get"), group)
        self._pause = QPushButton(self.tr("Pause"), group)
        self._stop = QPushButton(self.tr("Stop"), group)
        self._disk = QLabel(group)
        self._disk.setWordWrap(True)
        self._bar = QProgressBar(group)
        self._bar.setMaximum(1000)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of the download"))
        line = QHBoxLayout()
        for part in (self._profile, self._get, self._pause, self._stop):
            line.addWidget(part)
        line.addStretch(1)
        inside = QVBoxLayout(group)
        inside.setContentsMargins(16, 14, 16, 14)
        inside.setSpacing(10)
        inside.addWidget(words)
        inside.addLayout(line)
        inside.addWidget(self._bar)
        inside.addWidget(self._disk)
        self._get.clicked.connect(self._start)
        self._pause.clicked.connect(self._pause_or_go)
        self._stop.clicked.connect(self._stop_pull)
        self._profile.currentIndexChanged.connect(self._tell_disk)
        self._tell_sizes()
        return group

    # -- what is here --------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look again at what is installed."""
        self._list.clear()
        self._add(self.tr("Built-in model: clean printed Latin text"), models.BUILT_IN, "")
        for entry in models.installed():
            self._add(f"{entry.name} · {entry.profile} · {bytes_text(entry.file_bytes)}", entry.name, entry.profile)
        self._list.setCurrentRow(0)

    def _add(self, words: str, name: str, profile: str) -> None:
        if f"{name} {profile}".strip() == self._current.strip():
            words = self.tr("{0} (in use)").format(words)
        item = QListWidgetItem(words)
        item.setData(Qt.ItemDataRole.UserRole, (name, profile))
        item.setSizeHint(QSize(0, self._list.fontMetrics().lineSpacing() + 14))
        self._list.addItem(item)

    def _chosen(self) -> tuple[str, str]:
        items = self._list.selectedItems()
        return items[0].data(Qt.ItemDataRole.UserRole) if items else (models.BUILT_IN, "")

    def _use_chosen(self) -> None:
        name, profile = self._chosen()
        self._current = f"{name} {profile}"
        self.use_wanted.emit(name, profile)
        self.refresh()

    def _ask_remove(self) -> None:
        name, profile = self._chosen()
        answer = QMessageBox.question(
            self,
            self.tr("Remove model"),
            self.tr("Remove {0} {1} from this machine? It can be fetched again.").format(name, profile),
        )
        if answer == QMessageBox.StandardButton.Yes:
            try:
                freed = models.remove(name, profile or None)
                self._say(self.tr("{0} are free again.").format(bytes_text(freed)))
            except UocrError as error:
                self._say(told(error, name))
            if f"{name} {profile}" == self._current:
                self.use_wanted.emit(models.BUILT_IN, "")
            self.refresh()

    def _update(self) -> None:
        name, profile = self._chosen()
        self._remove.setEnabled(name != models.BUILT_IN)
        self._use.setEnabled(f"{name} {profile}".strip() != self._current.strip())
        running = self.puller is not None
        self._get.setVisible(not running)
        self._profile.setEnabled(not running)
        self._pause.setVisible(running)
        self._stop.setVisible(running)
        self._bar.setVisible(running)

    # -- getting one ---------------------------------------------------------------------------------------

    def _size_known(self, checkpoint: int) -> None:
        """The hub has said how large the checkpoint is."""
        self._checkpoint, self._size_is_known = checkpoint, True
        if self.puller is None:
            self._tell_sizes()

    def _tell_sizes(self) -> None:
        for row, profile in enumerate(PROFILES):
            size = bytes_text(models.model_bytes(self._checkpoint, profile))
            self._profile.setItemText(row, self.tr("{0}: about {1} when done").format(profile, size))
        self._tell_disk()

    def _tell_disk(self) -> None:
        arrived = models.arrived_bytes(FULL_MODEL)
        needed = models.room_needed(self._checkpoint, self._profile.currentData(), arrived)
        folder: Path = models.cache_folder()
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        free = shutil.disk_usage(folder).free
        exact = self.tr("Downloads {0}; needs {1} of disk for a while, {2} are free.")
        about = self.tr("Downloads about {0}; needs about {1} of disk for a while, {2} are free.")
        words = (exact if self._size_is_known else about).format(
            bytes_text(self._checkpoint), bytes_text(needed), bytes_text(free)
        )
        if arrived:
            words += " " + self.tr("{0} of it are here already: Get goes on from there.").format(bytes_text(arrived))
        if free < needed:
            words += " " + self.tr("That is not enough: make room first.")
        self._say(words)

    def _say(self, words: str | Told) -> None:
        """One line about the download, with the exact words on hover where they are translated."""
        self._disk.setText(str(words))
        self._disk.setToolTip(words.detail if isinstance(words, Told) else "")

    def _start(self) -> None:
        self._watch(Puller(FULL_MODEL, self._profile.currentData(), self.parent()))
        assert self.puller is not None
        self.puller.start()
        self._say(self.tr("Asking for the list of files…"))
        self._update()

    def _watch(self, puller: Puller) -> None:
        self.puller = puller
        puller.told.connect(self._told)
        puller.done.connect(self._done)
        puller.failed.connect(self._failed)
        self._pause.setText(self.tr("Resume") if puller.paused else self.tr("Pause"))

    def _told(self, state: PullState) -> None:
        self._bar.setValue(round(1000 * state.done / max(1, state.total)))
        done, total = bytes_text(state.done), bytes_text(state.total)
        words = (
            self.tr("Downloading: {0} of {1}") if state.stage == "download" else self.tr("Converting: {0} of {1}")
        ).format(done, total)
        if state.left_s is not None:
            words += self.tr(", about {0} left").format(duration_text(state.left_s))
        self._say(words)

    def _stop_pull(self) -> None:
        if self.puller is not None:
            self.puller.stop()

    def _pause_or_go(self) -> None:
        if self.puller is None:
            return
        if self.puller.paused:
            self.puller.resume()
            self._pause.setText(self.tr("Pause"))
        else:
            self.puller.pause()
            self._pause.setText(self.tr("Resume"))
            self._say(self.tr("Paused. What was downloaded is kept, also when you quit."))

    def _done(self, path: Path) -> None:
        profile = self.puller.profile if self.puller else ""
        self.puller = None
        self.refresh()
        self._update()
        self._say(self.tr("{0} {1} is ready. Choose it above and press Use.").format(FULL_MODEL, profile))

    def _failed(self, error: UocrError) -> None:
        self.puller = None
        self._update()
        stopped = self.tr("Stopped. What was downloaded is kept; Get goes on from there.")
        self._say(stopped if was_stopped(error) else told(error, FULL_MODEL))


def _wrapped(words: str, parent: QWidget) -> QLabel:
    """A label that goes on in another line where it must."""
    label = QLabel(words, parent)
    label.setWordWrap(True)
    return label
