"""The text side: rendering, links with the page, doubtful words, corrections, find, copying, safety."""

from __future__ import annotations

import threading

import pytest
from leggio.export.clipboard import copy
from leggio.look.notice import Row
from leggio.pages.items import PageState
from leggio.transcript.doubts import DOUBT_PROPERTY
from leggio.transcript.formulas import FormulaKey, formula_svg
from leggio.transcript.view import clean_html
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QTextDocument, QTextTable
from uocr.document import Block, Box, Word

from .scripted import PAGE, ScriptedEngine, pieces
from .test_reading import read_all

RICH = (
    "<|det|>title [50, 50, 900, 90]<|/det|># Prices\n"
    '<|det|>table [50, 120, 900, 300]<|/det|><table><tr><td colspan="2">Fruit</td><td>Price</td></tr>'
    "<tr><td>Lemon</td><td>a | b</td><td>2</td></tr></table>\n"
    "<|det|>text [50, 320, 900, 400]<|/det|>- first point\n- second point\n"
    "<|det|>text [50, 410, 900, 450]<|/det|>Where \\(x^2\\) is the area.\n"
    "<|det|>equation [50, 460, 900, 500]<|/det|>\\[\\frac{a}{b}\\]\n"
    "<|det|>image [50, 520, 500, 800]<|/det|>\n"
    "<|det|>text [50, 820, 900, 900]<|/det|>שלום עולם"
)


@pytest.fixture
def rich(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(RICH))
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: window.desk.canvas.page_size != (0, 0))
    qtbot.waitUntil(lambda: not window.panel.view.writer._waiting, timeout=15_000)
    return window


def test_headings_tables_lists_formulas_and_pictures_are_drawn(rich):
    view = rich.panel.view
    document = view.document()
    assert document.begin().text() == "Prices"
    assert document.begin().blockFormat().headingLevel() == 1
    tables = [f for f in document.rootFrame().childFrames() if isinstance(f, QTextTable)]
    assert [(t.rows(), t.columns()) for t in tables] == [(2, 3)]
    assert tables[0].cellAt(0, 0).columnSpan() == 2
    assert tables[0].cellAt(1, 1).firstCursorPosition().block().text() == "a | b"
    text = view.toPlainText()
    assert "•\tfirst point" in text and "•\tsecond point" in text
    images = image_names(document)
    assert len([n for n in images if n.startswith("leggio-formula:")]) == 2
    assert len([n for n in images if n.startswith("leggio-picture:")]) == 1


def test_markdown_source_is_what_would_be_exported(qtbot, rich):
    rich.actions_["source"].trigger()
    source = rich.panel.source.toPlainText()
    assert source.startswith("# Prices\n\n<table>")
    assert "- first point\n- second point" in source
    assert "Where $x^2$ is the area." in source
    assert "$$\\frac{a}{b}$$" in source
    rich.actions_["source"].trigger()
    qtbot.waitUntil(lambda: rich.panel.view.document().begin().text() == "Prices")


def test_right_to_left_text_stays_in_order(rich):
    block = rich.panel.view.document().lastBlock()
    assert block.text() == "שלום עולם"
    assert block.textDirection() == Qt.LayoutDirection.RightToLeft


def image_names(document: QTextDocument) -> list[str]:
    names, block = [], document.begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            format_ = iterator.fragment().charFormat()
            if format_.isImageFormat():
                names.append(format_.toImageFormat().name())
            iterator += 1
        block = block.next()
    return names


def test_pointing_at_text_lights_the_box_and_the_other_way_round(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: window.desk.canvas.page_size != (0, 0))
    canvas, view = window.desk.canvas, window.panel.view
    place = view.block_rect(1).center()
    assert view.index_at(place) == 1
    view.block_pointed.emit(1)
    assert [i.state for i in canvas._blocks[1]] == ["lit"]
    inside = canvas.mapFromScene(canvas.block_rects(2)[0].center())
    qtbot.mouseMove(canvas.viewport(), inside)
    qtbot.waitUntil(lambda: canvas._blocks[2][0].state == "lit")
    assert len(view.extraSelections()) == 1
    qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=inside)
    assert window.presenter.pinned == 2


def test_doubtful_words_are_marked_and_walked(qtbot, make_window, picture):
    text = (
        "<|det|>text [10, 10, 900, 90]<|/det|>one twoo thre four fivo six\n<|det|>text [10, 110, 900, 190]<|/det|>seve"
    )
    window = make_window(ScriptedEngine(text, doubt={" thr": -2.0, "seve": -1.0}))
    read_all(qtbot, window, [picture()])
    view = window.panel.view
    marked = doubtful_text(view.document())
    assert marked == ["thre", "seve"]
    seen = []
    for _ in range(3):
        window.actions_["next_doubtful"].trigger()
        seen.append(view.textCursor().selectedText())
    assert seen == ["thre", "seve", "thre"]


