"""The list of pages at work: a thousand of them, thumbnails, reading again, moving and removing by hand."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace

import pymupdf
import pytest
from leggio.pages import pictures as page_pictures
from leggio.pages.items import DocumentItem, PageItem, PageState
from leggio.pages.list_view import ROW_HEIGHT
from leggio.pages.pictures import KEPT_THUMBNAILS
from PIL import Image
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QWidget

from .scripted import ScriptedEngine
from .test_reading import read_all


def test_a_thousand_pages_scroll_with_work_for_the_rows_in_view_alone(qtbot, qapp, make_window, picture):
    window = make_window(ScriptedEngine(), read_at_once=False)
    path = picture("page.png", (60, 80))
    document = DocumentItem(path, "many.tiff", count=1000)
    window.choice.add([PageItem(document, 0) for _ in range(1000)])
    painted: list[int] = []
    thumbnail = window.pictures.thumbnail

    def counted(item: PageItem):
        painted.append(item.key)
        return thumbnail(item)

    window.pictures.thumbnail = counted
    bar, in_view = window.pages.verticalScrollBar(), window.pages.viewport().height() // ROW_HEIGHT + 2
    steps = range(0, bar.maximum() + 1, bar.maximum() // 100)
    most = 0
    for value in steps:
        painted.clear()
        bar.setValue(value)
        qapp.processEvents()
        # A thumbnail that became ready meanwhile paints its own row once more.
        most = max(most, len(set(painted)))
    assert bar.maximum() > 990 * ROW_HEIGHT - window.pages.viewport().height()
    assert most <= in_view + 2
    qtbot.waitUntil(lambda: thumbnail(window.model.item(999)) is not None, timeout=20_000)
    assert len(window.pictures._thumbnails) <= KEPT_THUMBNAILS


def test_thumbnails_and_pages_are_drawn_off_the_windows_thread(qtbot, window, picture, monkeypatch):
    threads: set[int] = set()
    convert = page_pictures.to_qimage

    def seen(image):
        threads.add(threading.get_ident())
        return convert(image)

    monkeypatch.setattr(page_pictures, "to_qimage", seen)
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: window.pictures.thumbnail(window.model.item(0)) is not None)
    qtbot.waitUntil(lambda: window.desk.canvas.page_size != (0, 0))
    assert len(threads) == 2 and threading.get_ident() not in threads


def test_the_thumbnail_of_a_gigantic_page_is_small_work(qtbot, make_window, tmp_path, monkeypatch):
    """Five metres square: at the thumbnails' usual 40 dots an inch it would be 64 million pixels."""
    path = tmp_path / "wall.pdf"
    with pymupdf.open() as document:
        document.new_page(width=14_400, height=14_400)
        document.save(path)
    sizes: list[tuple[int, int]] = []
    turned = page_pictures.turned
    monkeypatch.setattr(page_pictures, "turned", lambda image, d: (sizes.append(image.size), turned(image, d))[1])
    monkeypatch.setattr(Image.Image, "thumbnail", lambda image, *_, **__: sizes.append(image.size))
    window = make_window(ScriptedEngine(), read_at_once=False)
    window.open_inputs([path])
    qtbot.waitUntil(lambda: window.model.rowCount() == 1)
    qtbot.waitUntil(lambda: window.pictures.thumbnail(window.model.item(0)) is not None, timeout=20_000)
    assert max(w * h for w, h in sizes) < 2_000_000
    qtbot.waitUntil(lambda: "wall.pdf" in window.desk.notice.text)
    assert "60,000 x 60,000" in window.desk.notice.text or "60000 x 60000" in window.desk.notice.text
    window.session.read([window.model.item(0)])
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.FAILED)


def test_pages_are_read_again_and_the_old_text_goes(qtbot, make_window, picture):
    texts = iter(["first reading", "second reading"])
    engine = ScriptedEngine(lambda n: next(texts))
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    assert window.panel.view.toPlainText() == "first reading"
    window.actions_["read"].trigger()
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() == "second reading")
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    assert window.model.item(0).page.text == "second reading"


