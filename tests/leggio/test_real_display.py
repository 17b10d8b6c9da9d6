"""A few tests with a real window on an X server, mouse and keyboard from xdotool (Debian: xvfb xdotool
libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-
util0 libxcb-shape0 libxcb-xinerama0 libxcb-xkb1)."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("xdotool")),
    reason="needs Xvfb and xdotool (Debian: xvfb, xdotool)",
)


@pytest.fixture
def display() -> Iterator[str]:
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as numbers:
        number = numbers.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(timeout=20)


class Driven:
    """The program in its own process; `expect` waits for a line it says."""

    def __init__(self, display: str, data: Path, file: Path) -> None:
        data.mkdir()
        environment = dict(
            os.environ,
            QT_QPA_PLATFORM="xcb",
            DISPLAY=display,
            PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]),
        )
        self.environment = environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.leggio.child", str(data), str(file), "drive", "-"],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def expect(self, start: str) -> str:
        while True:
            line = self.lines.get(timeout=40)
            if line.startswith(start):
                return line

    def do(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], env=self.environment, check=True, timeout=30)


@pytest.fixture
def driven(display, tmp_path, picture) -> Iterator[Driven]:
    program = Driven(display, tmp_path / "data", picture())
    yield program
    if program.process.poll() is None:
        program.process.kill()
    program.process.communicate()


def test_a_window_is_clicked_typed_into_and_quit(driven):
    _, x, y, window = driven.expect("read").split()
    driven.do("windowfocus", "--sync", window)
    driven.do("mousemove", "--sync", x, y, "click", "1")
    driven.expect("clicked 1")
    driven.do("key", "ctrl+u")
    driven.expect("source True")
    driven.do("key", "ctrl+f")
    driven.do("type", "boat")
    driven.expect("find boat")
    driven.do("key", "ctrl+q")
    driven.expect("bye")
    assert driven.process.wait(timeout=20) == 0
    complaints = [line for line in driven.process.stderr.read().splitlines() if line]
    assert complaints == []


def test_a_region_is_drawn_and_text_is_copied_and_its_limit_is_told(driven):
    """On an X server without a clipboard manager what was copied goes with the program, and the window says so."""
    _, x, y, window = driven.expect("read").split()
    driven.do("windowfocus", "--sync", window)
    driven.do("key", "ctrl+c")
    told = driven.expect("copy")
    assert told.startswith("copy Copied ") and "Leave Leggio open until you have pasted" in told
    pasted = subprocess.run(
        [sys.executable, "-c", _PASTE], env=driven.environment, capture_output=True, text=True, timeout=60
    )
    assert pasted.stdout.startswith("Page 0, notes from the ferry office"), pasted.stderr
    driven.do("key", "ctrl+shift+a")
    driven.do("mousemove", "--sync", x, y, "mousedown", "1")
    driven.do("mousemove_relative", "--sync", "40", "30", "mousemove_relative", "--sync", "20", "10", "mouseup", "1")
    _, width, height = driven.expect("region").split()
    assert int(width) > int(height) > 20
    driven.expect("read")  # the region was read
    driven.do("key", "ctrl+q")
    driven.expect("bye")
    assert driven.process.wait(timeout=20) == 0


_PASTE = (
    "from PySide6.QtGui import QGuiApplication; from PySide6.QtCore import QTimer; a = QGuiApplication([]);"
    "QTimer.singleShot(300, lambda: (print(a.clipboard().text()), a.quit())); a.exec()"
)
"""Another program that pastes."""
