"""The program as it is started: files on the command line, a second start, two at the same moment, a polite end."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from leggio import main
from leggio.settings.table import build_parser
from leggio.sources.instance import FirstInstance, claim, hand_over
from leggio.start_checks import NoDisplay, check_display, check_options

ROOT = Path(__file__).parents[2]
_TOLD = (
    "import sys\n"
    "from leggio.window.main_window import MainWindow\n"
    "took = MainWindow.open_inputs\n"
    "def told(self, inputs, **k):\n"
    "    print('opened', *[p.name for p in inputs], flush=True)\n"
    "    took(self, inputs, **k)\n"
    "MainWindow.open_inputs = told\n"
    "opened = MainWindow._engine_opened\n"
    "def open_and_tell(self, facts):\n"
    "    opened(self, facts)\n"
    "    print('ready', facts.name, flush=True)\n"
    "MainWindow._engine_opened = open_and_tell\n"
    "from leggio.main import main\n"
    "raise SystemExit(main(sys.argv[1:]))\n"
)
"""`leggio`, saying what it opens."""


class Started:
    """One start of the program in its own process."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TOLD, *arguments],
            env=environment,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.strip())

    def says(self, words: str) -> None:
        """Wait until it says so."""
        while self._lines.get(timeout=50) != words:
            pass

    def end(self) -> tuple[int, list[str]]:
        """Ask it to end; its exit code and its complaints."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        lines = self.process.stderr.read().splitlines()
        return code, [line for line in lines if "This plugin does not support" not in line]


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Started]]:
    """Starts the program as a user of this test's own."""
    pytest.importorskip("uocr._declarations")
    environment = dict(
        os.environ,
        QT_QPA_PLATFORM="offscreen",
        LEGGIO_DATA=str(tmp_path / "data"),
        XDG_CONFIG_HOME=str(tmp_path / "config"),
        UOCR_CACHE=str(tmp_path / "cache"),
        TMPDIR=str(tmp_path),
        LOGNAME="somebody",
        PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]),
    )
    made: list[Started] = []

    def begin(*arguments: str) -> Started:
        made.append(Started(environment, *arguments))
        return made[-1]

    yield begin
    for each in made:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait(timeout=30)


def test_files_of_a_second_start_come_into_the_first_window(start, picture):
    first = start(str(picture("a.png")))
    first.says("opened a.png")
    first.says("ready built-in")
    second = start(str(picture("b.png")), str(picture("c.png")))
    first.says("opened b.png c.png")
    assert second.process.wait(timeout=30) == 0
    assert first.end() == (0, [])


def test_settings_on_the_command_line_that_make_no_sense_end_it_with_one_line(start):
    process = start("--dpi", "7").process
    assert process.wait(timeout=30) == 15
    assert process.stderr.read() == "leggio: --dpi is 7; choose 36 to 1200.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--threads", "-4"], 15, "--threads is -4; choose 0 to 256."),
        (["--threads", "257"], 15, "--threads is 257; choose 0 to 256."),
        (["--doubt", "100"], 15, "--doubt is 100; choose 0 to 99."),
        (["--text-size", "-1"], 15, "--text-size is -1; choose 0 to 40."),
        (
            ["--memory-budget", "lots"],
            15,
            "The size 'lots' is not a number of bytes such as \"4 GB\" or \"512 MiB\".",
        ),
        (
            ["--memory-budget", "30"],
            15,
            "The memory budget '30' is 30 bytes, and no model fits into that; give it with a unit, "
            'such as "512 MB" or "4 GB".',
        ),
        (["--ngram-size", "-2"], 15, "--ngram-size is -2; choose 0 to 2147483647."),
        (["--preset", "giga"], 15, None),
        ([""], 11, 'The name of an input is empty; name a file, or "." for the current folder.'),
    ],
)
def test_what_makes_no_sense_is_refused_before_there_is_a_window(capsys, monkeypatch, arguments, code, words):
    monkeypatch.setattr(main, "LeggioApplication", None)  # would be called to make one
    assert main.main(arguments) == code
    told = capsys.readouterr().err
    assert told.startswith("leggio: ") and told.count("\n") == 1
    assert words is None or told == f"leggio: {words}\n"


def test_options_at_their_limits_are_taken():
    for line in (["--threads", "256", "--doubt", "99", "--text-size", "40"], ["--memory-budget", "4 GB", "a b.png"]):
        check_options(build_parser().parse_args(line))


def test_without_a_display_it_ends_with_one_line(tmp_path):
    nowhere = {"DISPLAY": ":54321"}, {"WAYLAND_DISPLAY": "gone", "XDG_RUNTIME_DIR": str(tmp_path)}
    for environment in ({}, {"QT_QPA_PLATFORM": "xcb"}, {"QT_QPA_PLATFORM": "wayland;xcb"}):
        with pytest.raises(NoDisplay, match="DISPLAY and WAYLAND_DISPLAY are not set"):
            check_display(environment, "linux")
    for environment in (*nowhere, nowhere[0] | nowhere[1]):
        with pytest.raises(NoDisplay, match=r"No display answers at (DISPLAY=:54321|WAYLAND_DISPLAY=gone)"):
            check_display(environment, "linux")
    for environment in ({"QT_QPA_PLATFORM": "offscreen"}, {"QT_QPA_PLATFORM": "vnc:size=800x600"},
                        {"DISPLAY": "faraway:0"}, {"WAYLAND_SOCKET": "5"}):
        check_display(environment, "linux")
    check_display({}, "darwin")


def test_a_display_that_listens_is_taken():
    # A Unix socket's name may have 107 bytes: a short folder.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/wayland-7")
        server.listen()
        check_display({"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": folder}, "linux")
        check_display({"WAYLAND_DISPLAY": f"{folder}/wayland-7", "DISPLAY": ":54321"}, "linux")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_the_program_itself_says_that_there_is_no_display():
    environment = {k: v for k, v in os.environ.items() if "DISPLAY" not in k and k != "QT_QPA_PLATFORM"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "leggio.main"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr == (
        "leggio: There is no display to show a window on (DISPLAY and WAYLAND_DISPLAY are not set); "
        "start it on a desktop, or read with `uocr read`.\n"
    )


def test_of_two_starts_at_the_same_moment_one_is_first(qtbot, tmp_path):
    """The second looks for the first before it listens, and again when the name is taken."""
    name = f"leggio-test-{tmp_path.name}"
    one = claim(["/a"], name)
    assert one is not None and one.listening
    late = FirstInstance(name)  # had found nobody, a moment ago
    assert not late.listening
    late.close()
    code = "import sys; from PySide6.QtCore import QCoreApplication; a = QCoreApplication([]);"
    code += "from leggio.sources.instance import claim; print(claim(['/b'], sys.argv[1]))"
    with qtbot.waitSignal(one.handed, timeout=20_000) as handed:
        second = subprocess.Popen([sys.executable, "-c", code, name], stdout=subprocess.PIPE, text=True)
    assert handed.args == [["/b"]]
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=20_000)
    assert second.communicate()[0].strip() == "None"
    one.close()


def test_a_name_left_by_a_killed_start_is_taken_over(qtbot, tmp_path):
    name = f"leggio-test-{tmp_path.name}"
    code = (
        "import os, sys; from PySide6.QtCore import QCoreApplication; a = QCoreApplication([]);"
        "from leggio.sources.instance import claim; f = claim([], sys.argv[1]); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, name], timeout=60)
    first = claim([], name)
    assert first is not None and first.listening
    first.close()
    assert hand_over([], name) is False
