"""A Leggio of its own process over the scripted engine, for tests that kill or quit it.

child.py DATA FILE write TARGET   reads, and stands still in the middle of an export to TARGET, saying "there"
child.py DATA FILE hang PAGE     reads, and stands still in page PAGE (from 0) after some tokens, saying
"there" child.py DATA FILE drive -        reads, says "read X Y" (where block 1 stands on the screen), then
tells what is done to it child.py DATA FILE quit STAGE    quits at a stage: start, opening, vision, decode,
export, idle; the exit code is the test
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from leggio.application import LeggioApplication
from leggio.export.dialog import ExportChoice
from leggio.export.work import PageSources
from leggio.pages.items import PageItem
from leggio.settings.store import SettingsStore
from leggio.window.main_window import MainWindow
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QMessageBox

from tests.leggio.scripted import PAGE, ScriptedEngine


def drive(application: LeggioApplication, window: MainWindow, file: Path) -> int:
    """A real window for a real mouse and keyboard; every line says what arrived."""
    canvas, actions = window.desk.canvas, window.actions_

    def tell_place() -> None:
        if window.session.busy or canvas.page_size == (0, 0) or not canvas.block_rects(1):
            QTimer.singleShot(20, tell_place)
            return
        place = canvas.viewport().mapToGlobal(canvas.mapFromScene(canvas.block_rects(1)[0].center()))
        print(f"read {place.x()} {place.y()} {int(window.winId())}", flush=True)

    window.session.ended.connect(lambda *_: tell_place())
    canvas.block_clicked.connect(lambda index: print(f"clicked {index}", flush=True))
    actions["source"].toggled.connect(lambda on: print(f"source {on}", flush=True))
    window.panel.find_bar.sought.connect(lambda text: print(f"find {text}", flush=True))
    canvas.region_chosen.connect(lambda rect: print(f"region {round(rect.width())} {round(rect.height())}", flush=True))
    actions["copy"].triggered.connect(lambda: print(f"copy {window.panel.notice.text}", flush=True))
    window.open_engine()
    window.open_inputs([file])
    code = application.exec()
    window.shut_down()
    window.deleteLater()
    print("bye", flush=True)
    return code


def write(window: MainWindow, target: Path) -> None:
    """An export that stands still when it asks for the page's picture."""

    def never(*_: object) -> None:
        print("there", flush=True)
        time.sleep(600)

    PageSources.image = never  # type: ignore[method-assign, assignment]
    choice = ExportChoice(target.suffix.lstrip("."), "all", False, True, False)
    window.exporting.write(window.exporting.items("all"), target, choice)


def main() -> int:
    data, file, what, which = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    application = LeggioApplication(["leggio"])
    store = SettingsStore(QSettings(str(data / "settings.ini"), QSettings.Format.IniFormat))
    steps = threading.Semaphore(0)
    held = {"vision", "decode"}
    engine = ScriptedEngine(
        lambda n: PAGE.replace("Notes", f"Page {n}, notes"),
        steps=steps if which in held else None,
        hang_in=int(which) if what == "hang" else None,
    )
    window = MainWindow(store, lambda _: lambda: engine, data)
    window.show()
    questions: list[str] = []

    def answer(box: QMessageBox) -> int:
        questions.append(box.text())
        next(b for b in box.buttons() if b.text() == "Stop and quit").click()
        return 0

    QMessageBox.exec = answer  # type: ignore[method-assign]
    if what == "hang":

        def counted(item: PageItem, tokens: int, seconds: float) -> None:
            if (item.number, tokens) == (int(which), 20):
                print("there", flush=True)

        window.session.counted.connect(counted)
        application.quit_on_signals(lambda: (window.shut_down(), application.quit()))
        window.open_engine()
        window.open_inputs([file])
        return application.exec()
    if what == "write":
        window.session.ended.connect(lambda *_: QTimer.singleShot(0, lambda: write(window, Path(which))))
        window.open_engine()
        window.open_inputs([file])
        return application.exec()
    if what == "drive":
        return drive(application, window, file)
    leave = {
        "start": lambda: QTimer.singleShot(0, window.close),
        "opening": lambda: (window.open_engine(), QTimer.singleShot(0, window.close)),
        "vision": lambda: window.session.began.connect(lambda *_: window.close()),
        "decode": lambda: (steps.release(30), window.session.block_began.connect(lambda *_: window.close())),
        "idle": lambda: window.session.ended.connect(lambda *_: QTimer.singleShot(50, window.close)),
        "export": lambda: window.session.ended.connect(
            lambda *_: QTimer.singleShot(
                0,
                lambda: (
                    window.exporting.write(
                        window.exporting.items("all"),
                        data / "out.docx",
                        ExportChoice("docx", "all", False, True, False),
                    ),
                    window.close(),
                ),
            )
        ),
    }
    leave[which]()
    if which != "start":
        window.open_engine()
        window.open_inputs([file])
    code = application.exec()
    window.shut_down()
    window.deleteLater()
    assert len(questions) == (1 if which in ("vision", "decode", "export") else 0), questions
    assert engine.closed or which in ("start", "opening")
    return code


if __name__ == "__main__":
    sys.exit(main())
