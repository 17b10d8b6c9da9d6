"""How the window feels on this machine: time to a usable window, to a ready model, longest silence of the
event loop.

    python -m bench.window [--tokens 2000] [--json]

start_s: from the process's start to a shown window that handles events.  model_s: from there to the built-in
model ready. token_gap_ms: longest time the event loop was away while text streamed at 200 tokens a second.
pdf_gap_ms: the same while a PDF is opened, drawn, read by the built-in model and shown. Aims: 1.5 s, 1 s, 100
ms.
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


def measured_gaps(tokens: int) -> tuple[float, float]:
    """(while a scripted engine writes `tokens` at RATE, while the built-in model reads a PDF), seconds."""
    from leggio.application import LeggioApplication
    from leggio.reading.factory import engine_factory
    from leggio.settings.store import SettingsStore
    from leggio.window.main_window import MainWindow
    from PySide6.QtCore import QEventLoop, QSettings

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
    factories: list[Callable[[Any], Any]] = [lambda _: lambda: paced, engine_factory]
    gaps = []
    for number, factory in enumerate(factories):
        with tempfile.TemporaryDirectory() as folder:
            store = SettingsStore(QSettings(f"{folder}/s.ini", QSettings.Format.IniFormat))
            window = MainWindow(store, factory, Path(folder))
            window.resize(1200, 800)
            window.show()
            loop = QEventLoop()
            window.ready.connect(loop.quit)
            window.open_engine()
            loop.exec()
            sample = ROOT / "resources" / "samples" / ("scan.jpg", "leaflet.pdf")[number]
            gaps.append(gap(window, [sample]))
            window.shut_down()
            window.deleteLater()
            application.processEvents()
    return gaps[0], gaps[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=2_000, help="tokens streamed for token_gap_ms")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    start, model = start_times()
    tokens, pdf = measured_gaps(options.tokens)
    found = {
        "start_s": round(start, 2),
        "model_s": round(model, 2),
        "token_gap_ms": round(tokens * 1000, 1),
        "pdf_gap_ms": round(pdf * 1000, 1),
    }
    if options.json:
        print(json.dumps(found))
    else:
        for name, aim in (("start_s", 1.5), ("model_s", 1.0), ("token_gap_ms", 100), ("pdf_gap_ms", 100)):
            print(f"{name:14} {found[name]:8}   aim {aim}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
