"""The QApplication: appearance, language, and files that the system hands over before there is a window."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QLibraryInfo, QLocale, QSocketNotifier, Qt, QTranslator
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from leggio.look.colours import box_palette, dark_palette, light_palette

TRANSLATIONS = Path(__file__).parent / "translations"


class LeggioApplication(QApplication):
    """Queues `QEvent.FileOpen` until somebody takes files."""

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(list(arguments))
        self.setApplicationName("Leggio")
        self.setOrganizationName("Leggio")
        self.setOrganizationDomain("leggio.app")
        self.setApplicationDisplayName("Leggio")
        self._queued: list[Path] = []
        self._take: Callable[[list[Path]], None] | None = None
        self._appearance = "system"
        self._translators: list[QTranslator] = []
        self.styleHints().colorSchemeChanged.connect(lambda _: self.set_appearance(self._appearance))

    # -- files from Finder and the Dock --------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            path = Path(event.file())
            if self._take is None:
                self._queued.append(path)
            else:
                self._take([path])
            return True
        return super().event(event)

    def deliver_files_to(self, take: Callable[[list[Path]], None]) -> None:
        """From now on `take` gets files as they come; those that waited come at once."""
        self._take = take
        if self._queued:
            queued, self._queued = self._queued, []
            take(queued)

    # -- signals of the system ---------------------------------------------------------------------------------

    def quit_on_signals(self, leave: Callable[[], object]) -> None:
        """Ctrl-C in the terminal and a polite kill end the program as its menu would, without asking."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        signal.set_wakeup_fd(theirs.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        notifier = QSocketNotifier(ours.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(lambda: (ours.recv(64), leave()))
        self._signals = (ours, theirs, notifier)

    # -- looks and language --------------------------------------------------------------------------------

    def set_appearance(self, appearance: str) -> None:
        """ "system", "light" or "dark". On macOS the system's own style does it all."""
        self._appearance = appearance
        schemes = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        wanted = schemes.get(appearance, Qt.ColorScheme.Unknown)
        if sys.platform == "darwin":
            self.styleHints().setColorScheme(wanted)
            return
        if self.style().objectName().lower() != "fusion":
            self.setStyle("Fusion")
        scheme = wanted if wanted != Qt.ColorScheme.Unknown else self.styleHints().colorScheme()
        palette = dark_palette() if scheme == Qt.ColorScheme.Dark else light_palette()
        self.setPalette(palette)
        for kind in ("QCheckBox", "QRadioButton"):
            self.setPalette(box_palette(palette), kind)

    def set_language(self, language: str) -> bool:
        """ "system", "en" or "it"; whether a translation is in use now. Qt's own words and the numbers go with it."""
        for translator in self._translators:
            self.removeTranslator(translator)
        self._translators = []
        name = QLocale.system().name().split("_")[0] if language == "system" else language
        QLocale.setDefault(QLocale.system() if language == "system" else QLocale(name))
        found = name != "en" and self._install(f"leggio_{name}", str(TRANSLATIONS))
        if found:
            self._install(f"qtbase_{name}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
        return found

    def _install(self, name: str, folder: str) -> bool:
        translator = QTranslator(self)
        if not translator.load(name, folder):
            return False
        self._translators.append(translator)
        return self.installTranslator(translator)
