"""Ways out: files, never over existing ones, never half written; 500 pages; kinds K8, K18 and K23."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pymupdf
import pytest
from leggio.export.dialog import ExportChoice, ExportDialog, suggested_name
from leggio.look.told import notes_told
from leggio.pages.items import DocumentItem, PageItem, PageState
from PIL import Image
from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtWidgets import QMessageBox
from uocr.document import Block, Box, FinishReason, Page

from .scripted import ScriptedEngine
from .test_reading import read_all
from .test_text import RICH


def choice(format_: str, scope: str = "all", per_page: bool = False) -> ExportChoice:
    return ExportChoice(format_, scope, per_page, True, False)


def write(qtbot, window, path: Path, chosen: ExportChoice) -> None:
    window.exporting.write(window.exporting.items(chosen.scope), path, chosen)
    qtbot.waitUntil(lambda: not window.exporting.busy, timeout=60_000)


@pytest.fixture
def rich(qtbot, make_window, picture):
    window = make_window(ScriptedEngine(RICH))
    read_all(qtbot, window, [picture("one.png"), picture("two.png")])
    return window


@pytest.mark.parametrize("format_", ["txt", "md", "html", "docx", "json", "pdf"])
def test_every_format_is_written_under_its_name_alone(qtbot, rich, tmp_path, format_):
    folder = tmp_path / "out"
    folder.mkdir()
    write(qtbot, rich, folder / f"result.{format_}", choice(format_))
    assert "Saved result" in rich.panel.notice.text
    names = {p.name for p in folder.iterdir()}
    assert names - {"result-pictures"} == {f"result.{format_}"}
    if format_ == "md":
        text = (folder / "result.md").read_text()
        assert "Lemon" in text and "result-pictures/0001.jpg" in text
        assert (folder / "result-pictures" / "0002.jpg").is_file()
    if format_ == "json":
        assert len(json.loads((folder / "result.json").read_text())["documents"]) == 2
    if format_ == "pdf":
        with pymupdf.open(folder / "result.pdf") as document:
            assert document.page_count == 2 and "Lemon" in document[1].get_text()


def test_one_file_a_page(qtbot, rich, tmp_path):
    write(qtbot, rich, tmp_path / "p.txt", choice("txt", per_page=True))
    assert sorted(p.name for p in tmp_path.glob("p-*.txt")) == ["p-0001.txt", "p-0002.txt"]
    assert "Saved 2 files" in rich.panel.notice.text


@pytest.mark.parametrize(("button", "expected"), [("Replace", "Prices"), ("Cancel", "old")])
def test_an_existing_file_is_never_replaced_silently(qtbot, rich, tmp_path, monkeypatch, button, expected):
    path = tmp_path / "taken.txt"
    path.write_text("old")
    asked: list[str] = []

    def answer(box: QMessageBox) -> int:
        asked.append(box.text())
        chosen = next(b for b in box.buttons() if b.text().replace("&", "") == button)
        chosen.click()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", answer)
    write(qtbot, rich, path, choice("txt"))
    qtbot.waitUntil(lambda: bool(asked) and not rich.exporting.busy)
    assert asked == ["taken.txt is already there."]
    assert path.read_text().startswith(expected)


def test_a_target_that_cannot_be_written_keeps_the_text_and_offers_another_place(qtbot, rich, tmp_path):
    write(qtbot, rich, tmp_path / "no" / "such" / "folder.txt", choice("txt"))
    notice = rich.panel.notice
    assert "folder.txt" in notice.text
    assert notice.choices() == ["Save elsewhere…", "Copy all text"]
    assert rich.model.item(0).page.text.startswith("# Prices")


def test_the_scope_is_page_document_or_all(qtbot, rich):
    rich.pages.show_item(rich.model.item(1))
    names = {scope: [i.document.name for i in rich.exporting.items(scope)] for scope in ("page", "document", "all")}
    assert names == {"page": ["two.png"], "document": ["two.png"], "all": ["one.png", "two.png"]}


def test_a_corrected_text_is_what_is_exported(qtbot, rich, tmp_path):
    rich.corrections.take(0, "Corrected heading")
    write(qtbot, rich, tmp_path / "c.txt", choice("txt", "page"))
    assert (tmp_path / "c.txt").read_text().startswith("Corrected heading")


def test_the_searchable_pdf_keeps_the_original_pages(qtbot, make_window, tmp_path):
    source = tmp_path / "turned.pdf"
    document = pymupdf.open()
    document.new_page(width=300, height=400).draw_rect((40, 40, 200, 60), fill=(0, 0, 0))
    document[0].set_rotation(90)
    document.save(source)
    window = make_window(ScriptedEngine("<|det|>text [100, 100, 600, 160]<|/det|>found words"))
    read_all(qtbot, window, [source])
    write(qtbot, window, tmp_path / "out.pdf", choice("pdf"))
    with pymupdf.open(tmp_path / "out.pdf") as result:
        page = result[0]
        assert (page.rotation, page.rect.width, page.rect.height) == (90, 400, 300)
        place = page.search_for("found words")[0] * page.rotation_matrix
        # 100..600 and 100..160 of 999 on 400 x 300 points
        assert place.x0 == pytest.approx(40.04, abs=3) and place.x1 == pytest.approx(240.2, abs=3)
        assert place.y0 > 30.03 - 3 and place.y1 < 48.05 + 3


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_five_hundred_pages_are_exported_with_flat_memory_and_a_living_window(qtbot, window, tmp_path):
    path = tmp_path / "many.tiff"
    Image.new("RGB", (640, 900), "white").save(path)
    document = DocumentItem(path, "many.tiff", count=500)
    items = []
    for n in range(500):
        page = Page(
            "many.tiff",
            n,
            640,
            900,
            [
                Block("image", (Box(10, 10, 900, 400),), ""),
                Block("text", (Box(10, 420, 900, 900),), f"page {n} " * 40),
            ],
            finish_reason=FinishReason.EOS,
        )
        items.append(PageItem(document, 0, state=PageState.DONE, page=page))
    window.choice.add(items)
    ticks, peaks, beats = [], [], []
    heart = QTimer()
    heart.timeout.connect(lambda: beats.append(len(ticks)))
    heart.start(1)
    window.exporting._exporter.progressed.connect(lambda count, total: (ticks.append(count), peaks.append(resident())))
    write(qtbot, window, tmp_path / "many.html", choice("html"))
    heart.stop()
    assert ticks[-1] == 500 and len(ticks) == 500
    assert len(set(beats)) > 50  # the event loop had its turn all the way through
    assert (tmp_path / "many.html").stat().st_size > 500 * 300
    assert max(peaks[250:]) - max(peaks[50:100]) < 24_000_000


def test_an_export_can_be_cancelled_and_leaves_nothing(qtbot, window, tmp_path):
    path = tmp_path / "p.png"
    Image.new("RGB", (600, 600), "white").save(path)
    document = DocumentItem(path, "p.png")
    page = [
        Page("p.png", 0, 600, 600, [Block("image", (Box(0, 0, 999, 999),), "")], finish_reason=FinishReason.EOS)
        for _ in range(300)
    ]
    window.choice.add([PageItem(document, 0, state=PageState.DONE, page=p) for p in page])
    window.exporting._exporter.progressed.connect(lambda n, _: window.exporting._exporter.cancel() if n == 3 else None)
    write(qtbot, window, tmp_path / "c.docx", choice("docx"))
    assert not list(tmp_path.glob("c.*"))


def test_the_sheet_offers_what_there_is(qtbot, rich):
    dialog = ExportDialog({"page": 1, "document": 1, "all": 2}, rich)
    qtbot.addWidget(dialog)
    dialog.select("pdf", "all")
    assert dialog.choice == ExportChoice("pdf", "all", False, True, False)
    assert [dialog._format.itemData(i) for i in range(dialog._format.count())] == [
        "txt",
        "md",
        "json",
        "html",
        "docx",
        "pdf",
    ]


def test_a_suggested_name_is_never_one_that_is_taken(tmp_path):
    assert suggested_name("scan.png", "md", tmp_path) == tmp_path / "scan.md"
    (tmp_path / "scan.md").write_text("x")
    assert suggested_name("scan.png", "md", tmp_path) == tmp_path / "scan 2.md"


def test_dragging_the_result_out_makes_a_file(rich, monkeypatch):
    carried: list[QMimeData] = []
    monkeypatch.setattr("leggio.export.dragging.QDrag.exec", lambda drag, *_: carried.append(drag.mimeData()))
    rich.pages.show_item(rich.model.item(0))
    rich.drag_out.start_drag()
    urls = carried[0].urls()
    assert [Path(u.toLocalFile()).name for u in urls] == ["one.md"]
    assert Path(urls[0].toLocalFile()).read_text().startswith("# Prices")
    assert carried[0].text().startswith("# Prices")


def test_pages_that_failed_are_left_out_and_named(qtbot, window, picture, tmp_path):
    read_all(qtbot, window, [picture("one.png"), picture("two.png"), picture("three.png")])
    for item in window.model.items[1:]:
        item.page = Page(item.document.name, 0, 0, 0, finish_reason=FinishReason.ERROR, error="gone")
    assert len(window.exporting.items("all")) == 1
    write(qtbot, window, tmp_path / "out.pdf", choice("pdf"))
    text = window.panel.notice.text
    assert "Saved out.pdf (1 pages)." in text
    assert "Left out, since they could not be read: pages of three.png (1); two.png (1)." in text
    with pymupdf.open(tmp_path / "out.pdf") as document:
        assert document.page_count == 1


def test_remarks_that_do_not_fit_are_counted_and_all_in_the_hover():
    told = notes_told([f"page {n}: odd" for n in range(1, 6)], most=3)
    assert told.text == "Page 1: odd. Page 2: odd. Page 3: odd. And 2 more; point here to read them."
    assert told.detail.endswith("Page 5: odd.")


def test_a_long_word_in_a_notice_loses_its_middle_not_the_end_of_the_sentence(window):
    notice = window.panel.notice
    notice.tell(f"{'a' * 100}.pdf cannot be written.")
    assert notice.text == f"{'a' * 24}…{'a' * 19}.pdf cannot be written."
    assert notice.detail == f"{'a' * 100}.pdf cannot be written."
    notice.tell("/home/someone/a-folder/another-one/and-one-more/in-it/a.pdf is there.")
    assert notice.text.startswith("/home/someone/a-folder/another-one/and-one-more/in-it/a.pdf")


def test_a_very_long_name_does_not_swallow_the_sentence(qtbot, rich, tmp_path):
    name = "n" * 200 + ".txt"
    write(qtbot, rich, tmp_path / name, choice("txt"))
    assert rich.panel.notice.text == f"Saved {'n' * 24}…{'n' * 19}.txt (2 pages)."