def doubtful_text(document: QTextDocument) -> list[str]:
    found, block = [], document.begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            if fragment.charFormat().hasProperty(DOUBT_PROPERTY):
                found.append(fragment.text())
            iterator += 1
        block = block.next()
    return found


def test_doubts_are_marked_inside_tables_and_behind_wide_characters(qtbot, window):
    writer = window.panel.view.writer
    writer.clear()
    writer.add(
        Block(
            "text",
            (),
            "𝔘𝔲 sure unsure",
            words=[Word("𝔘𝔲", 0, 0.9), Word("sure", 3, 0.9), Word("unsure", 8, 0.1)],
        )
    )
    writer.add(
        Block(
            "table",
            (),
            "<table><tr><td>yes</td><td>maybe</td></tr></table>",
            words=[Word("yes", 15, 0.9), Word("maybe", 27, 0.2)],
        )
    )
    assert doubtful_text(window.panel.view.document()) == ["unsure", "maybe"]


@pytest.mark.parametrize(
    ("label", "text", "doubtful", "before"),
    [
        ("text", "600.00 and 24.00 and .00 and 24.00", [".00", "24.00"], "600.00 and 24.00 and "),
        ("text", "- 24.00\n- 24.00 too", ["24.00"], "•\t24.00|•\t"),
        ("text", "1. one 1. two\n2. one", ["one"], "1.\tone 1. two|2.\t"),
        ("text", "Where \\(a b\\) is b, a is b", ["b"], "Where a b is b, a is "),
        ("title", "# 24.00 of 24.00", ["24.00"], "24.00 of "),
        (
            "table",
            "<table><tr><td>24.00</td><td>A &amp; 600.00</td></tr><tr><td>m<sup>2</sup></td><td>.00</td></tr>"
            "<tr><td>x</td><td>24.00</td></tr></table>",
            [".00", "24.00"],
            "24.00|A & 600.00|m2",
        ),
        ("table", '<table><tr><td rowspan="2">7</td><td>8</td></tr><tr><td>7</td></tr></table>', ["7"], "7|8"),
    ],
    ids=["prose", "bullets", "numbers", "formula", "heading", "cells", "spans"],
)
def test_of_equal_words_the_doubtful_one_is_marked(window, label, text, doubtful, before):
    """The last occurrences of `doubtful` are the doubtful ones; `before` is what stands before the first of them."""
    offsets, end = [], len(text)
    for word in reversed(doubtful):
        end = text.rfind(word, 0, end)
        offsets.insert(0, end)
    words = [Word(word, offset, 0.1) for word, offset in zip(doubtful, offsets, strict=True)]
    first = text.find(words[-1].text)
    if first < words[0].start:
        words.insert(0, Word(words[-1].text, first, 0.9))
    writer, document = window.panel.view.writer, window.panel.view.document()
    for add in (writer.add, lambda block: streamed(writer, block)):
        writer.clear()
        writer.add(Block("text", (), "24.00 7 b .00"))
        add(Block(label, (), text, words=words))
        assert doubtful_text(document) == doubtful
        for number, word in enumerate(words):
            found = writer.find_word(1, number)
            if word.confidence > 0.5:
                assert found is None
                continue
            assert found.selectedText() == word.text
            if word.text == doubtful[0]:
                stands = range(writer.span(1)[0], found.selectionStart())
                shown = "".join(map(document.characterAt, stands)).strip("\ufdd0\u2029")
                assert shown.replace("\u2029", "|").replace("\ufdd0", "|").replace("\ufffc", "a b") == before


def streamed(writer, block):
    writer.begin(block.label)
    writer.grow(block.text)
    writer.end(len(writer) - 1, block)


def test_a_word_whose_sign_would_change_the_layout_is_left_unmarked(window):
    writer = window.panel.view.writer
    writer.clear()
    block = Block("text", (), "1. one\n2. two", words=[Word("1.", 0, 0.1), Word("2.", 7, 0.1), Word("two", 10, 0.1)])
    writer.add(block)
    assert window.panel.view.toPlainText() == "1.\tone\n2.\ttwo"
    assert doubtful_text(window.panel.view.document()) == ["two"]


