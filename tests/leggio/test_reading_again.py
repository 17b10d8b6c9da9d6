"""A page that is read a second time: what is told meanwhile; the window then shows the reading that is kept."""

from __future__ import annotations

import threading

import pytest
from leggio.history.jobs import JobStore, job_key
from leggio.look.units import share_text
from leggio.memory.strip import EngineStrip
from leggio.pages.items import DocumentItem, PageItem, PageState
from leggio.pages.wording import badge, describe, explain
from leggio.settings.dialog import SettingsDialog
from uocr.document import Block, Box, FinishReason, Page, Timings

from .scripted import PAGE, ScriptedEngine, long_text, pieces
from .test_reading import read_all

SECOND = (
    "<|det|>title [100, 60, 820, 110]<|/det|>Notes from the ferry office\n"
    "<|det|>text [90, 170, 700, 340]<|/det|>The morning boat left with all its passengers.\n"
    "<|det|>text [100, 380, 800, 520]<|/det|>Tickets sold: 150."
)
"""As many blocks as PAGE has."""
FIRST_TEXT = (
    "Notes from the ferry office\nThe morning boat left with sixty-three passengers.\n"
    "Tickets sold: 148. Money in the box: 1,036 lire."
)
SECOND_TEXT = "Notes from the ferry office\nThe morning boat left with all its passengers.\nTickets sold: 150."


def again(tokens: int) -> str:
    """What the strip says when so many tokens of a second reading of PAGE are written."""
    return f"Reading again: {share_text(min(1, tokens / len(pieces(PAGE))))}"


def test_the_second_reading_takes_the_place_of_the_streamed_one(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(second=SECOND))
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: window.desk.canvas.page_size == (400, 560))
    item = window.model.item(0)
    assert item.state is PageState.DONE and item.page.kept_reading == 2
    assert window.panel.view.toPlainText() == SECOND_TEXT
    assert window.desk.canvas.block_rects(1)[0].left() == pytest.approx(90 / 999 * 400, abs=0.01)
    assert window.panel._editable and [b.text for b in window.presenter.blocks] == SECOND_TEXT.split("\n")
    count = item.page.timings.generated_tokens
    assert count == len(pieces(PAGE)) + len(pieces(SECOND))
    assert window.strip._tokens.text() == f"{count} tokens · 200 a second"
    assert window.strip._detail.text().startswith("Second reading kept · looked 0.6 s")
    assert describe(item).split("\n")[-1] == "Read twice: the second reading was surer"


def test_a_first_reading_that_is_kept_is_not_laid_out_anew(qtbot, make_window, picture, monkeypatch):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(second=SECOND, second_kept=False, steps=steps))
    window.open_inputs([picture()])
    steps.release(len(pieces(PAGE)) + 8)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == again(8))
    shown = []
    monkeypatch.setattr(window.panel, "show_blocks", lambda *a, **k: shown.append(a))
    steps.release(1000)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    assert shown == [] and window.panel.view.toPlainText() == FIRST_TEXT and window.panel._editable
    assert describe(window.model.item(0)).split("\n")[-1] == "Read twice: the first reading was surer"


def test_the_second_reading_is_told_while_the_first_stays_to_be_seen(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(second=SECOND, steps=steps))
    first = len(pieces(PAGE))
    window.open_inputs([picture("a.png"), picture("b.png")])
    steps.release(first)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == "Reading again")
    item = window.model.item(0)
    assert (badge(item), item.state) == ("Reading again 0%", PageState.READING)
    assert window.panel.view.toPlainText() == FIRST_TEXT and not window.panel._editable
    steps.release(16)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == again(16))
    assert window.strip._progress.value == round(1000 * 16 / first)
    assert badge(item).startswith(f"Reading again {round(100 * 16 / first)}")
    window.pages.show_item(window.model.item(1))
    assert window.strip._tokens.text() == "Reading page 1 of 2"
    window.pages.show_item(item)
    assert window.strip._tokens.text() == again(16)
    assert window.panel.view.toPlainText() == FIRST_TEXT
    window.presenter.pin(1, from_text=True)
    steps.release(1000)
    qtbot.waitUntil(lambda: item.state is PageState.DONE)
    qtbot.waitUntil(lambda: window.panel.view.toPlainText() == SECOND_TEXT)
    assert window.presenter.pinned == -1 and window.desk.canvas._lit == window.panel.view._lit == -1


def test_a_second_reading_longer_than_the_first_is_never_more_than_all(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(second=long_text(300), steps=steps))
    window.open_inputs([picture()])
    steps.release(len(pieces(PAGE)) + 200)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == again(200))
    assert window.strip._progress.value == 1000 and badge(window.model.item(0)) == "Reading again 100%"
    steps.release(1000)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)


def test_cancelled_in_its_second_reading_a_page_keeps_the_first(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(second=SECOND, steps=steps))
    window.open_inputs([picture()])
    steps.release(len(pieces(PAGE)) + 8)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == again(8))
    window.actions_["cancel"].trigger()
    qtbot.waitUntil(lambda: not window.session.busy)
    item = window.model.item(0)
    assert item.state is PageState.DONE and item.page.readings == 1
    assert window.panel.view.toPlainText() == FIRST_TEXT and window.panel._editable
    assert explain(item).text == "Reading the page a second time was cancelled, the first reading is kept."


