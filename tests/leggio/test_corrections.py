"""Corrections are never lost: not by leaving while one is typed, not by reading a page again."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest
from leggio.transcript import table_text
from PySide6.QtCore import QRectF
from PySide6.QtGui import QGuiApplication
from uocr.document import Block
from uocr.export.content import parts_of
from uocr.export.plain_text import block_text

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


# -- readings that take the place of a corrected text

MODELS = "The morning boat left with sixty-three passengers."


def corrected(qtbot, window, picture, name="1.png"):
    """A page that was read, with one block corrected."""
    read_all(qtbot, window, [picture(name)])
    item = window.model.items[-1]
    window.pages.show_item(item)
    window.corrections.take(1, TYPED)
    assert item.page.blocks[1].text == TYPED
    return item


def says(window, item) -> str:
    assert window.presenter.item is item and item.page.blocks[1].text in window.panel.view.toPlainText()
    return item.page.blocks[1].text


@pytest.mark.parametrize("way", ["read", "read_with"])
def test_reading_again_can_be_undone_and_every_step_does_something(qtbot, window, picture, monkeypatch, way):
    item = corrected(qtbot, window, picture)
    monkeypatch.setattr("leggio.window.sheets.ReadWithDialog.exec", lambda dialog: 1)
    window.actions_[way].trigger()
    assert not window.actions_["undo"].isEnabled()  # the page is about to be read
    qtbot.waitUntil(lambda: not window.session.busy)
    assert says(window, item) == MODELS
    told = "What was corrected on 1.png gave way to a new reading; Undo brings it back."
    assert window.desk.notice.text == told
    texts = []
    for name in ("undo", "undo", "redo", "redo"):
        window.actions_[name].trigger()
        texts.append(says(window, item))
    assert texts == [TYPED, MODELS, TYPED, MODELS]
    assert not window.actions_["redo"].isEnabled()


@pytest.mark.parametrize("turn", ["rotate", "rotate_left"])
def test_turning_a_corrected_page_can_be_undone(qtbot, window, picture, tmp_path, turn):
    item = corrected(qtbot, window, picture)
    window.actions_[turn].trigger()
    qtbot.waitUntil(lambda: not window.session.busy)
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (560, 400))
    assert says(window, item) == MODELS
    window.actions_["undo"].trigger()
    assert (says(window, item), item.rotate) == (TYPED, 0)
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (400, 560))
    assert TYPED in remembered(tmp_path / "data")
    window.actions_["redo"].trigger()
    assert (says(window, item), item.rotate) == (MODELS, {"rotate": 90, "rotate_left": 270}[turn])


def test_turning_back_before_it_is_read_has_the_text_again(qtbot, make_window, picture):
    window = make_window(ScriptedEngine())
    item = corrected(qtbot, window, picture)
    window.store.set_window(read_at_once=False)
    window.actions_["rotate"].trigger()
    assert item.page is None and window.panel.view.toPlainText() == ""
    window.actions_["undo"].trigger()
    assert (says(window, item), item.rotate, item.state) == (TYPED, 0, "done")


def test_a_region_leaves_corrections_elsewhere_and_their_steps(qtbot, window, picture):
    item = corrected(qtbot, window, picture)
    window.page_actions.read_region(QRectF(40, 210, 280, 80))
    qtbot.waitUntil(lambda: not window.session.busy)
    assert len(item.page.blocks) == 5 and item.edited and window.desk.notice.text == ""
    window.actions_["undo"].trigger()
    assert len(item.page.blocks) == 3 and says(window, item) == TYPED
    window.actions_["undo"].trigger()
    assert says(window, item) == MODELS and not window.actions_["undo"].isEnabled()


def test_nothing_is_said_where_nothing_was_corrected(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    for name in ("read", "rotate"):
        window.actions_[name].trigger()
        qtbot.waitUntil(lambda: not window.session.busy)
    assert window.desk.notice.text == ""


def test_steps_on_a_page_that_was_removed_are_passed_over(qtbot, window, picture):
    first = corrected(qtbot, window, picture, "1.png")
    second = corrected(qtbot, window, picture, "2.png")
    window.page_actions.remove([second])
    window.actions_["undo"].trigger()
    assert first.page.blocks[1].text == MODELS and not window.actions_["undo"].isEnabled()


def test_a_page_that_is_turned_while_it_is_read_is_read_the_other_way(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    engine = ScriptedEngine(steps=steps)
    window = make_window(engine)
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.session.current is not None and len(engine.settings_seen) == 1)
    item = window.model.item(0)
    window.actions_["rotate"].trigger()
    qtbot.waitUntil(lambda: len(engine.settings_seen) == 2)
    steps.release(10_000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [settings["rotate"] for settings in engine.settings_seen] == [0, 90]
    assert (item.state, item.page.width, says(window, item)) == ("done", 560, MODELS)
    assert not window.actions_["undo"].isEnabled()


# -- tables --------------------------------------------------------------------------------------------------------

PLAIN = "<table><tr><td>Month</td><td>Boats</td></tr><tr><td>May</td><td></td></tr></table>"
SPANS = '<table><tr><td colspan="2">a</td></tr><tr><td>b</td><td>c</td></tr></table>'


def test_a_table_is_corrected_as_rows_of_cells(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(f"<|det|>table [100, 60, 820, 110]<|/det|>{PLAIN}"))
    read_all(qtbot, window, [picture()])
    block, editor = window.model.item(0).page.blocks, window.panel.editor
    window.panel.edit_block(0)
    assert editor.toPlainText() == "Month\tBoats\nMay\t" and not editor.tabChangesFocus()
    editor.keep()
    assert block[0].text == PLAIN and not window.model.item(0).edited
    window.panel.edit_block(0)
    editor.setPlainText("Month\tBoats\nMay\t62\n")
    editor.keep()
    assert block[0].text == PLAIN.replace("<td></td>", "<td>62</td>")
    assert "62" in window.panel.view.toPlainText() and "<" not in window.panel.view.toPlainText()
    window.actions_["undo"].trigger()
    assert block[0].text == PLAIN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (PLAIN, "Month\tBoats\nMay\t"),
        (SPANS, SPANS.replace("</tr><tr>", "</tr>\n<tr>")),
        ("<table><tr><td>a", "<table><tr><td>a"),
        ("<table><tr><td>a\tb</td></tr></table>", "<table><tr><td>a\tb</td></tr></table>"),
        ("a <td> b", "a <td> b"),
    ],
)
def test_what_rows_cannot_say_stays_as_it_is_written(text, shown):
    assert table_text.shown(text) == shown
    assert parts_of(Block("table", (), table_text.written(shown, text))) == parts_of(Block("table", (), text))


def test_tags_that_are_printed_stay_words_when_their_text_is_corrected(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    blocks = window.model.item(0).page.blocks
    blocks[1] = Block("text", blocks[1].boxes, "The <td> tag", printed_tags=(4,))
    window.corrections.take(1, "The tags <table> and <td>x</td>.")
    assert block_text(blocks[1]) == "The tags <table> and <td>x</td>."
    window.corrections.take(1, PLAIN)
    assert block_text(blocks[1]) == "Month\tBoats\nMay\t"


def test_what_is_printed_in_a_cell_stays_printed_when_its_table_is_corrected(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    blocks = window.model.item(0).page.blocks
    text = "<table><tr><td>&amp;</td><td><b></td></tr></table>"
    blocks[1] = Block("table", blocks[1].boxes, text, printed_tags=(15, text.index("<b>")))
    window.corrections.take(1, text.replace("&amp;", "<b>&amp; or &lt;"))
    assert block_text(blocks[1]) == "<b>&amp; or &lt;\t<b>"
    blocks[1] = Block("table", blocks[1].boxes, text)
    window.corrections.take(1, text.replace("&amp;", "&lt;"))
    assert block_text(blocks[1]) == "<\t"
