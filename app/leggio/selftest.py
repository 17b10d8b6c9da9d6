"""`leggio --self-test`: the whole program once, in a window that is not shown."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QEventLoop, QSettings, QTimer

TIMEOUT_S = 180.0


def run_self_test(picture: Path | None) -> int:
    """Opens the window, reads the sample, saves `picture`. 0, or 1 after one line that says what is wrong.

    None: in a new temporary folder, which stays so that the picture can be looked at.
    """
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from leggio.application import LeggioApplication
    from leggio.reading.factory import engine_factory
    from leggio.settings.store import SettingsStore
    from leggio.sources.samples import sample_page
    from leggio.window.main_window import MainWindow

    application = LeggioApplication(sys.argv[:1])
    application.set_appearance("light")
    sample = sample_page()
    if sample is None:
        return _wrong("the sample page is missing from this installation")
    with tempfile.TemporaryDirectory() as folder:
        store = SettingsStore(QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat))
        store.set_window(keep_history=False)
        window = MainWindow(store, engine_factory, Path(folder))
        problems: list[str] = []
        loop = QEventLoop()

        def stop(problem: str = "") -> None:
            if problem:
                problems.append(problem)
            loop.quit()

        window.session.engine_refused.connect(lambda error: stop(str(error)))
        window.session.ended.connect(lambda item, page, error: stop())
        QTimer.singleShot(int(TIMEOUT_S * 1000), lambda: stop(f"nothing was read in {TIMEOUT_S:.0f} s"))
        window.resize(1280, 820)
        window.show()
        window.open_engine()
        window.open_inputs([sample])
        loop.exec()
        for _ in range(20):
            application.processEvents()
        item = window.model.item(0)
        page = item.page if item is not None else None
        if not problems and (page is None or not page.complete or len(page.text) < 20):
            problems.append(f"the sample was not read to its end ({item.error or item.state if item else 'no page'})")
        picture = picture or Path(tempfile.mkdtemp(prefix="leggio-self-test-")) / "selftest.png"
        if not window.grab().save(str(picture), "PNG"):
            problems.append(f"{picture} could not be written")
        window.shut_down()
        window.deleteLater()
        application.processEvents()
    if problems:
        return _wrong(problems[0])
    assert page is not None
    print(
        f"Leggio read {sample.name}: {len(page.text)} characters, {page.timings.generated_tokens} tokens; "
        f"the window is in {picture}"
    )
    return 0


def _wrong(words: str) -> int:
    print(f"leggio: self-test failed: {words}", file=sys.stderr)
    return 1