@pytest.mark.parametrize("cancelled", [False, True])
def test_cancelled_in_its_second_reading_a_page_is_not_written_down(
    qtbot, make_window, picture, monkeypatch, cancelled
):
    """Going on after it would give the first reading where a window that was never closed has the second."""
    written = []
    monkeypatch.setattr(JobStore, "append", lambda self, job, key, page: written.append(page.raw_text))
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(second=SECOND, steps=steps))
    window.open_inputs([picture()])
    steps.release(len(pieces(PAGE)) + 8)
    qtbot.waitUntil(lambda: window.strip._tokens.text() == again(8))
    if cancelled:
        window.actions_["cancel"].trigger()
    steps.release(1000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert written == ([] if cancelled else [SECOND])


@pytest.mark.parametrize("kept", [1, 2])
@pytest.mark.parametrize("language", ["en", "it"])
def test_the_strip_says_which_reading_was_kept_and_all_of_it_can_be_seen(qtbot, qapp, kept, language):
    page = Page("a", 0, 9, 9, finish_reason=FinishReason.EOS, readings=2, kept_reading=kept)
    page.timings = Timings(12.3, 0.2, 31.5, 900, 893, 700)
    qapp.set_language(language)
    try:
        strip = EngineStrip()
        qtbot.addWidget(strip)
        strip.resize(1240, strip.sizeHint().height())
        strip.show()
        strip.show_page(page)
        shown = strip._detail.shown_text
        page.finish_reason = FinishReason.LOOP
        strip.show_page(page)
        whole = strip._detail.text()
    finally:
        qapp.set_language("en")
    words = {"en": ["First reading kept", "Second reading kept"], "it": ["Vale la 1ª lettura", "Vale la 2ª lettura"]}
    assert shown.startswith(words[language][kept - 1]) and not shown.endswith("…")
    assert words[language][kept - 1] in whole and not whole.startswith(words[language][kept - 1])


@pytest.mark.parametrize("source", [False, True])
def test_whoever_has_scrolled_stays_where_they_are(qtbot, make_window, picture, source):
    steps = threading.Semaphore(0)
    text = long_text(3000)
    window = make_window(ScriptedEngine(text, second=text.replace("boat", "ship"), steps=steps))
    window.panel.show_source(source)
    window.open_inputs([picture()])
    steps.release(len(pieces(text)))
    qtbot.waitUntil(lambda: window.strip._tokens.text() == "Reading again", timeout=20_000)
    bar = window.panel._shown.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    place = bar.value()
    assert place > 0
    steps.release(10_000)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE, timeout=20_000)
    qtbot.waitUntil(lambda: not window.panel.filling)
    assert "ship" in window.panel._shown.toPlainText() and "boat" not in window.panel._shown.toPlainText()
    assert bar.value() == place


def test_a_page_that_looped_first_is_done_where_its_second_reading_ended(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(second=SECOND, finish=FinishReason.LOOP))
    read_all(qtbot, window, [picture()])
    assert window.model.item(0).state is PageState.DONE and not window.panel.notice.isVisible()
    assert window.panel.view.toPlainText() == SECOND_TEXT


def test_a_region_that_is_read_twice_takes_its_place(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(second=SECOND))
    read_all(qtbot, window, [picture()])
    item = window.model.item(0)
    window.session.region[item.key] = (0, 90, 400, 190)
    window.session.read([item])
    qtbot.waitUntil(lambda: not window.session.busy)
    assert (item.page.readings, item.page.kept_reading) == (2, 2)
    assert window.panel.view.toPlainText() == item.page.text


def test_the_setting_reaches_the_engine_and_the_journals(qtbot, make_window, picture, store):
    store.set_read(read_again=False)
    engine = ScriptedEngine(second=SECOND)
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    assert engine.settings_seen[0]["read_again"] is False
    assert window.model.item(0).page.readings == 1 and window.panel.view.toPlainText() == FIRST_TEXT
    assert job_key("f", {"read_again": True}, "m", "e") != job_key("f", {"read_again": False}, "m", "e")


def test_the_settings_say_where_a_model_cannot_do_it(qtbot, window, store):
    for front_end, able in (({}, False), ({"read_again_below": 0.9}, True)):
        dialog = SettingsDialog(store, front_end, window)
        qtbot.addWidget(dialog)
        box = dialog._read._widgets["read_again"]
        assert box.isEnabled() is able and box.isChecked()
        assert ("does not say when it looks lost" in box.toolTip()) is not able
        if able:
            box.setChecked(False)
            dialog._take()
            assert store.read.read_again is False


def test_in_italian_it_is_told_in_italian(qapp):
    item = PageItem(DocumentItem("a", "a"), 0, state=PageState.READING, phase="again", progress=0.5)
    done = Page("a", 0, 9, 9, [Block("text", (Box(0, 0, 9, 9),), "a")], finish_reason=FinishReason.EOS, readings=2)
    assert qapp.set_language("it")
    try:
        assert badge(item).startswith("Lettura ripetuta 50")
        item.page, item.state = done, PageState.DONE
        assert describe(item).endswith("Letta due volte: la prima lettura era più sicura")
    finally:
        qapp.set_language("en")
