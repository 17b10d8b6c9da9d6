"""From a file dropped to text, boxes and counts in the window, over the scripted engine."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from leggio.pages.items import PageItem, PageState
from leggio.pages.wording import badge
from leggio.window.main_window import MainWindow
from PIL import Image
from PySide6 import QtWidgets
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from uocr.document import FinishReason
from uocr.errors import OverBudget
from uocr.export import to_text

from .scripted import BUDGET, CATEGORIES, PAGE, ScriptedEngine, long_text, one_of, unsure_engine


def read_all(qtbot: Any, window: MainWindow, inputs: list[Any], within_ms: int = 20_000, **options: Any) -> None:
    """Open inputs and wait until all of them are read."""
    window.open_inputs(inputs, **options)
    qtbot.waitUntil(
        lambda: window.model.rowCount() > 0 and not window.opener.busy and not window.session.busy,
        timeout=within_ms,
    )
    qtbot.waitUntil(lambda: not window.panel.filling)


def drop(window: MainWindow, data: QMimeData) -> QDropEvent:
    event = QDropEvent(
        QPointF(300, 300),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)
    return event


def test_a_dropped_file_is_read_and_shown(qtbot, window, picture):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(picture("scan.png")))])
    drop(window, data)
    qtbot.waitUntil(lambda: window.model.rowCount() == 1 and window.model.item(0).state is PageState.DONE)
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (400, 560))
    assert window.panel.view.toPlainText() == (
        "Notes from the ferry office\nThe morning boat left with sixty-three passengers.\n"
        "Tickets sold: 148. Money in the box: 1,036 lire."
    )
    assert [window.panel.view.writer.block(i).label for i in range(3)] == ["title", "text", "text"]
    assert window.windowTitle() == "scan.png — Leggio"


def test_boxes_lie_where_the_model_put_them(qtbot, window, picture):
    read_all(qtbot, window, [picture("odd.png", (397, 561))])
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (397, 561))
    rect = window.desk.canvas.block_rects(1)[0]
    # text [100, 180, 800, 330] of 999 on 397 x 561 pixels
    assert rect.left() == pytest.approx(39.74, abs=0.01)
    assert rect.top() == pytest.approx(101.08, abs=0.01)
    assert rect.right() == pytest.approx(317.92, abs=0.01)
    assert rect.bottom() == pytest.approx(185.32, abs=0.01)


def test_text_streams_while_it_is_read_and_the_writing_block_is_lit(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.session.current is not None)
    qtbot.waitUntil(lambda: window.desk.canvas.page_size != (0, 0))
    steps.release(13)  # the tag of the title and its first words
    qtbot.waitUntil(lambda: window.panel.view.toPlainText().startswith("Note"))
    assert window.model.item(0).state is PageState.READING
    canvas = window.desk.canvas
    assert [i.state for i in canvas._blocks[0]] == ["writing"]
    steps.release(400)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    assert all(i.state == "" for items in canvas._blocks.values() for i in items)
    assert len(canvas._blocks) == 3


def test_the_strip_shows_memory_tokens_and_the_engine(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    strip = window.strip
    assert strip._memory.text() == "Memory 40.0 MB of 4.00 GB"
    assert [s.bytes for s in strip.bar.segments()] == list(CATEGORIES.values())
    assert strip.bar.scale_bytes == 60_000_000  # half as much again as the 40 MB that are promised
    assert strip.bar.segments()[-1].rect.right() == pytest.approx(strip.bar.width() * 2 / 3)
    assert strip._tokens.text() == f"{window.model.item(0).page.timings.generated_tokens} tokens · 200 a second"
    assert strip._engine.text() == "scripted"
    assert "Budget: 4.00 GB" in strip.bar.hover_text(QPointF(-1, -1))
    assert BUDGET == 4_000_000_000


def test_cancel_stops_the_page_and_drops_the_waiting_ones(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    engine = ScriptedEngine(steps=steps)
    window = make_window(engine)
    window.open_inputs([picture("1.png"), picture("2.png"), picture("3.png")])
    qtbot.waitUntil(lambda: window.session.current is not None and window.session.waiting == 2)
    steps.release(13)
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() != "")
    window.actions_["cancel"].trigger()
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [i.state for i in window.model.items] == [PageState.CANCELLED] * 3
    assert window.model.item(0).page.text.startswith("Note")
    assert len(engine.read_pages) == 1
    assert "cancelled" in window.panel.notice.text


def test_pause_holds_and_goes_on(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.session.current is not None)
    steps.release(13)
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() != "")
    window.actions_["pause"].trigger()
    assert window.session.paused
    assert window.strip._tokens.text() == "Paused"
    steps.release(1)  # a token may already have been on its way
    qtbot.wait(60)
    held = window.panel.view.toPlainText()
    steps.release(400)
    qtbot.wait(100)
    assert window.panel.view.toPlainText() == held
    window.actions_["pause"].trigger()
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)


def test_files_come_in_the_order_people_count(qtbot, window, picture, tmp_path):
    for name in ("b/page10.png", "b/page2.png", "b/page1.png"):
        picture(name)
    read_all(qtbot, window, [tmp_path / "b"])
    assert [i.document.name for i in window.model.items] == ["page1.png", "page2.png", "page10.png"]


def test_the_engine_is_touched_by_one_thread_alone(qtbot, window, engine, picture):
    read_all(qtbot, window, [picture("1.png"), picture("2.png")])
    assert len(engine.threads) == 1
    assert threading.get_ident() not in engine.threads


@pytest.mark.parametrize(
    ("finish", "state", "words"),
    [
        (FinishReason.LENGTH, PageState.CUT, "did not fit"),
        (FinishReason.LOOP, PageState.LOOPED, "repeat itself"),
    ],
)
def test_a_page_cut_short_is_never_called_done(qtbot, make_window, picture, finish, state, words):
    window = make_window(ScriptedEngine(finish=finish))
    read_all(qtbot, window, [picture()])
    assert window.model.item(0).state is state
    assert words in window.panel.notice.text


def test_a_blank_page_is_blank_not_failed_and_numbering_stays(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(lambda n: ""))
    read_all(qtbot, window, [picture(blank=True)])
    assert window.model.item(0).state is PageState.BLANK
    assert "blank" in window.panel.notice.text


def test_ink_without_text_is_not_called_blank_and_can_be_turned(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(lambda n: ""), follow=False)
    paths = [picture(name, blank=True) for name in ("1.png", "2.png", "3.png")]
    for path in paths[:2]:
        page = Image.open(path)
        for top in range(60, 500, 40):
            page.paste("black", (50, top, 150, top + 14))
        page.save(path)
    read_all(qtbot, window, paths)
    first, second, third = window.model.items
    qtbot.waitUntil(lambda: [i.state for i in (first, second)] == [PageState.NO_TEXT] * 2)  # shown or not
    assert [badge(i) for i in window.model.items] == ["No text found", "No text found", "Blank"]
    told = "No text was found, though there is ink on the page: it may be turned, too small or blurred, or in a "
    told += "script or hand that the model does not read."
    choices = ["Turn right", "Turn left", "Turn around"]
    assert (window.panel.notice.text, window.panel.notice.choices()) == (told, choices)
    qtbot.waitUntil(lambda: {m.kind for m in window.desk.canvas._marks} == {"missed"})
    window.store.set_window(read_at_once=False)
    window.panel.notice.choose("Turn left")
    qtbot.waitUntil(lambda: not window.session.busy)
    assert (first.rotate, second.rotate, third.state) == (270, 0, PageState.BLANK)
    qtbot.waitUntil(lambda: first.state is PageState.NO_TEXT)
    assert first.page.ink_without_text and second.page.ink_without_text and not third.page.ink_without_text


def test_a_page_with_hardly_a_sure_word_can_be_turned_around(qtbot, make_window, picture):
    engine = unsure_engine()
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    item, notice = window.model.item(0), window.panel.notice
    assert notice.choices() == ["Turn around", "Turn right", "Turn left"]
    engine._doubt = {}
    notice.choose("Turn around")
    qtbot.waitUntil(lambda: item.state is PageState.DONE)
    assert (item.rotate, engine.settings_seen[-1]["rotate"], notice.text) == (180, 180, "")


def test_a_page_of_which_the_model_is_unsure_says_so_until_a_person_corrects_it(qtbot, make_window, picture):
    window = make_window(unsure_engine())
    read_all(qtbot, window, [picture()])
    item, notice = window.model.item(0), window.panel.notice
    told = "The model was only 43% sure of this page, and of hardly any word: the page may be turned, too small or "
    told += "blurred, or in a script or hand that the model does not read."
    assert (badge(item), notice.text, notice._kind) == ("Unsure", told, "warn")
    assert "Page 1: the model is unsure (confidence 0.43); the text may be wrong" in to_text([item.page], "md")
    for index in range(3):
        assert (item.state, notice.isVisible()) == (PageState.UNSURE, True)
        window.corrections.take(index, "Read by a person.")
    assert (badge(item), notice.isVisible()) == ("Done", False)
    assert "unsure" not in to_text([item.page], "md")
    window.actions_["undo"].trigger()
    assert (badge(item), notice.text, notice.isVisible()) == ("Unsure", told, True)


def test_a_refused_run_shows_the_table_and_ways_out(qtbot, make_window, picture):
    def refuse(number: int) -> str:
        raise OverBudget(
            "In MB: KV cache 3000.0. One view of 640 pixels would fit.",
            {"model views": 6_000_000_000, "KV cache": 3_000_000_000, "vision workspace": 1_000_000_000},
            9_000_000_000,
            4_000_000_000,
        )

    window = make_window(ScriptedEngine(refuse))
    read_all(qtbot, window, [picture()])
    notice = window.panel.notice
    assert window.model.item(0).state is PageState.FAILED
    assert notice.text == "page.png needs 9.00 GB of memory, the budget is 4.00 GB."
    assert notice.detail.startswith("In MB:")
    assert notice.detail_rows() == [
        ("Model", "6.00 GB"),
        ("Text memory", "3.00 GB"),
        ("Looking", "1.00 GB"),
        ("Not held at the same time", "\N{MINUS SIGN}1.00 GB"),
        ("Needed", "9.00 GB"),
        ("Budget", "4.00 GB"),
    ]
    assert "Smaller views" in notice.choices()


def test_reading_again_with_a_smaller_preset_after_a_refusal(qtbot, make_window, picture):
    engine = ScriptedEngine()
    refusals = iter([True, False])

    def script(number: int) -> str:
        if next(refusals):
            raise OverBudget("Too large.", {"model views": 1}, 9, 4)
        return PAGE

    engine._script = script
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    window.panel.notice.choose("Smaller views")
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    assert engine.settings_seen[-1]["preset"] == "small"


def test_a_region_is_read_alone_and_takes_its_place_in_the_text(qtbot, make_window, picture):
    texts = iter([PAGE, "<|det|>text [0, 0, 999, 999]<|/det|>The morning boat left early."])
    engine = ScriptedEngine(lambda n: next(texts))
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (400, 560))
    rect = window.desk.canvas.block_rects(1)[0].adjusted(-4, -4, 4, 4)
    window.page_actions.read_region(rect)
    qtbot.waitUntil(lambda: len(engine.read_pages) == 2 and not window.session.busy)
    assert engine.settings_seen[-1]["region"] == (36, 96, 324, 189)
    page = window.model.item(0).page
    assert [b.text for b in page.blocks] == [
        "Notes from the ferry office",
        "The morning boat left early.",
        "Tickets sold: 148. Money in the box: 1,036 lire.",
    ]
    assert window.model.item(0).state is PageState.DONE


def test_turning_a_page_reads_it_anew_that_way(qtbot, window, engine, picture):
    read_all(qtbot, window, [picture()])
    window.actions_["rotate"].trigger()
    qtbot.waitUntil(lambda: len(engine.read_pages) == 2 and not window.session.busy)
    assert engine.settings_seen[-1]["rotate"] == 90
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (560, 400))


def test_every_page_keeps_its_own_text(qtbot, make_window, tmp_path):
    path = tmp_path / "three.tiff"
    frames = [Image.new("RGB", (200, 100 + 10 * n), "white") for n in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    window = make_window(ScriptedEngine(one_of([f"page {n}" for n in range(3)])))
    read_all(qtbot, window, [path])
    assert [i.page.text for i in window.model.items] == ["page 0", "page 1", "page 2"]
    window.pages.show_item(window.model.item(1))
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() == "page 1")


def test_a_page_range_is_kept_and_the_rest_removed(qtbot, make_window, tmp_path, monkeypatch):

    path = tmp_path / "five.tiff"
    frames = [Image.new("RGB", (60, 60), "white") for _ in range(5)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    window = make_window(ScriptedEngine("words"), read_at_once=False)
    read_all(qtbot, window, [path])
    monkeypatch.setattr(QtWidgets.QInputDialog, "getText", lambda *a, **k: ("1-2,-1", True))
    window.actions_["choose_pages"].trigger()
    assert [i.number for i in window.model.items] == [0, 1, 4]


def test_settings_for_some_pages_alone(qtbot, window, engine, picture, monkeypatch):
    from leggio.settings.dialog import ReadWithDialog

    read_all(qtbot, window, [picture("1.png"), picture("2.png")])

    def answer(dialog: ReadWithDialog) -> int:
        preset = dialog._form._widgets["preset"]
        preset.setCurrentIndex(preset.findData("tiny"))
        return 1

    monkeypatch.setattr(ReadWithDialog, "exec", answer)
    window.pages.show_item(window.model.item(1))
    window.actions_["read_with"].trigger()
    qtbot.waitUntil(lambda: len(engine.read_pages) == 3 and not window.session.busy)
    assert engine.settings_seen[-1]["preset"] == "tiny"
    assert engine.settings_seen[0]["preset"] is None


def test_the_memory_of_a_page_is_told_before_it_is_read(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(), read_at_once=False)
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.strip._estimate.text() == "reading takes at most 40.0 MB")
    assert window.model.item(0).state is PageState.NEW


def test_pages_are_read_in_the_order_of_the_list_even_when_it_changes(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    engine = ScriptedEngine(steps=steps)
    window = make_window(engine)
    window.open_inputs([picture(f"{n}.png") for n in (1, 2, 3)])
    qtbot.waitUntil(lambda: window.session.current is not None and window.session.waiting == 2)
    window.model.move([window.model.item(2)], 1)
    steps.release(1000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [name for name, _ in engine.read_pages] == ["1.png", "3.png", "2.png"]


def test_a_page_removed_while_it_is_read_stops_and_the_next_is_read(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([picture("1.png"), picture("2.png")])
    qtbot.waitUntil(lambda: window.session.current is not None and window.session.waiting == 1)
    window.page_actions.remove([window.model.item(0)])
    steps.release(1000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [(i.document.name, i.state) for i in window.model.items] == [("2.png", PageState.DONE)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_five_hundred_pages_are_read_with_flat_memory(qtbot, make_window, tmp_path):
    """Kind K18. A page keeps its text and boxes, under 10 kB; nothing else may pile up."""
    path = tmp_path / "many.tiff"
    frames = [Image.new("L", (300, 400), 255 - n % 5) for n in range(500)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    window = make_window(ScriptedEngine(long_text(60, 20)), keep_history=False)
    resident: dict[int, int] = {}

    def over(item: PageItem, *_: object) -> None:
        resident[item.number] = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    window.session.ended.connect(over)
    read_all(qtbot, window, [path], within_ms=120_000)
    assert [i.state for i in window.model.items] == [PageState.DONE] * 500
    assert resident[499] - resident[100] < 400 * 10_000 + 16_000_000
