"""What every test of the window shares. Any Qt warning and any logged error fails a test.

The tests need Qt's shared libraries (Debian: libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1);
without them they are left out, and the header of the run says so.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

try:
    from PySide6 import QtSvg, QtWidgets  # noqa: F401
except ImportError as error:
    _missing = f"the window's tests are left out: {error}"
    collect_ignore_glob = ["test_*.py"]
else:
    _missing = ""


def pytest_report_header() -> list[str]:
    return [_missing] if _missing else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and not _missing:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            # The offscreen platform says this whenever a window gets a size limit; it has no window manager
            # to tell.
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support propagateSizeHints"))


if not _missing:
    from leggio.application import LeggioApplication
    from leggio.settings.store import SettingsStore
    from leggio.window.main_window import MainWindow
    from PIL import Image, ImageDraw
    from PySide6.QtCore import QSettings
    from uocr.errors import DownloadError

    from .scripted import ScriptedEngine

    @pytest.fixture(scope="session")
    def qapp_cls() -> type[LeggioApplication]:
        return LeggioApplication

    @pytest.fixture(scope="session")
    def qapp_args() -> list[str]:
        return ["leggio"]

    @pytest.fixture(scope="session", autouse=True)
    def clipboard_left_empty(qapp: LeggioApplication) -> Iterator[None]:
        """The offscreen platform keeps what was copied until after Python has ended, and then crashes on freeing it."""
        yield
        qapp.clipboard().clear()

    @pytest.fixture(autouse=True)
    def no_errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        """An error that is logged and not expected is a failure."""
        yield
        errors = [r for r in caplog.get_records("call") if r.levelno >= logging.ERROR]
        assert not errors, errors[0].getMessage()

    @pytest.fixture(autouse=True)
    def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
        """No test asks a hub: the sheet of models would."""

        def ask(name: str, **_: object) -> int:
            raise DownloadError("There is no network in a test.", "network")

        monkeypatch.setattr("uocr.models.checkpoint_bytes", ask)

    @pytest.fixture
    def store(tmp_path: Path) -> SettingsStore:
        return SettingsStore(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))

    @pytest.fixture
    def engine() -> ScriptedEngine:
        return ScriptedEngine()

    @pytest.fixture
    def make_window(qtbot: Any, store: SettingsStore, tmp_path: Path) -> Iterator[Callable[..., MainWindow]]:
        """Windows over a given engine (or factory of engines), shown, with the engine open."""
        windows: list[MainWindow] = []

        def make(engine: Any, **settings: Any) -> MainWindow:
            if settings:
                store.set_window(**settings)
            factory = engine if callable(engine) else lambda: engine
            window = MainWindow(store, lambda _: factory, tmp_path / "data")
            windows.append(window)
            window.resize(1100, 760)
            window.show()
            with qtbot.waitSignal(window.ready, timeout=10_000):
                window.open_engine()
            return window

        yield make
        for window in windows:
            window.shut_down()
            window.deleteLater()

    @pytest.fixture
    def window(make_window: Callable[..., MainWindow], engine: ScriptedEngine) -> MainWindow:
        """A window over the scripted engine."""
        return make_window(engine)

    @pytest.fixture
    def picture(tmp_path: Path) -> Callable[..., Path]:
        """Makes picture files: white pages with some black bars of "text"."""

        def make(name: str = "page.png", size: tuple[int, int] = (400, 560), blank: bool = False) -> Path:
            image = Image.new("RGB", size, "white")
            if not blank:
                draw = ImageDraw.Draw(image)
                for line in range(4):
                    top = size[1] * (2 + line) // 10
                    draw.rectangle((size[0] // 10, top, size[0] * 8 // 10, top + size[1] // 40), fill="black")
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path)
            return path

        return make
