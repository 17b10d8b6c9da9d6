"""Starts the window: arguments, one instance, engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

try:
    from PySide6.QtCore import QSettings
except ImportError as error:
    message = f"leggio: the window needs PySide6; install it with: pip install 'leggio[app]' ({error})"
    raise SystemExit(message) from None
from uocr.errors import UocrError
from uocr.settings import ReadSettings

import leggio
from leggio.application import LeggioApplication
from leggio.reading.factory import engine_factory
from leggio.settings.store import SettingsStore
from leggio.settings.table import WindowSettings, build_parser, given
from leggio.sources.incoming import arguments
from leggio.sources.instance import claim, server_name
from leggio.start_checks import check_display, check_options, in_flags


def data_folder() -> Path:
    """Where history and jobs are kept; `LEGGIO_DATA` names another folder."""
    named = os.environ.get("LEGGIO_DATA")
    return Path(named) if named else platformdirs.user_data_path("leggio", appauthor=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run Leggio; the process's exit code."""
    options = build_parser().parse_args(argv)
    if options.version:
        print(f"Leggio {leggio.__version__}")
        return 0
    if options.self_test:
        from leggio.selftest import run_self_test

        return run_self_test(Path(options.self_test_picture) if options.self_test_picture else None)
    try:
        check_options(options)
        check_display(os.environ)
    except UocrError as error:
        print(f"leggio: {in_flags(error)}", file=sys.stderr)
        return error.exit_code
    application = LeggioApplication(sys.argv[:1])
    files = arguments(options.files, Path.cwd())
    name = server_name()
    first = None if options.new_instance else claim(files, name)
    if first is None and not options.new_instance:
        return 0
    storage = QSettings(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, "Leggio", "Leggio")
    store = SettingsStore(storage)
    store.override(given(options, WindowSettings), given(options, ReadSettings))
    application.set_language(store.window.language)
    application.set_appearance(store.window.appearance)

    from leggio.window.main_window import MainWindow

    window = MainWindow(store, engine_factory, data_folder())
    store.changed.connect(lambda: application.set_appearance(store.window.appearance))

    def take(paths: list[Path]) -> None:
        if paths:
            window.open_inputs(paths, show=True)
        window.setWindowState(window.windowState() & ~window.windowState().WindowMinimized)
        window.raise_()
        window.activateWindow()

    if first is not None:
        first.handed.connect(lambda names: take([Path(n) for n in names]))
    application.deliver_files_to(take)

    def leave() -> None:
        window.shut_down()
        application.quit()

    application.quit_on_signals(leave)
    window.show()
    window.open_engine()
    window.take_up()
    if files:
        take([Path(f) for f in files])
    code = application.exec()
    if first is not None:
        first.close()
    window.shut_down()
    window.deleteLater()
    return code


if __name__ == "__main__":
    sys.exit(main())