def test_a_correction_changes_the_text_and_can_be_undone(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    panel, item = window.panel, window.model.item(0)
    qtbot.mouseDClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=panel.view.block_rect(1).center())
    assert panel.editor.isVisible() and panel.editor.index == 1
    panel.editor.setPlainText("The evening boat came in.")
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert item.page.blocks[1].text == "The evening boat came in."
    assert item.page.blocks[1].boxes == (Box(100, 180, 800, 330),)
    assert "The evening boat came in." in panel.view.toPlainText()
    assert "Tickets sold" in panel.view.toPlainText()
    window.actions_["undo"].trigger()
    assert item.page.blocks[1].text == "The morning boat left with sixty-three passengers."
    assert "morning boat" in panel.view.toPlainText()
    window.actions_["redo"].trigger()
    assert "evening boat" in panel.view.toPlainText()


def test_escape_leaves_the_correction_alone(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    window.panel.edit_block(0)
    window.panel.editor.setPlainText("other")
    qtbot.keyClick(window.panel.editor, Qt.Key.Key_Escape)
    assert window.model.item(0).page.blocks[0].text == "Notes from the ferry office"
    assert not window.actions_["undo"].isEnabled()


def test_find_counts_and_walks_the_places(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    window.actions_["find"].trigger()
    bar = window.panel.find_bar
    qtbot.keyClicks(bar._field, "the")
    assert bar._count.text() == "1 of 3"  # the ferry, The morning, in the box
    qtbot.keyClick(bar._field, Qt.Key.Key_Return)
    assert bar._count.text() == "2 of 3"
    bar._field.setText("zebra")
    assert bar._count.text() == "Not found"
    qtbot.keyClick(bar._field, Qt.Key.Key_Escape)
    assert bar.isHidden() and window.panel.view.extraSelections() == []


def test_copying_text_markdown_and_rich_text_is_read_back(qtbot, rich):
    clipboard = QGuiApplication.clipboard()
    rich.actions_["copy_markdown"].trigger()
    assert clipboard.text().startswith("# Prices\n\n<table>")
    assert rich.panel.notice.text.startswith("Copied ")
    rich.actions_["copy_rich"].trigger()
    assert "<table" in clipboard.mimeData().html() and "Lemon" in clipboard.mimeData().html()
    for act in ("copy", "copy_all"):
        rich.actions_[act].trigger()
        assert clipboard.text().split("\n")[:3] == ["Prices", "Fruit\t\tPrice", "Lemon\ta | b\t2"]
        assert "<" not in clipboard.text()
    rich.panel.view.selectAll()
    rich.actions_["copy"].trigger()
    assert "second point" in clipboard.text()


def test_a_table_that_streams_shows_its_words_and_no_tags(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(RICH, steps=steps))
    window.open_inputs([picture()])
    steps.release(len(pieces(RICH[: RICH.index("</td><td>a | b")])) + 1)  # the cell's last tag has begun
    qtbot.waitUntil(lambda: "Lemon" in window.panel.view.toPlainText(), timeout=20_000)
    assert window.panel.view.toPlainText().split("\n")[1:] == ["Fruit\tPrice", "Lemon"]
    steps.release(1000)
    qtbot.waitUntil(lambda: window.model.item(0).state.over, timeout=20_000)


def test_a_clipboard_that_does_not_take_the_text_is_told(qtbot):
    class Deaf:
        def setMimeData(self, data: object) -> None: ...

        def text(self) -> str:
            return "something else"

    good, words = copy("text", clipboard=Deaf())
    assert not good and "did not take" in words


def test_a_large_text_survives_the_clipboard(qtbot):
    text = "long line of words\n" * 200_000
    assert copy(text)[0]
    assert QGuiApplication.clipboard().text() == text
    QGuiApplication.clipboard().clear()


def test_nothing_in_a_document_runs_loads_or_reaches_the_network(qtbot, make_window, picture):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Server)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    hostile = (
        f"<|det|>text [10, 10, 900, 90]<|/det|><img src='{address}/a.png'><script>x()</script>"
        f" ![p]({address}/b.png) [q](javascript:x())\n"
        f"<|det|>table [10, 110, 900, 190]<|/det|><table background='{address}/c.png'><tr>"
        f"<td><img src=\"{address}/d.png\"><iframe src='file:///etc/passwd'></iframe></td></tr></table>"
    )
    window = make_window(ScriptedEngine(hostile))
    read_all(qtbot, window, [picture()])
    view = window.panel.view
    view.document().resource(QTextDocument.ResourceType.ImageResource.value, QUrl(f"{address}/e.png"))
    assert image_names(view.document()) == []
    assert "<script>x()</script>" in view.toPlainText()
    for name in ("copy_rich", "copy_markdown"):
        window.actions_[name].trigger()
        html = QGuiApplication.clipboard().mimeData().html()
        assert "<img" not in html and "<script" not in html and "javascript" not in html.replace("q](javascript", "")
    qtbot.wait(100)
    server.shutdown()
    server.server_close()
    assert asked == []


@pytest.mark.parametrize(
    ("html", "clean"),
    [
        ("<p onclick='x()'>a</p>", "<p>a</p>"),
        ("<a href='http://x'>a</a>", "a"),
        ("<td rowspan='2' style='color:red'>a</td>", "a"),
        (
            "<table><tr><td rowspan='2' style='color:red'>a</td></tr></table>",
            '<table><tbody><tr><td rowspan="2">a</td></tr></tbody></table>',
        ),
        ("<img src='x'><script>y</script>b", "b"),
    ],
)
def test_rich_text_keeps_structure_alone(html, clean):
    assert clean_html(html) == clean


def test_tex_that_cannot_be_drawn_stays_text(qtbot, make_window, picture):
    assert formula_svg(FormulaKey("\\frac{", True, "#000000")) is None
    assert formula_svg(FormulaKey("x^2", False, "#000000")).startswith(b"<svg")
    window = make_window(ScriptedEngine("<|det|>equation [1, 1, 900, 90]<|/det|>\\[\\frac{\\]"))
    read_all(qtbot, window, [picture()])
    qtbot.waitUntil(lambda: not window.panel.view.writer._waiting, timeout=15_000)
    assert window.panel.view.toPlainText() == "\\frac{"


def test_the_text_follows_the_end_only_for_whoever_looks_at_the_end(qtbot, window):
    panel = window.panel
    panel.show_blocks([Block("text", (), "line of words " * 40) for _ in range(30)])
    bar = panel.view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(0)
    panel.begin_block("text")
    panel.grow_block("more words " * 200)
    assert bar.value() == 0
    bar.setValue(bar.maximum())
    panel.grow_block("more words " * 200)
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())


