"""Searchable PDF: the text lies where one sees it, in every script, and the page looks as before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from export_samples import document, page, page_picture, rich_page
from PIL import Image, ImageDraw
from uocr.document import BOX_SCALE, Block, Box, FinishReason, Page
from uocr.export import Original, export


def box_of_ink(pixels: pymupdf.Pixmap) -> Box:
    """What a perfect model would answer: the dark part of the page as a box of 0..999."""
    dark = (
        np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, pixels.n).min(axis=2)
        < 128
    )
    ys, xs = np.nonzero(dark)
    return Box(
        round(xs.min() / pixels.width * BOX_SCALE),
        round(ys.min() / pixels.height * BOX_SCALE),
        round((xs.max() + 1) / pixels.width * BOX_SCALE),
        round((ys.max() + 1) / pixels.height * BOX_SCALE),
    )


def as_read(path: Path, *blocks: Block, index: int = 0, **more: object) -> Page:
    with pymupdf.open(path) as source:
        pixels = source[index].get_pixmap(dpi=100)
    return Page(
        str(path), index, pixels.width, pixels.height, list(blocks), finish_reason=FinishReason.EOS, **more
    )


def searchable(path: Path, *pages: Page, **options: object) -> pymupdf.Document:
    target = path.with_name("searchable.pdf")
    export(document(*pages), target, originals=lambda page: Path(page.source), overwrite=True, **options)
    return pymupdf.open(target)


def test_located_words_are_found_in_the_pdf_where_they_stand(tmp_path):
    with pymupdf.open() as source:
        source.new_page(width=600, height=400)
        source.save(tmp_path / "a.pdf")
    found = as_read(tmp_path / "a.pdf", Block("two words", (Box(333, 500, 666, 550),), ""), located="two words")
    with searchable(tmp_path / "a.pdf", found) as result:
        (place,) = result[0].search_for("two words")
    assert np.allclose(place, (200, 200, 400, 220), atol=3)


def blank(page: Page) -> Image.Image:
    return Image.new("L", (1000, 1400), 255)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (40, 100, 560, 380)])
@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("origin", [(0, 0), (-90, 70)])
def test_the_text_is_where_the_ink_is(rotation, crop, unit, origin, tmp_path):
    source = pymupdf.open()
    made = source.new_page(width=600, height=400)
    x, y = origin
    source.xref_set_key(made.xref, "MediaBox", f"[{x} {y} {x + 600} {y + 400}]")
    if crop:
        source.xref_set_key(
            made.xref, "CropBox", f"[{crop[0] + x} {crop[1] + y} {crop[2] + x} {crop[3] + y}]"
        )
    source.xref_set_key(made.xref, "Rotate", str(rotation))
    source.xref_set_key(made.xref, "UserUnit", str(unit))
    ink = source.get_new_xref()
    source.update_object(ink, "<<>>")
    across, up = (120, 20) if rotation % 180 == 0 else (20, 120)  # a flat strip as displayed
    source.update_stream(ink, f"{300 + x} {150 + y} {across} {up} re f".encode())
    source.xref_set_key(made.xref, "Contents", f"{ink} 0 R")
    source.save(tmp_path / "a.pdf")

    with pymupdf.open(tmp_path / "a.pdf") as source:
        seen = box_of_ink(source[0].get_pixmap(dpi=150))
    result = searchable(
        tmp_path / "a.pdf", as_read(tmp_path / "a.pdf", Block("text", (seen,), "Hello world"))
    )

    # Without rotation, crop and unit, the library tells places in the page's own space.
    for key in ("Rotate", "CropBox", "UserUnit"):
        result.xref_set_key(result[0].xref, key, "null")
    result = pymupdf.open(stream=result.tobytes(), filetype="pdf")
    words = result[0].get_text("words")
    assert [word[4] for word in words] == ["Hello", "world"]
    whole = pymupdf.Rect(words[0][:4]) | pymupdf.Rect(words[1][:4])
    found = (whole.x0, 400 - whole.y1, whole.x1, 400 - whole.y0)
    assert found == pytest.approx((300, 150, 300 + across, 150 + up), abs=3 / unit)


SCRIPTS = [
    "Größe, naïve, Łódź, œuvre",
    "Ελληνικά κείμενα",
    "Русский текст",
    "日本語の文書 漢字",
    "한국어 문서",
    "שלום עולם",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "∑ ∞ ≤ → 👍",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_script_can_be_searched(text, tmp_path):
    made = page(Block("text", (Box(100, 100, 900, 150),), text))
    export(document(made), tmp_path / "a.pdf", page_images=blank)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert result[0].get_text() == text + "\n"
        for word in text.split():
            assert result[0].search_for(word), word


@pytest.mark.parametrize(
    "text", ["עולם 12.5 שלום", "price 12 שלום עולם end", "שלום abc def עולם", "בְּרֵאשִׁית בָּרָא"]
)
def test_mixed_directions_are_read_back_in_logical_order(text, tmp_path):
    made = page(Block("text", (Box(100, 100, 900, 150),), text))
    export(document(made), tmp_path / "a.pdf", page_images=blank)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        words = sorted(word[4] for word in result[0].get_text("words"))
    assert words == sorted(text.split())


def pixels_of(path: Path, index: int = 0, **options: object) -> np.ndarray:
    with pymupdf.open(path) as opened:
        pixels = opened[index].get_pixmap(dpi=72, **options)
        return (
            np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, pixels.n).astype(int)
        )


def test_pages_of_pictures_show_the_picture_at_its_resolution(tmp_path):
    image = page_picture(page())
    image.info["dpi"] = (100, 100)
    made = page(Block("text", (Box(500, 500, 999, 750),), "in the dark"))
    export(document(made), tmp_path / "a.pdf", page_images=lambda page: image)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert result[0].rect == pymupdf.Rect(0, 0, 360, 504)
        assert result.metadata["title"] == "scan.pdf"
        words = [pymupdf.Rect(word[:4]) for word in result[0].get_text("words")]
    whole = words[0] | words[1] | words[2]
    assert list(whole) == pytest.approx([180.2, 252.3, 360, 378.4], abs=3)
    seen = pixels_of(tmp_path / "a.pdf")
    assert (
        np.abs(seen[250, 50:170] - (0, 0, 255)).max() < 40 or np.abs(seen[400, 50] - (0, 0, 255)).max() < 40
    )
    assert seen[260:490, 190:350].max() < 15  # the text over the dark quarter leaves no ink


@pytest.mark.parametrize(
    ("dpi", "size"),
    [(None, 180), ((300, 300), 120), ((1, 1), 180), ((0, 0), 180), ((9999, 9999), 180), ("x", 180)],
)
def test_only_a_credible_resolution_is_believed(dpi, size, tmp_path):
    image = Image.new("1", (500, 700), 1)
    if dpi is not None:
        image.info["dpi"] = dpi
    export(document(page()), tmp_path / "a.pdf", page_images=lambda page: image)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert result[0].rect.width == size


def test_a_giant_picture_fits_the_largest_page(tmp_path):
    image = Image.new("L", (60_000, 10), 255)
    export(document(page()), tmp_path / "a.pdf", page_images=lambda page: image)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert result[0].rect.width == 14_400


@pytest.fixture
def book(tmp_path):
    """Three pages with text of their own, outline, link and metadata."""
    source = pymupdf.open()
    for i in range(3):
        made = source.new_page(width=300, height=400)
        made.draw_rect(pymupdf.Rect(10, 10, 50 + 50 * i, 50), fill=(0, 0, 0))
    source[0].insert_link(
        {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(0, 0, 9, 9), "uri": "https://example.org/"}
    )
    source.set_toc([[1, "First", 1], [1, "Third", 3]])
    source.set_metadata({"title": "My book", "author": "Me"})
    source.save(tmp_path / "book.pdf")
    return tmp_path / "book.pdf"


def words_of(result: pymupdf.Document) -> list[str]:
    return [made.get_text().strip() for made in result]


def test_original_pages_keep_all_they_have(book):
    result = searchable(
        book,
        *(as_read(book, Block("text", (Box(100, 500, 900, 600),), f"page {i}"), index=i) for i in range(3)),
    )
    assert words_of(result) == ["page 0", "page 1", "page 2"]
    assert result.get_toc() == [[1, "First", 1], [1, "Third", 3]]
    assert result.metadata["title"] == "My book"
    assert result[0].get_links()[0]["uri"] == "https://example.org/"
    for i in range(3):
        assert (pixels_of(book, i) == pixels_of(book.with_name("searchable.pdf"), i)).all()


def test_pages_may_be_some_and_in_another_order(book):
    chosen = [as_read(book, Block("text", (Box(100, 500, 900, 600),), f"page {i}"), index=i) for i in (2, 0)]
    result = searchable(book, *chosen)
    assert words_of(result) == ["page 2", "page 0"]


def test_pages_of_several_sources_are_joined_in_order(book, tmp_path):
    pages = [
        as_read(book, Block("text", (Box(100, 500, 900, 600),), "from the book"), index=1),
        page(("text", "from a picture"), source="photo.jpg"),
        as_read(book, Block("text", (Box(100, 500, 900, 600),), "the book again"), index=0),
    ]
    export(
        document(*pages),
        tmp_path / "a.pdf",
        originals=lambda page: None if page.source == "photo.jpg" else Original(Path(page.source)),
        page_images=page_picture,
    )
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert words_of(result) == ["from the book", "from a picture", "the book again"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "book.pdf"]


def test_an_original_in_memory(book, tmp_path):
    data = Original(book.read_bytes())
    made = as_read(book, Block("text", (Box(100, 500, 900, 600),), "from memory"))
    export(document(made), tmp_path / "a.pdf", originals=lambda page: data)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert words_of(result) == ["from memory"]


def test_an_encrypted_original_stays_encrypted(tmp_path):
    source = pymupdf.open()
    source.new_page()
    source.save(
        tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own"
    )
    made = page(("text", "secret"), source="locked.pdf")
    export(
        document(made), tmp_path / "a.pdf", originals=lambda page: Original(tmp_path / "locked.pdf", "open")
    )
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert result.needs_pass
        assert result.authenticate("open")
        assert words_of(result) == ["secret"]


def with_text(tmp_path: Path) -> Path:
    source = pymupdf.open()
    source.new_page(width=300, height=400).insert_text((30, 50), "born digital")
    source.save(tmp_path / "digital.pdf")
    return tmp_path / "digital.pdf"


def test_a_page_that_has_text_already_gets_no_second_one(tmp_path):
    path = with_text(tmp_path)
    made = as_read(path, Block("text", (Box(100, 500, 900, 600),), "read again"), has_text_layer=True)
    done = export(document(made), tmp_path / "a.pdf", originals=lambda page: path)
    assert done.notes == ["page 1: it has text already and was left as it is"]
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert words_of(result) == ["born digital"]
    assert words_of(searchable(path, made, add_to_text_layer=True)) == ["born digital\nread again"]


def test_text_added_by_an_earlier_export_stays_readable(tmp_path):
    path = with_text(tmp_path)
    first = as_read(path, Block("text", (Box(100, 500, 900, 600),), "αβγ one"))
    searchable(path, first).save(tmp_path / "once.pdf")
    second = as_read(tmp_path / "once.pdf", Block("text", (Box(100, 700, 900, 800),), "two δεζ"))
    assert words_of(searchable(tmp_path / "once.pdf", second)) == ["born digital\nαβγ one\ntwo δεζ"]


def raw_pdf(tmp_path: Path, page_keys: str, pages_keys: str, content: bytes) -> Path:
    """A hand-written PDF: one page, keys as given, so that inheritance is real."""
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[3 0 R]/Count 1 {pages_keys}>>".encode(),
        f"<</Type/Page/Parent 2 0 R/Contents 4 0 R {page_keys}>>".encode(),
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Font<</F1 5 0 R>>>>",
        b"<</F1 5 0 R>>",
    ]
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start)
    (tmp_path / "raw.pdf").write_bytes(data)
    return tmp_path / "raw.pdf"


@pytest.mark.parametrize(
    ("page_keys", "pages_keys"),
    [
        ("/MediaBox[0 0 300 400]/Resources<</Font<</F1 5 0 R>>>>", ""),
        ("/MediaBox[0 0 300 400]/Resources 6 0 R", ""),
        ("/MediaBox[0 0 300 400]/Resources<</Font 7 0 R>>", ""),
        ("", "/MediaBox[0 0 300 400]/Resources<</Font<</F1 5 0 R>>>>"),
        ("", "/MediaBox[0 0 300 400]/Resources 6 0 R/Rotate 0"),
        ("/Resources<</ProcSet[/PDF]>>", "/MediaBox[0 0 300 400]"),
        ("", "/MediaBox[0 0 300 400]"),
    ],
)
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"q 2 0 0 2 50 50 cm q ",
        b"0.5 0 0 0.5 9 9 cm ",
        b"Q Q 0 1 -1 0 0 0 cm ",
        b"BT 5 Tc 50 Tz 9 Ts 30 TL ET ",
    ],
)
def test_inherited_resources_and_untidy_content(page_keys, pages_keys, before, tmp_path):
    content = before + b"BT /F1 12 Tf 20 300 Td (own text) Tj ET"
    path = raw_pdf(tmp_path, page_keys, pages_keys, content)
    with pymupdf.open(path) as source:
        own = source[0].get_text().strip()
    result = searchable(path, as_read(path, Block("text", (Box(100, 750, 500, 800),), "Hello world")))
    words = {word[4]: pymupdf.Rect(word[:4]) for word in result[0].get_text("words")}
    whole = words["Hello"] | words["world"]
    assert list(whole) == pytest.approx([30.03, 300.3, 150.15, 320.3], abs=0.5)
    assert own in result[0].get_text()


def test_a_page_cut_short_carries_a_note_in_its_corner(book):
    made = as_read(book, Block("text", (Box(100, 500, 900, 600),), "half"))
    made.finish_reason = FinishReason.LENGTH
    first = searchable(book, made)[0]
    (note,) = first.annots()
    assert note.info["content"].startswith("Page 1 is cut short: the limit")
    assert note.rect in pymupdf.Rect(0, 0, 60, 60)


def test_a_missing_picture_is_told_on_the_page_and_in_the_notes(tmp_path):
    done = export(document(page(("text", "only text"))), tmp_path / "a.pdf")
    assert done.notes == ["page 1: no picture of it was given"]
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert "No picture of page 1" in result[0].get_text()
        assert "only text" in result[0].get_text()


def test_an_original_with_too_few_pages_is_replaced_by_the_picture(book, tmp_path):
    done = export(
        document(page(("text", "beyond"), index=7)),
        tmp_path / "a.pdf",
        originals=lambda page: book,
        page_images=page_picture,
    )
    assert done.notes == ["page 8: the original PDF has no such page"]
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert words_of(result)[-1] == "beyond"


def test_an_original_that_is_gone_is_replaced_by_the_picture(tmp_path):
    done = export(
        document(page(("text", "a"))),
        tmp_path / "a.pdf",
        originals=lambda page: 1 / 0,
        page_images=page_picture,
    )
    assert done.notes == ["page 1: its original is not to be had: division by zero"]
    done = export(
        document(page(("text", "a"))),
        tmp_path / "b.pdf",
        originals=lambda page: tmp_path / "none.pdf",
        page_images=page_picture,
    )
    assert "its original cannot be opened" in done.notes[0]


def test_a_wrong_password_is_told(tmp_path):
    source = pymupdf.open()
    source.new_page()
    source.save(
        tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own"
    )
    done = export(
        document(page(("text", "a"))),
        tmp_path / "a.pdf",
        originals=lambda page: Original(tmp_path / "locked.pdf", "wrong"),
        page_images=page_picture,
    )
    assert done.notes == ["page 1: its original cannot be opened: it needs another password"]


def test_a_whole_page_finds_every_word(tmp_path):
    export(document(rich_page()), tmp_path / "a.pdf", page_images=page_picture)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        text = result[0].get_text()
    for word in ("Harbour", "noon.", "half", "inner", "Hour", "3.3", "mc^2", "Fig.", "7"):
        assert word in text


FLAT = """
import resource, sys
sys.path[:0] = {path!r}
import numpy as np
from PIL import Image
from export_samples import page
from uocr.export import export
noise = np.random.default_rng(1)
def image(page):
    return Image.fromarray(noise.integers(0, 255, (800, 600), dtype=np.uint8))
