"""Ways in, and what comes of inputs that are no good."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from types import SimpleNamespace

import pymupdf
import pytest
from leggio.pages.items import PageState
from leggio.sources.incoming import arguments, from_qimage
from leggio.sources.instance import FirstInstance, hand_over
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QFileOpenEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QInputDialog

from .scripted import ScriptedEngine
from .test_reading import drop, read_all


def test_a_pasted_picture_is_read(qtbot, window):
    image = QImage(120, 80, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    data = QMimeData()
    data.setImageData(image)
    QGuiApplication.clipboard().setMimeData(data)
    window.actions_["paste"].trigger()
    qtbot.waitUntil(lambda: window.model.rowCount() == 1 and window.model.item(0).state is PageState.DONE)
    assert window.model.item(0).title == "Pasted picture 1"
    assert (window.model.item(0).page.width, window.model.item(0).page.height) == (120, 80)


def test_a_pasted_picture_keeps_its_transparency_for_the_engine():
    image = QImage(4, 3, QImage.Format.Format_ARGB32)
    image.fill(QColor(10, 20, 30, 128))
    picture = from_qimage(image)
    assert (picture.mode, picture.size, picture.getpixel((3, 2))) == ("RGBA", (4, 3), (10, 20, 30, 128))


def test_pasted_files_are_opened(qtbot, window, picture):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(picture("a.png")))])
    QGuiApplication.clipboard().setMimeData(data)
    window.actions_["paste"].trigger()
    qtbot.waitUntil(lambda: window.model.rowCount() == 1)


def test_pasting_from_a_clipboard_without_anything_says_so(window, monkeypatch):
    monkeypatch.setattr(QGuiApplication, "clipboard", lambda: SimpleNamespace(mimeData=lambda: None))
    window.actions_["paste"].trigger()
    assert window.desk.notice.text == "There is no picture, PDF or folder in this."


@pytest.mark.parametrize("kind", ["text", "link", "nothing"])
def test_nonsense_is_refused_in_one_line(window, kind):
    data = QMimeData()
    if kind == "text":
        data.setText("just words")
    if kind == "link":
        data.setUrls([QUrl("https://example.org/a.png")])
    event = drop(window, data)
    assert not event.isAccepted() or event.dropAction() is not None
    assert window.desk.notice.text in (
        "There is no picture, PDF or folder in this.",
        "Only files can be dropped here. Save the web page or picture first, then drop the file.",
    )
    assert window.model.rowCount() == 0


def test_an_empty_folder_says_so(qtbot, window, tmp_path):
    (tmp_path / "empty").mkdir()
    window.open_inputs([tmp_path / "empty"])
    qtbot.waitUntil(lambda: "holds no picture and no PDF" in window.desk.notice.text)


def damaged(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"{kind}.pdf"
    if kind == "words":
        path.write_text("these are only words")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "half":
        document = pymupdf.open()
        document.new_page().insert_text((72, 72), "words")
        data = document.tobytes()
        path.write_bytes(data[: len(data) // 4])
    elif kind == "gone":
        pass
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("words", "damaged"),
        ("empty", "is empty (0 bytes)"),
        ("half", "damaged"),
        ("gone", "cannot be opened"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_and_stops_nothing(qtbot, window, picture, tmp_path, kind, words):
    read_all(qtbot, window, [damaged(tmp_path, kind), picture("z.png")])
    bad = window.model.item(0)
    assert bad.state is PageState.FAILED and words in bad.error and kind in bad.error
    assert window.model.item(1).state is PageState.DONE
    window.pages.show_item(bad)
    assert window.panel.notice.text == bad.error


def test_a_file_that_vanishes_before_its_turn(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(), read_at_once=False)
    paths = [picture("1.png"), picture("2.png")]
    window.open_inputs(paths)
    qtbot.waitUntil(lambda: window.model.rowCount() == 2)
    paths[1].unlink()
    window.session.read(window.model.items)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [i.state for i in window.model.items] == [PageState.DONE, PageState.FAILED]
    assert "2.png" in window.model.item(1).error and "No such file" in window.model.item(1).error


def encrypted(path: Path) -> Path:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "secret words")
    document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="right", owner_pw="owner")
    return path


def test_an_encrypted_pdf_asks_for_its_password_and_stops_nothing(qtbot, window, picture, tmp_path, monkeypatch):
    read_all(qtbot, window, [encrypted(tmp_path / "a.pdf"), picture("b.png")])
    locked = window.model.item(0)
    assert "needs a password" in locked.error
    assert window.model.item(1).state is PageState.DONE
    window.pages.show_item(locked)
    assert window.panel.notice.choices() == ["Enter password…"]
    monkeypatch.setattr(QInputDialog, "getText", lambda *a, **k: ("right", True))
    window.panel.notice.choose("Enter password…")
    qtbot.waitUntil(lambda: [i.state for i in window.model.items] == [PageState.DONE, PageState.DONE])


def gigantic_pdf(path: Path) -> Path:
    """1 kB that unfolds to a picture of 30,000 x 30,000 pixels."""
    side = 30_000
    packed = zlib.compress(bytes(1000))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</XObject<</I 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length 27>>stream\n200 0 0 200 0 0 cm /I Do Q \nendstream",
        b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8"
        b"/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (side, side, len(packed), packed),
    ]
    out = io.BytesIO(b"%PDF-1.7\n")
    out.seek(0, 2)
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj%s endobj\n" % (number, body))
    xref = out.tell()
    out.write(b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % o for o in offsets))
    out.write(b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % xref)
    path.write_bytes(out.getvalue())
    return path


def test_a_small_pdf_with_a_gigantic_picture_is_refused(qtbot, window, tmp_path):
    path = gigantic_pdf(tmp_path / "bomb.pdf")
    assert path.stat().st_size < 2_000
    read_all(qtbot, window, [path])
    assert window.model.item(0).state is PageState.FAILED
    assert "30000 x 30000" in window.model.item(0).error


def test_a_folder_of_ten_thousand_files_keeps_the_window_alive(qtbot, make_window, tmp_path):
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "white").save(data, "PNG")
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(10_000):
        (folder / f"{n}.png").write_bytes(data.getvalue())
    window = make_window(ScriptedEngine(), read_at_once=False)
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1

    window.opener.opened.connect(turn)
    window.open_inputs([folder])
    qtbot.waitUntil(lambda: window.model.rowCount() == 10_000 and not window.opener.busy, timeout=120_000)
    assert turns >= 50  # they came in portions, the event loop in between
    assert [window.model.item(n).document.name for n in (0, 2, 9_999)] == ["0.png", "2.png", "9999.png"]
    window.pages.scrollToBottom()
    qtbot.waitUntil(lambda: window.pictures.thumbnail(window.model.item(9_999)) is not None, timeout=20_000)
    assert len(window.pictures._thumbnails) < 100  # only what was looked at


def test_files_from_the_system_wait_for_the_window(qtbot, qapp, picture):
    path, taken = picture("dock.png"), []
    qapp._take = None
    QApplication.sendEvent(qapp, QFileOpenEvent(str(path)))
    qapp.deliver_files_to(taken.append)
    assert taken == [[path]]
    QApplication.sendEvent(qapp, QFileOpenEvent(str(path)))
    assert taken == [[path], [path]]
    qapp._take = None


def test_a_second_start_hands_its_files_to_the_first(qtbot, tmp_path):
    name = f"leggio-test-{tmp_path.name}"
    first = FirstInstance(name)
    code = (
        "import sys; from PySide6.QtCore import QCoreApplication; a = QCoreApplication([]);"
        "from leggio.sources.instance import hand_over; print(hand_over(sys.argv[2:], sys.argv[1]))"
    )
    with qtbot.waitSignal(first.handed, timeout=20_000) as handed:
        second = subprocess.Popen(
            [sys.executable, "-c", code, name, "/a b.png", "/c.pdf"], stdout=subprocess.PIPE, text=True
        )
    assert handed.args == [["/a b.png", "/c.pdf"]]
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=20_000)
    assert second.communicate()[0].strip() == "True"
    first.close()
    assert hand_over(["/x"], name) is False


def test_files_from_outside_are_shown_and_leave_an_unread_notice(qtbot, window, picture, tmp_path):
    """What leggio.main does with the files of a second start, and of Finder."""
    read_all(qtbot, window, [picture(f"{n:02}.png") for n in range(1, 31)])
    window.pages.show_item(window.model.item(0))
    (tmp_path / "empty").mkdir()
    window.open_inputs([tmp_path / "empty"])
    qtbot.waitUntil(lambda: "holds no picture" in window.desk.notice.text)
    unread = window.desk.notice.text
    window.store.set_window(follow=False)
    read_all(qtbot, window, [picture("b.png"), picture("a.png")], show=True)
    assert window.presenter.item is window.model.item(30) and window.presenter.item.title == "a.png"
    row = window.pages.visualRect(window.model.index_of(window.presenter.item))
    assert window.pages.viewport().rect().contains(row)
    assert window.pages.selected_items() == [window.presenter.item] and window.desk.notice.text == unread


def test_a_page_from_outside_stays_shown_while_an_earlier_one_is_read(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([picture("1.png"), picture("2.png")])
    qtbot.waitUntil(lambda: window.session.current is not None)
    window.open_inputs([picture("new.png")], show=True)
    qtbot.waitUntil(lambda: window.presenter.item is not None and window.presenter.item.title == "new.png")
    steps.release(10_000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert window.presenter.item.title == "new.png"


def test_a_refusal_does_not_take_the_place_of_another_notice(qtbot, window, tmp_path, monkeypatch):
    monkeypatch.setattr("leggio.look.notice.MOMENT_MS", 30)
    (tmp_path / "empty").mkdir()
    window.desk.notice.tell("Reading stopped.", "info", [("Go on", lambda: None)])
    window.open_inputs([tmp_path / "empty"], show=True)
    qtbot.waitUntil(lambda: "holds no picture" in window.desk.notice.text)
    qtbot.waitUntil(lambda: window.desk.notice.choices() == ["Go on"])
    assert window.desk.notice.text == "Reading stopped."


def test_arguments_are_absolute_for_another_process(tmp_path):
    assert arguments(["a.png", "/b.png"], tmp_path) == [str(tmp_path / "a.png"), "/b.png"]


def test_capture_says_clearly_when_there_is_no_portal(qtbot, window, monkeypatch):
    from leggio.sources import capture

    monkeypatch.setattr(capture, "_PORTAL", "org.example.NoSuchPortal")
    monkeypatch.setattr(capture, "ON_MACOS", False)
    window.actions_["capture"].trigger()
    qtbot.waitUntil(lambda: "cannot be captured here" in window.desk.notice.text)


@pytest.mark.parametrize("part", ["pages", "canvas", "text", "source", "welcome"])
def test_files_can_be_dropped_on_every_part_of_the_window(qtbot, window, picture, part):
    """Every pane passes the drag on to the window, which takes it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(picture("a.png")))])
    target = {
        "pages": window.pages.viewport(),
        "canvas": window.desk.canvas.viewport(),
        "text": window.panel.view.viewport(),
        "source": window.panel.source.viewport(),
        "welcome": window._welcome,
    }[part]
    enter = QDragEnterEvent(
        QPoint(20, 20),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(
        target,
        QDropEvent(
            QPointF(20, 20),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        ),
    )
    qtbot.waitUntil(lambda: window.model.rowCount() == 1)


@pytest.mark.skipif(
    not (shutil.which("dbus-run-session") and shutil.which("gdbus")),
    reason="needs dbus-run-session and gdbus (Debian: dbus-daemon, libglib2.0-bin)",
)
@pytest.mark.parametrize("granted", [True, False])
def test_a_part_of_the_screen_comes_through_the_desktops_portal(picture, granted):
    """A bus of its own with a portal that answers; Leggio's side runs in a process of its own as well."""
    shot = picture("shot.png")
    code = (
        "import subprocess, sys; from PySide6.QtCore import QCoreApplication, QTimer; app = QCoreApplication([])\n"
        "from leggio.sources.capture import ScreenCapture\n"
        "portal = subprocess.Popen([sys.executable, '-m', 'tests.leggio.fake_portal', sys.argv[1]],"
        " stdout=subprocess.PIPE)\n"
        "portal.stdout.readline()\n"
        "capture = ScreenCapture()\n"
        "capture.captured.connect(lambda path: (print('captured', path), app.quit()))\n"
        "capture.refused.connect(lambda words: (print('refused', words), app.quit()))\n"
        "QTimer.singleShot(0, capture.start); QTimer.singleShot(20_000, app.quit); app.exec(); portal.kill()\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    command = ["dbus-run-session", "--", sys.executable, "-c", code, str(shot) if granted else "refuse"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert run.stdout.strip() == (f"captured {shot}" if granted else "refused"), run.stderr


@pytest.mark.parametrize("chosen", [True, False])
def test_on_macos_the_systems_own_tool_captures(qtbot, window, tmp_path, monkeypatch, chosen):
    """A stand-in for `screencapture` on the path: it writes the picture it is told to, or nothing when given up."""
    from leggio.sources import capture

    shot = tmp_path / "shot.png"
    Image.new("RGB", (50, 40), "white").save(shot)
    tool = tmp_path / "screencapture"
    tool.write_text(f'#!/bin/sh\n[ "$1 $2" = "-i -x" ] && {"cp " + str(shot) + " $3" if chosen else "exit 1"}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(capture, "ON_MACOS", True)
    with qtbot.waitSignal(window.sheets._capture.captured if chosen else window.sheets._capture.refused):
        window.actions_["capture"].trigger()
    if chosen:
        qtbot.waitUntil(lambda: window.model.rowCount() == 1 and window.model.item(0).state is PageState.DONE)
        assert (window.model.item(0).page.width, window.model.item(0).page.height) == (50, 40)
    else:
        assert window.desk.notice.text == "" and window.model.rowCount() == 0