def test_a_page_shown_again_while_it_is_read_shows_all_of_it(qtbot, make_window, picture):
    import threading

    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(PAGE, steps=steps))
    window.open_inputs([picture("1.png"), picture("2.png")])
    qtbot.waitUntil(lambda: window.session.current is not None and window.model.rowCount() == 2)
    steps.release(40)
    qtbot.waitUntil(lambda: window.panel.view.toPlainText().count("\n") == 1)
    before = window.panel.view.toPlainText()
    window.pages.show_item(window.model.item(1))
    assert window.panel.view.toPlainText() == ""
    window.pages.show_item(window.model.item(0))
    assert window.panel.view.toPlainText() == before
    steps.release(1000)
    qtbot.waitUntil(lambda: not window.session.busy)
    assert window.model.item(0).state is PageState.DONE
    assert window.panel.view.block_rect(0).contains(QPoint(30, window.panel.view.block_rect(0).center().y()))


def test_a_mention_passes_and_what_was_told_before_comes_back(qtbot, window, monkeypatch):
    from leggio.look import notice as notices

    monkeypatch.setattr(notices, "MOMENT_MS", 30)
    notice, acted = window.panel.notice, []
    notice.tell("Cut short.", "warn", [("Read again", lambda: acted.append(1))], [Row("Needed", "9 GB")])
    notice.mention("Copied 3 characters.")
    notice.mention("Copied 4 characters.")
    assert (notice.text, notice.choices()) == ("Copied 4 characters.", [])
    qtbot.waitUntil(lambda: notice.text == "Cut short.")
    assert notice.detail_rows() == [("Needed", "9 GB")]
    notice.choose("Read again")
    assert acted == [1] and notice.text == ""


def test_another_threshold_marks_other_words_at_once(qtbot, make_window, store, picture):
    text = "<|det|>text [10, 10, 900, 90]<|/det|>one twoo thre four"
    window = make_window(ScriptedEngine(text, doubt={" thr": -0.3}))  # 74 % sure
    read_all(qtbot, window, [picture()])
    assert doubtful_text(window.panel.view.document()) == []
    store.set_window(doubt=80)
    qtbot.waitUntil(lambda: doubtful_text(window.panel.view.document()) == ["thre"])


def test_the_models_own_threshold_holds_until_the_person_chooses_another(qtbot, make_window, store):
    engine = ScriptedEngine()
    engine.front_end["confidence_threshold"] = 0.91
    window = make_window(engine)
    assert window.panel.view.writer.doubt_below == 0.91
    store.set_window(doubt=60)
    assert window.panel.view.writer.doubt_below == 0.6
    store.set_window(doubt=0)
    assert window.panel.view.writer.doubt_below == 0.91