pages = (page(("text", f"page {{i}}"), index=i) for i in range(int(sys.argv[1])))
export(pages, sys.argv[2], page_images=image)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_many_pages_of_pictures_need_hardly_more_memory(tmp_path):
    def resident(count: int) -> tuple[int, int]:
        target = tmp_path / f"{count}.pdf"
        script = FLAT.format(path=sys.path)
        shown = subprocess.run(
            [sys.executable, "-c", script, str(count), str(target)],
            capture_output=True,
            text=True,
            check=True,
        )
        unit = 1 if sys.platform == "darwin" else 1024
        return int(shown.stdout) * unit, target.stat().st_size

    (small, _), (large, written) = resident(20), resident(140)
    assert written > 40_000_000
    assert large - small < 12_000_000
    with pymupdf.open(tmp_path / "140.pdf") as result:
        assert len(result) == 140
        assert words_of(result)[::50] == ["page 0", "page 50", "page 100"]


def test_the_font_leaves_no_ink_even_when_drawn(tmp_path):
    export(
        document(page(("text", "Hello"))),
        tmp_path / "a.pdf",
        page_images=lambda page: Image.new("L", (100, 100), 255),
    )
    with pymupdf.open(tmp_path / "a.pdf") as result:
        for xref in result[0].get_contents():
            result.update_stream(xref, result.xref_stream(xref).replace(b"3 Tr", b"0 Tr"))
        assert set(result[0].get_pixmap(dpi=200).samples) == {255}


