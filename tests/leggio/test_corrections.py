"""Corrections are never lost: not by leaving while one is typed, not by reading a page again."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest
from PySide6.QtGui import QGuiApplication

from .scripted import ScriptedEngine
from .test_reading import read_all

TYPED = "The evening boat came in."


def type_into(window, index: int = 1) -> None:
    """Open the editor over a block and type, without leaving it."""
    window.panel.edit_block(index)
    assert window.panel.editor.index == index
    window.panel.editor.setPlainText(TYPED)


def remembered(data) -> list[str]:
    """The blocks of all pages that the history file holds."""
    with sqlite3.connect(data / "history.sqlite") as database:
        rows = database.execute("SELECT record FROM documents").fetchall()
    return [block["text"] for row in rows for page in json.loads(row[0]) for block in page["blocks"]]


@pytest.mark.parametrize("leave", ["quit", "close", "kill"])
def test_leaving_keeps_what_is_being_typed(qtbot, window, picture, tmp_path, leave):
    read_all(qtbot, window, [picture()])
    type_into(window)
    # A polite kill ends in shut_down alone: leggio.main.
    {"quit": window.actions_["quit"].trigger, "close": window.close, "kill": window.shut_down}[leave]()
    assert window.model.item(0).page.blocks[1].text == TYPED
    assert TYPED in remembered(tmp_path / "data")


@pytest.mark.parametrize("act", ["copy_all", "copy_markdown", "export", "region", "capture"])
def test_actions_find_what_is_being_typed_in_the_text(qtbot, window, picture, monkeypatch, act):
    read_all(qtbot, window, [picture()])
    seen: list[str] = []
    block = window.model.item(0).page.blocks
    monkeypatch.setattr("leggio.export.controller.ExportDialog.exec", lambda d: seen.append(block[1].text) or 0)
    monkeypatch.setattr(window.sheets._capture, "start", lambda: None)
    type_into(window)
    window.actions_[act].trigger()
    assert block[1].text == TYPED and window.panel.editor.isHidden()
    if act.startswith("copy"):
        assert TYPED in QGuiApplication.clipboard().text()
    if act == "export":
        assert seen == [TYPED]


def test_another_page_that_comes_into_view_keeps_what_is_being_typed(qtbot, window, picture):
    read_all(qtbot, window, [picture("1.png"), picture("2.png")])
    first, second = window.model.items
    window.pages.show_item(first)
    type_into(window)
    window.choice._move_to(second)
    assert (first.page.blocks[1].text, second.page.blocks[1].text[:11]) == (TYPED, "The morning")
    type_into(window, 0)
    window.presenter.reload()
    assert second.page.blocks[0].text == TYPED


def test_a_page_read_again_takes_the_typed_text_along_before_it_begins(qtbot, make_window, picture):
    steps = threading.Semaphore(10_000)
    window = make_window(ScriptedEngine(steps=steps))
    read_all(qtbot, window, [picture("1.png")])
    page = window.model.item(0).page
    while steps.acquire(blocking=False):
        pass
    type_into(window)
    window.session.read([window.model.item(0)])  # from a button that took no focus
    qtbot.waitUntil(lambda: page.blocks[1].text == TYPED)
    window.panel.edit_block(1)
    assert window.panel.editor.isHidden()  # nothing to correct while it is written
    steps.release(10_000)
    qtbot.waitUntil(lambda: not window.session.busy)


def test_what_is_dragged_out_holds_what_is_being_typed(qtbot, window, picture, tmp_path):
    read_all(qtbot, window, [picture()])
    type_into(window)
    path = window.drag_out._make(tmp_path)
    assert TYPED in path.read_text("utf-8")