def test_read_goes_for_what_was_not_read_unless_pages_are_chosen(qtbot, make_window, picture):
    engine = ScriptedEngine()
    window = make_window(engine, read_at_once=False)
    window.open_inputs([picture(f"{n}.png") for n in (1, 2, 3)])
    qtbot.waitUntil(lambda: window.model.rowCount() == 3)
    window.session.read([window.model.item(0)])
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    window.actions_["read"].trigger()  # the only chosen page is done: the other two
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [name for name, _ in engine.read_pages] == ["1.png", "2.png", "3.png"]
    for row in (0, 2):
        index = window.model.index(row)
        window.pages.selectionModel().select(index, QItemSelectionModel.SelectionFlag.Select)
    window.actions_["read"].trigger()  # two chosen pages: these again
    qtbot.waitUntil(lambda: len(engine.read_pages) == 5 and not window.session.busy)
    assert {name for name, _ in engine.read_pages[3:]} == {"1.png", "3.png"}


def test_pages_are_moved_and_removed_with_keys(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(), read_at_once=False)
    window.open_inputs([picture(f"{n}.png") for n in (1, 2, 3)])
    qtbot.waitUntil(lambda: window.model.rowCount() == 3)
    window.pages.show_item(window.model.item(2))
    window.actions_["move_up"].trigger()
    assert [i.document.name for i in window.model.items] == ["1.png", "3.png", "2.png"]
    window.actions_["move_down"].trigger()
    window.actions_["move_down"].trigger()
    assert [i.document.name for i in window.model.items] == ["1.png", "2.png", "3.png"]
    qtbot.keyClick(window.pages, Qt.Key.Key_Delete)
    assert [i.document.name for i in window.model.items] == ["1.png", "2.png"]
    assert window.presenter.item is window.model.item(1)
    window.actions_["close_all"].trigger()
    assert window.model.rowCount() == 0 and not window.desk.shows_page
    assert window.panel.view.toPlainText() == ""


def test_the_menus_of_a_page_and_of_the_text_offer_their_actions(qtbot, window, picture):
    shown: list[list[str]] = []
    make = window.actions_.context_menu

    def made(names: Sequence[str], parent: QWidget) -> SimpleNamespace:
        menu = make(names, parent)
        shown.append([action.text() for action in menu.actions()])
        return SimpleNamespace(exec=lambda place: menu.close())

    window.actions_.context_menu = made
    read_all(qtbot, window, [picture()])
    window.pages.menu_wanted.emit(window.pages.mapToGlobal(window.pages.rect().center()), [window.model.item(0)])
    window.panel.view.menu_wanted.emit(window.pages.mapToGlobal(window.pages.rect().center()), 1)
    assert "Read with other settings…" in shown[0] and "Remove from list" in shown[0]
    assert "Copy as Markdown" in shown[1] and "Correct block" in shown[1]
    assert window.presenter.pinned == 1


@pytest.mark.parametrize("way", ["files", "folder", "sample"])
def test_the_open_dialogs_and_the_sample_add_pages(qtbot, window, picture, monkeypatch, way):
    path = picture("chosen/a.png")
    monkeypatch.setattr("leggio.window.intake.QFileDialog.getOpenFileNames", lambda *a, **k: ([str(path)], ""))
    monkeypatch.setattr("leggio.window.intake.QFileDialog.getExistingDirectory", lambda *a, **k: str(path.parent))
    if way == "sample":
        window._welcome.sample_wanted.emit()
    else:
        window.actions_["open" if way == "files" else "open_folder"].trigger()
    qtbot.waitUntil(lambda: window.model.rowCount() == 1 and window.model.item(0).state is PageState.DONE)
    assert window.model.item(0).document.name == ("scan.jpg" if way == "sample" else "a.png")
