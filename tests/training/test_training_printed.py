"""Pages of real documents: what is drawn is what must be written, and no line is cut. Needs PyMuPDF."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from training import documents
from training.pages import Kind, PageMaker
from training.pages.printed import PrintedPages, read_page
from training.smoke import smoke_pack

PROSE = "The stand holds the open book so that both hands are free and the page is read with ease."


def a4(*lines: tuple[float, float, str, str]) -> pymupdf.Document:
    """A document of one page with (x, baseline, font, text) in 11 points."""
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    for x, y, font, text in lines:
        page.insert_text((x, y), text, fontname=font, fontsize=11)
    return document


def manual() -> pymupdf.Document:
    """A running head, a title, a paragraph with an indent, a list, a listing and a page number."""
    return a4(
        (72, 50, "tiro", "Chapter 3"),
        (500, 50, "tiro", "17"),
        (72, 110, "tibo", "3.1 Reading stands"),
        (72, 134, "tiro", PROSE),
        (72, 147, "tiro", "A second line of the same paragraph."),
        (87, 160, "tiro", "A paragraph that is set in."),
        (80, 190, "tiro", "- first item, which goes on"),
        (90, 203, "tiro", "in a second line"),
        (80, 216, "tiro", "- second item"),
        (72, 246, "cour", "$ stand --open"),
        (84, 259, "cour", "book.txt"),
        (290, 800, "tiro", "Page 17"),
    )


def test_a_page_is_parted_into_what_a_reader_would_call_blocks() -> None:
    page = read_page(manual()[0])
    assert page is not None
    assert [(label, [line.text for line in lines]) for label, lines in page.blocks] == [
        ("header", ["Chapter 3"]),
        ("page_number", ["17"]),
        ("title", ["3.1 Reading stands"]),
        ("text", [PROSE, "A second line of the same paragraph."]),
        ("text", ["A paragraph that is set in."]),
        ("text", ["- first item, which goes on", "in a second line"]),
        ("text", ["- second item"]),
        ("text", ["$ stand --open", "book.txt"]),
        ("page_number", ["Page 17"]),
    ]


def body(x: float, text: str) -> list[tuple[float, float, str, str]]:
    return [(x, 100 + 14 * n, "tiro", text) for n in range(9)]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([(72, 100, "tiro", "Short.")], "too few characters"),
        ([*body(72, PROSE[:40]), *body(340, PROSE[:40])], "two columns"),
        ([*body(72, PROSE), (72, 300, "tiro", "Contents . . . . . . 9")], "leaders"),
        ([*body(72, PROSE), (72, 300, "tiro", "5 ± 1")], "a sign that is not known"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_page_that_cannot_be_told_for_certain_is_not_used(
    lines: list[tuple[float, float, str, str]], why: str
) -> None:
    assert read_page(a4(*lines)[0]) is None, why


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = smoke_pack(tmp_path_factory.mktemp("training") / "pack")
    (folder / "documents").mkdir()
    document = a4(*((72, 80 + 13.5 * n, "tiro", f"{n:02d} {PROSE}") for n in range(50)))
    document.save(folder / "documents" / "long.pdf")
    (folder / "documents" / "documents.json").write_text(json.dumps({"long.pdf": 1}), encoding="utf-8")
    return folder


@pytest.fixture
def documents_alone(tmp_path: Path) -> Path:
    """A folder of documents whose listing names a file of one page."""
    (tmp_path / "documents.json").write_text(json.dumps({"gone.pdf": 1}), encoding="utf-8")
    return tmp_path


def test_a_document_that_is_missing_is_named_before_any_page_is_made(documents_alone: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"gone\.pdf is missing although .*documents\.json names it; copy the whole pack"
    ):
        PrintedPages(documents_alone, random.Random(1))


def test_a_font_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = smoke_pack(tmp_path / "pack")
    (folder / "fonts" / "builtin.ttf").unlink()
    with pytest.raises(SystemExit, match=r"builtin\.ttf is missing although .*fonts\.json names it"):
        PageMaker(folder, "train", 1)


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"no PDF at all", "gone.pdf cannot be used .*copy the whole pack"),
        (b"", "gone.pdf cannot be used .*copy the whole pack"),
        (None, "gone.pdf cannot be used .2 pages instead of 1."),
    ],
)
def test_a_document_that_is_not_what_was_listed_is_named(
    documents_alone: Path, data: bytes | None, reason: str
) -> None:
    document = manual()
    document.insert_pdf(manual())
    (documents_alone / "gone.pdf").write_bytes(document.tobytes() if data is None else data)
    with pytest.raises(SystemExit, match=reason):
        PrintedPages(documents_alone, random.Random(1)).page(1024, 600, 1.0)


@pytest.mark.parametrize("size", [(1024, 600), (1300, 1840), (1280, 640)])
def test_a_window_shows_whole_lines_and_all_of_them_are_written(pack: Path, size: tuple[int, int]) -> None:
    pages = PrintedPages(pack / "documents", random.Random(4))
    for _ in range(3):
        picture, blocks, print_px = pages.page(*size, 1.0)
        ink = np.asarray(picture) > 60
        assert picture.size == size and 11 <= print_px <= 48
        rows = np.flatnonzero(ink.any(1))
        starts = int((np.diff(rows) > 1).sum()) + 1
        written = " ".join(block.text for block in blocks).split()
        numbers = [int(word) for word in written if word.isdigit()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "lines in order, none left out"
        assert starts >= len(numbers), "as many rows of ink as lines"
        assert not ink[0].any() and not ink[-1].any(), "no line is cut by the edge"
        for block in blocks:
            for (x, y), char in zip(block.points, block.text, strict=True):
                if char.isalnum():
                    near = ink[int(y) - 8 : int(y) + 9, int(x) - 8 : int(x) + 9]
                    assert near.any(), f"{char!r} is written where there is no ink"


def test_only_windows_as_large_as_screens_may_have_broad_margins(pack: Path) -> None:
    pages = PrintedPages(pack / "documents", random.Random(5))

    def widths(width: int, height: int) -> list[float]:
        drawn = [pages.page(width, height, 1.0)[1] for _ in range(12)]
        return [(max(b.box[2] for b in blocks) - min(b.box[0] for b in blocks)) / width for blocks in drawn]

    assert min(widths(3200, 1900)) < 0.6
    assert min(widths(1024, 600)) > 0.6
    assert min(widths(2100, 3000)) > 0.6


def test_pages_of_documents_are_made_for_every_view(pack: Path) -> None:
    maker = PageMaker(pack, "train", 3)
    for kind in (Kind(3, genre="printed"), Kind(3, (2, 3), genre="printed")):
        sample = maker.sample(kind)
        assert "stand holds the open book" in maker.vocabulary.decode(sample.ids.tolist())
        assert (sample.tiles is None) == (kind.grid is None)


def test_a_pack_without_documents_says_how_to_get_some(tmp_path: Path) -> None:
    maker = PageMaker(smoke_pack(tmp_path / "pack"), "train", 3)
    with pytest.raises(SystemExit, match=r"training\.collect"):
        maker.sample(Kind(3, genre="printed"))


def test_only_usable_pages_of_documents_are_collected(tmp_path: Path) -> None:
    folder = tmp_path / "root" / "usr" / "share" / "doc"
    (folder / "manual").mkdir(parents=True)
    (folder / "debmake-doc").mkdir()
    long = pymupdf.open()
    for _ in range(5):
        long.insert_pdf(manual())
        long.new_page()
    long.save(folder / "manual" / "stand.pdf")
    long.save(folder / "debmake-doc" / "held.pdf")
    manual().save(folder / "manual" / "short.pdf")
    assert documents.build(tmp_path / "root", tmp_path / "pack") == {"stand.pdf": 5}
    with pymupdf.open(tmp_path / "pack" / "documents" / "stand.pdf") as kept:
        assert len(kept) == 5 and all(read_page(page) is not None for page in kept.pages())


def drawn_underscores() -> pymupdf.Document:
    """A manual in whose first paragraph a rule of half an em stands where an underscore is printed."""
    document = manual()
    document[0].draw_rect(pymupdf.Rect(150, 135, 155.5, 135.4), color=None, fill=(0, 0, 0))
    return document


def test_pages_whose_underscores_are_rules_are_not_collected(tmp_path: Path) -> None:
    folder = tmp_path / "root" / "usr" / "share" / "doc"
    folder.mkdir(parents=True)
    mixed = pymupdf.open()
    for _ in range(4):
        mixed.insert_pdf(manual())
        mixed.insert_pdf(drawn_underscores())
    mixed.save(folder / "mixed.pdf")
    assert documents.build(tmp_path / "root", tmp_path / "pack") == {"mixed.pdf": 4}


def test_a_long_document_is_spread_over_its_length(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "root" / "usr" / "share" / "doc"
    folder.mkdir(parents=True)
    long = pymupdf.open()
    for number in range(9):
        long.insert_pdf(a4(*((72, 80 + 13.5 * n, "tiro", f"{number} {PROSE}") for n in range(9))))
    long.save(folder / "long.pdf")
    monkeypatch.setattr(documents, "_MOST_PAGES", 6)
    assert documents.build(tmp_path / "root", tmp_path / "pack") == {"long.pdf": 6}
    with pymupdf.open(tmp_path / "pack" / "documents" / "long.pdf") as kept:
        assert [page.get_text()[0] for page in kept.pages()] == ["0", "1", "3", "4", "6", "7"]
