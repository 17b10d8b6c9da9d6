"""Several pages read in one pass: each gets its own blocks while they stream; too many are read fewer at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from leggio.pages.items import PageState
from leggio.reading.frames import BlockBegan, BlockEnded, BlockGrew, Gatherer
from leggio.reading.route import Route
from leggio.reading.task import PageTask
from leggio.settings.dialog import SettingsDialog
from leggio.sources.inputs import LastInput
from PIL import Image
from uocr.document import FinishReason

from .scripted import ScriptedEngine, pieces
from .test_reading import read_all


def script(number: int) -> str:
    return (
        f"<|det|>title [100, 100, 800, 150]<|/det|>Page {number}\n"
        f"<|det|>text [100, {200 + number}, 800, 400]<|/det|>What page {number} says."
    )


@pytest.fixture
def four_pages(tmp_path) -> Path:
    path = tmp_path / "four.tiff"
    frames = [Image.new("RGB", (300, 400 + 20 * n), "white") for n in range(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    return path


@pytest.fixture
def together(store):
    store.set_read(one_pass=True)
    return store


def test_all_pages_of_a_document_are_read_in_one_pass(qtbot, together, make_window, four_pages, picture):
    engine = ScriptedEngine(script, most_pages=10)
    window = make_window(engine)
    read_all(qtbot, window, [four_pages, picture("z.png")])
    assert [s["one_pass"] for s in engine.settings_seen] == [True, False]
    assert [i.state for i in window.model.items] == [PageState.DONE] * 5
    assert [i.page.text for i in window.model.items][:4] == [f"Page {n}\nWhat page {n} says." for n in range(4)]
    assert [i.page.blocks[1].boxes[0].y1 for i in window.model.items][:4] == [200, 201, 202, 203]
    window.pages.show_item(window.model.item(2))
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() == "Page 2\nWhat page 2 says.")


def test_each_page_of_a_pass_is_told_as_unsure(qtbot, together, make_window, four_pages):
    engine = ScriptedEngine(script, most_pages=10)
    engine.front_end["confidence_threshold"] = 0.995  # it is 99% sure of every word
    window = make_window(engine)
    read_all(qtbot, window, [four_pages])
    assert [i.state for i in window.model.items] == [PageState.UNSURE] * 4
    assert window.panel.notice.text.startswith("The model was only 99% sure of this page, and of hardly any word")


def test_blocks_are_numbered_within_their_page_while_they_stream(four_pages):
    engine, gatherer = ScriptedEngine(script, most_pages=10), Gatherer()
    task = PageTask((11, 12, 13), four_pages, "four.tiff", (0, 1, 3))
    source = LastInput().pages(four_pages, "four.tiff", task.numbers)
    route = Route(task, source)
    seen: list[tuple[type, int, int]] = []
    for event in engine.stream(source, one_pass=True):
        for key, part, first in route.of(event):
            gatherer.push(key, part, first)
            seen += [
                (type(c), c.key, c.index)
                for c in gatherer.take().changes
                if isinstance(c, BlockBegan | BlockGrew | BlockEnded)
            ]
    assert [(key, index) for kind, key, index in seen if kind is BlockBegan] == [
        (11, 0),
        (11, 1),
        (12, 0),
        (12, 1),
        (13, 0),
        (13, 1),
    ]
    # The end of a block is heard of when the next page has begun: it belongs to its own page all the same.
    assert [(key, index) for kind, key, index in seen if kind is BlockEnded] == [
        (11, 0),
        (11, 1),
        (12, 0),
        (12, 1),
        (13, 0),
        (13, 1),
    ]
    assert {(key, index) for kind, key, index in seen if kind is BlockGrew} == {
        (k, n) for k in (11, 12, 13) for n in (0, 1)
    }


def test_too_many_pages_are_refused_and_read_as_many_at_a_time_as_fit(qtbot, together, make_window, four_pages):
    engine = ScriptedEngine(script, most_pages=3)
    window = make_window(engine)
    read_all(qtbot, window, [four_pages])
    assert [i.state for i in window.model.items] == [PageState.FAILED] * 4
    notice = window.panel.notice
    assert notice.choices() == ["3 pages at a time", "One page at a time", "Memory budget…"]
    notice.choose("3 pages at a time")
    qtbot.waitUntil(lambda: [i.state for i in window.model.items] == [PageState.DONE] * 4)
    assert [s["one_pass"] for s in engine.settings_seen] == [True, True, False]
    assert [n for _, n in engine.read_pages] == [0, 1, 2, 3]


def test_one_page_at_a_time_is_always_a_way_out(qtbot, together, make_window, four_pages):
    engine = ScriptedEngine(script, most_pages=1)
    window = make_window(engine)
    read_all(qtbot, window, [four_pages])
    window.panel.notice.choose("One page at a time")
    qtbot.waitUntil(lambda: [i.state for i in window.model.items] == [PageState.DONE] * 4)
    assert [s["one_pass"] for s in engine.settings_seen] == [True, False, False, False, False]


def test_cancelling_keeps_what_was_read_of_the_pass(qtbot, together, make_window, four_pages):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(script, most_pages=10, steps=steps))
    window.open_inputs([four_pages])
    qtbot.waitUntil(lambda: window.session.current is not None)
    steps.release(len(pieces(f"<PAGE>{script(0)}")) + 15)  # the first page and the beginning of the second
    qtbot.waitUntil(lambda: window.session.current is window.model.item(1))
    window.actions_["cancel"].trigger()
    qtbot.waitUntil(lambda: not window.session.busy)
    assert [i.state for i in window.model.items] == [PageState.DONE] + [PageState.CANCELLED] * 3
    assert window.model.item(0).page.text == "Page 0\nWhat page 0 says."


def test_the_page_that_is_written_is_shown(qtbot, together, make_window, four_pages):
    window = make_window(ScriptedEngine(script, most_pages=10))
    shown: list[int] = []
    window.session.turned_to.connect(lambda item: shown.append(window.presenter.item.number))
    read_all(qtbot, window, [four_pages])
    assert shown == [0, 1, 2, 3] and window.presenter.item.number == 3


def test_a_model_that_reads_pages_one_by_one_says_so(qtbot, together, make_window, four_pages):
    engine = ScriptedEngine(script)
    window = make_window(engine)
    assert "pages are read one by one" in window.desk.notice.text
    read_all(qtbot, window, [four_pages])
    assert [s["one_pass"] for s in engine.settings_seen] == [False] * 4
    assert [i.page.finish_reason for i in window.model.items] == [FinishReason.EOS] * 4


@pytest.mark.parametrize("able", [True, False])
def test_the_setting_is_shown_and_says_whether_the_model_can(qtbot, window, store, able):
    dialog = SettingsDialog(store, {"multi_page": able}, window)
    qtbot.addWidget(dialog)
    box = dialog._read._widgets["one_pass"]
    assert box.isEnabled() is able
    assert "several pages at once" in box.toolTip()
    assert ("was not trained for it" in box.toolTip()) is not able


def test_the_memory_of_the_whole_pass_is_told_before_it_is_read(qtbot, together, make_window, four_pages):
    window = make_window(ScriptedEngine(script, most_pages=10), read_at_once=False)
    window.open_inputs([four_pages])
    qtbot.waitUntil(lambda: window.strip._estimate.text() == "reading takes at most 160 MB")
