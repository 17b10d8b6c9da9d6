"""Things that go wrong while Leggio is at work: files that vanish, full and read-only places, documents that already
have text. Each ends in one clear line, and the window lives."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pymupdf
import pytest
from leggio.export.dialog import ExportDialog
from leggio.pages.items import PageState
from leggio.pages.wording import describe
from PIL import Image
from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtGui import QGuiApplication

from .scripted import ScriptedEngine
from .test_export import choice, write
from .test_reading import drop, read_all


def frames(path: Path, count: int) -> Path:
    pages = [Image.new("RGB", (100, 120 + n), "white") for n in range(count)]
    pages[0].save(path, save_all=True, append_images=pages[1:])
    return path


def test_a_file_that_vanishes_while_it_is_read_costs_only_what_is_left_of_it(qtbot, make_window, tmp_path, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine("words of a page", steps=steps))
    path = frames(tmp_path / "a.tiff", 3)
    window.open_inputs([path, picture("b.png")])
    qtbot.waitUntil(lambda: window.model.rowCount() == 4 and window.session.current is not None)
    qtbot.waitUntil(lambda: window.model.item(0).phase in ("vision", "decode"))
    path.unlink()
    steps.release(1000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [i.state for i in window.model.items] == [
        PageState.DONE,
        PageState.FAILED,
        PageState.FAILED,
        PageState.DONE,
    ]
    window.pages.show_item(window.model.item(1))
    assert window.panel.notice.text == "a.tiff cannot be opened: No such file or directory."
    assert window.panel.notice.choices() == ["Read again", "Other settings…"]


def test_a_file_that_became_shorter_says_which_page_is_gone(qtbot, make_window, tmp_path):
    window = make_window(ScriptedEngine("words"), read_at_once=False)
    path = frames(tmp_path / "a.tiff", 3)
    window.open_inputs([path])
    qtbot.waitUntil(lambda: window.model.rowCount() == 3)
    frames(path, 2)
    window.session.read(window.model.items)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [i.state for i in window.model.items] == [PageState.DONE, PageState.DONE, PageState.FAILED]
    assert window.model.item(2).error == "a.tiff has 2 pages, there is no page 3 any more."


def test_a_blank_page_in_the_middle_keeps_the_numbers_of_the_others(qtbot, make_window, tmp_path):
    window = make_window(ScriptedEngine(lambda n: "" if n == 1 else f"page {n + 1}"))
    read_all(qtbot, window, [frames(tmp_path / "a.tiff", 3)])
    assert [i.state for i in window.model.items] == [PageState.DONE, PageState.BLANK, PageState.DONE]
    assert [i.title for i in window.model.items] == ["a.tiff · 1", "a.tiff · 2", "a.tiff · 3"]
    write(qtbot, window, tmp_path / "a.json", choice("json"))
    pages = json.loads((tmp_path / "a.json").read_text())["documents"][0]["pages"]
    assert [p["index"] for p in pages] == [0, 1, 2] and [len(p["blocks"]) for p in pages] == [1, 0, 1]


@pytest.mark.parametrize("format_", ["txt", "md", "html", "docx", "json", "pdf"])
def test_a_disk_that_is_full_keeps_the_text_and_leaves_nothing(qtbot, window, picture, tmp_path, monkeypatch, format_):
    read_all(qtbot, window, [picture()])
    folder = tmp_path / "full"
    folder.mkdir()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("uocr.export.target.os.fsync", full)
    write(qtbot, window, folder / f"a.{format_}", choice(format_))
    notice = window.panel.notice
    assert "the disk is full" in notice.text and notice.choices() == ["Save elsewhere…", "Copy all text"]
    assert list(folder.iterdir()) == []
    notice.choose("Copy all text")
    assert QGuiApplication.clipboard().text().startswith("Notes from the ferry office")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders; run the tests as another user")
def test_a_read_only_folder_is_told(qtbot, window, picture, tmp_path):
    read_all(qtbot, window, [picture()])
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    write(qtbot, window, folder / "a.txt", choice("txt"))
    assert "writing there is not allowed" in window.panel.notice.text


@pytest.mark.parametrize("folder", ["/proc", "/sys"])
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs folders that nobody writes into")
def test_a_place_where_nobody_writes_is_told(qtbot, window, picture, folder):
    read_all(qtbot, window, [picture()])
    write(qtbot, window, Path(folder) / "a.txt", choice("txt"))
    notice = window.panel.notice
    assert notice.text.startswith(f"{folder}/a.txt: cannot be written: ")
    assert notice.choices() == ["Save elsewhere…", "Copy all text"]


@pytest.mark.parametrize("added", [False, True])
def test_a_pdf_that_already_has_text_keeps_it_unless_more_is_asked_for(qtbot, make_window, tmp_path, added):
    """Kind K23: born-digital pages."""
    source = tmp_path / "born.pdf"
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "already here")
        document.save(source)
    window = make_window(ScriptedEngine("<|det|>text [100, 100, 600, 160]<|/det|>newly read"))
    read_all(qtbot, window, [source])
    assert "The PDF page already carries text" in describe(window.model.item(0))
    dialog = ExportDialog({"page": 1, "document": 1, "all": 1}, window, text_layer=True)
    qtbot.addWidget(dialog)
    dialog.select("pdf")
    assert not dialog._layer.isHidden()
    dialog._layer.setChecked(added)
    write(qtbot, window, tmp_path / "out.pdf", dialog.choice)
    with pymupdf.open(tmp_path / "out.pdf") as result:
        text = result[0].get_text()
    assert "already here" in text and ("newly read" in text) is added
    assert ("has text already and was left as it is" in window.panel.notice.text) is not added


def test_a_second_export_waits_for_the_first(qtbot, window, picture, tmp_path, monkeypatch):
    read_all(qtbot, window, [picture()])
    asked: list[str] = []
    monkeypatch.setattr("leggio.export.controller.ExportDialog.exec", lambda dialog: asked.append("sheet") or 0)
    window.exporting.busy = True
    window.actions_["export"].trigger()
    assert asked == [] and window.panel.notice.text == "A file is still being written."
    window.exporting.busy = False
    window.actions_["export"].trigger()
    assert asked == ["sheet"]


@pytest.mark.parametrize(
    "kind", ["device", "pipe", "folder of folders", "dangling link", "name of bytes", "very long name"]
)
def test_odd_things_are_dropped(qtbot, window, tmp_path, kind):
    path = tmp_path / "odd"
    if kind == "device":
        path = Path("/dev/null")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder of folders":
        (path / "a" / "b" / "c").mkdir(parents=True)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "name of bytes":
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.png"))
        Image.new("RGB", (20, 20), "white").save(path, "PNG")
    else:
        path = tmp_path / ("x" * 300 + ".png")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    drop(window, data)
    qtbot.waitUntil(
        lambda: (window.desk.notice.text != "" or window.model.rowCount() == 1) and not window.opener.busy,
        timeout=20_000,
    )
    item = window.model.item(0)
    if item is not None:
        qtbot.waitUntil(lambda: item.state.over)
        assert item.state is PageState.DONE or item.error.count("\n") == 0 != len(item.error)


def test_quitting_while_files_are_looked_into_ends_at_once(qtbot, make_window, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(400):
        Image.new("L", (4, 4)).save(folder / f"{n}.png")
    window = make_window(ScriptedEngine())
    window.open_inputs([folder])
    assert window.close()
    assert window.model.rowCount() < 400
