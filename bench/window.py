"""How the window feels on this machine: time to a usable window, to a ready model, longest silence of the
event loop.

    python -m bench.window [--tokens 2000] [--json]

start_s: from the process's start to a shown window that handles events.  model_s: from there to the built-in
model ready. token_gap_ms: longest time the event loop was away while text streamed at 200 tokens a second.
pdf_gap_ms: the same while a PDF is opened, drawn, read by the built-in model and shown. scroll_gap_ms: the same
while the list of 1,000 pages is scrolled from end to end. cancel_ms: from the press of Cancel, in the middle of
vision and of writing, to an idle engine, the longer of the two. Aims: 1.5 s, 1 s, 100 ms each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "resources" / "samples"
AIMS = {"start_s": 1.5, "model_s": 1.0}
RATE = 200.0
BEAT_MS = 2

_START = """
import sys, time, tempfile
from pathlib import Path
begun = float(sys.argv[1])
from PySide6.QtCore import QSettings, QTimer
from leggio.application import LeggioApplication
from leggio.reading.factory import engine_factory
from leggio.settings.store import SettingsStore
from leggio.window.main_window import MainWindow
application = LeggioApplication(["leggio"])
application.set_appearance("light")
folder = tempfile.mkdtemp()
store = SettingsStore(QSettings(folder + "/s.ini", QSettings.Format.IniFormat))
window = MainWindow(store, engine_factory, Path(folder))
shown = []
def opened(facts):
    print(shown[0] - begun, time.time() - shown[0])
    application.quit()
window.session.engine_opened.connect(opened)
window.session.engine_refused.connect(lambda error: (print(error, file=sys.stderr), application.exit(1)))
window.show()
QTimer.singleShot(0, lambda: (application.processEvents(), shown.append(time.time()), window.open_engine()))
code = application.exec()
window.shut_down()
sys.exit(code)
"""


def start_times() -> tuple[float, float]:
    """(start_s, model_s) of a fresh process; the second of two starts, as files are in the disk cache by
    then."""
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", _START, str(time.time())],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    start, model = run.stdout.split()
    return float(start), float(model)


class Heart:
    """Beats in the event loop and remembers the longest time between two beats."""

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self._last = time.perf_counter()
        self.longest = 0.0
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(BEAT_MS)

    def _beat(self) -> None:
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now

    def stop(self) -> float:
        """The longest gap in seconds."""
        self._timer.stop()
        return self.longest


def gap(window: Any, inputs: list[Path]) -> float:
    """Longest gap in seconds while `inputs` are opened and read."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop, poll = QEventLoop(), QTimer()
    poll.timeout.connect(lambda: window.model.rowCount() and not window.session.busy and loop.quit())
    heart = Heart()
    window.open_inputs(inputs)
    poll.start(50)
    loop.exec()
    return heart.stop()


def opened_window(application: Any, factory: Callable[[Any], Any], folder: str) -> Any:
    """A shown window with its engine open."""
    from leggio.settings.store import SettingsStore
    from leggio.window.main_window import MainWindow
    from PySide6.QtCore import QEventLoop, QSettings

    store = SettingsStore(QSettings(f"{folder}/s.ini", QSettings.Format.IniFormat))
    window = MainWindow(store, factory, Path(folder))
    window.resize(1200, 800)
    window.show()
    loop = QEventLoop()
    window.ready.connect(loop.quit)
    window.open_engine()
    loop.exec()
    return window


def closed(application: Any, window: Any) -> None:
    window.shut_down()
    window.deleteLater()
    application.processEvents()


def scroll_gap(application: Any, window: Any) -> float:
    """Longest gap in seconds while a list of 1,000 pages is scrolled, a step every frame."""
    from leggio.pages.items import DocumentItem, PageItem
    from PySide6.QtCore import QEventLoop, QTimer

    document = DocumentItem(SAMPLES / "scan.jpg", "many.tiff", count=1000)
    window.choice.add([PageItem(document, 0) for _ in range(1000)])
    application.processEvents()
    bar, loop, timer = window.pages.verticalScrollBar(), QEventLoop(), QTimer()

    def step() -> None:
        bar.setValue(bar.value() + bar.maximum() // 100)
        if bar.value() >= bar.maximum():
            loop.quit()

    timer.timeout.connect(step)
    heart = Heart()
    timer.start(33)
    loop.exec()
    return heart.stop()


def cancel_time(window: Any, phase: str) -> float:
    """Seconds from Cancel, pressed when `phase` is first heard of, until the engine is idle."""
    from PySide6.QtCore import QEventLoop

    loop, pressed, idle = QEventLoop(), [0.0], [0.0]

    def heard(*_: object) -> None:
        if not pressed[0]:
            pressed[0] = time.perf_counter()
            window.session.cancel()

    def over() -> None:
        idle[0] = time.perf_counter()
        loop.quit()

    signal = window.session.counted if phase == "decode" else window.session.advanced
    signal.connect(heard)
    window.session.thread_.idle.connect(over)
    window.open_inputs([SAMPLES / "two-columns.png"])
    loop.exec()
    signal.disconnect(heard)
    window.session.thread_.idle.disconnect(over)
    return idle[0] - pressed[0]


def measured(tokens: int) -> dict[str, float]:
    """The figures of one process: gaps and the time that a cancel takes, in milliseconds."""
    from leggio.application import LeggioApplication
    from leggio.reading.factory import engine_factory

    from tests.leggio.scripted import ScriptedEngine, long_text

    class Paced(ScriptedEngine):
        """Tokens come at RATE by the wall clock."""

        def stream(self, *arguments: Any, **settings: Any) -> Iterator[Any]:
            begun = time.perf_counter()
            for event in super().stream(*arguments, **settings):
                if count := getattr(event, "count", 0):
                    time.sleep(max(0.0, begun + count / RATE - time.perf_counter()))
                yield event

    application = LeggioApplication(["leggio"])
    application.set_appearance("light")
    paced = Paced(long_text(tokens), tokens_per_s=RATE, max_new_tokens=tokens)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        window = opened_window(application, lambda _: lambda: paced, folder)
        found["token_gap_ms"] = gap(window, [SAMPLES / "scan.jpg"])
        found["scroll_gap_ms"] = scroll_gap(application, window)
        closed(application, window)
        window = opened_window(application, engine_factory, folder)
        found["pdf_gap_ms"] = gap(window, [SAMPLES / "leaflet.pdf"])
        found["cancel_ms"] = max(cancel_time(window, phase) for phase in ("vision", "decode"))
        closed(application, window)
    return {name: round(seconds * 1000, 1) for name, seconds in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=2_000, help="tokens streamed for token_gap_ms")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    start, model = start_times()
    found = {"start_s": round(start, 2), "model_s": round(model, 2)} | measured(options.tokens)
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:14} {value:8}   aim {AIMS.get(name, 100)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