def test_drawn_marks_are_not_covered(tmp_path):
    """A sanity check of the helper above: ink is found where it was drawn."""
    image = Image.new("L", (1000, 1000), 255)
    ImageDraw.Draw(image).rectangle((100, 200, 299, 399), fill=0)
    export(document(page()), tmp_path / "a.pdf", page_images=lambda page: image)
    with pymupdf.open(tmp_path / "a.pdf") as result:
        assert box_of_ink(result[0].get_pixmap(dpi=200)) == Box(100, 200, 300, 400)


def test_pages_that_failed_have_a_page_of_normal_size_and_the_first_note(tmp_path):
    gone = [Page("b.png", i, 0, 0, finish_reason=FinishReason.ERROR, error="b.png is gone") for i in (5, 6, 7)]
    layer = page(("text", "a"), has_text_layer=True)
    source = pymupdf.open()
    source.new_page()
    source.save(tmp_path / "scan.pdf")
    done = export(
        [layer, *gone],
        tmp_path / "out.pdf",
        originals=lambda page: tmp_path / "scan.pdf" if page is layer else None,
        page_images=lambda page: None,
    )
    assert done.notes == [
        "b.png, pages 6-8: not read, so there is no text",
        "b.png, pages 6-8: its picture is not to be had",
        "scan.pdf, page 1: it has text already and was left as it is",
    ]
    assert done.serious == 2
    with pymupdf.open(tmp_path / "out.pdf") as result:
        assert [tuple(p.rect[2:]) for p in result][1:] == [(595, 842)] * 3
        assert result[1].get_text().strip() == "Page 6 could not be read"
        (note,) = result[1].annots()
        assert note.info["content"] == "Page 6 could not be read: b.png is gone"


def test_words_of_neighbouring_cells_stay_apart(tmp_path: Path) -> None:
    table = "<table><tr><td>January</td><td>8</td><td>176</td></tr><tr><td>May</td><td>9</td><td>1</td></tr></table>"
    export(document(page(("table", table))), tmp_path / "a.pdf", page_images=page_picture)
    with pymupdf.open(tmp_path / "a.pdf") as found:
        assert [word[4] for word in found[0].get_text("words")] == ["January", "8", "176", "May", "9", "1"]
