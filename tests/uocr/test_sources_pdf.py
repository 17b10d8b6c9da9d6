"""PDF files as pages: right way round, right size, one bad page alone, no password loses the batch."""

from __future__ import annotations

import dataclasses
import gc
import resource
import sys
import weakref
from pathlib import Path

import pymupdf
import pytest
from uocr.errors import EmptyDocument, EncryptedFile, InvalidRequest, TooLarge, UnreadableFile
from uocr.settings import ReadSettings
from uocr.sources import Limits, PageImage, open_source
from uocr.sources.pdf import LEAST_DPI

BLUE, WHITE = (0, 0, 255), (255, 255, 255)
Files = dict[str, Path]


def first_page(path: Path, **options: object) -> PageImage:
    with open_source(path, **options) as source:  # type: ignore[arg-type]
        assert source.kind == "pdf"
        size = source.page_size(0)
        page = source.page(0)
    assert page.image.mode == "RGB" and size == page.image.size == (page.width, page.height)
    return page


def corner_colours(page: PageImage) -> list[object]:
    """Top left, top right, bottom left, bottom right, three pixels inside."""
    right, bottom = page.width - 4, page.height - 4
    return [page.image.getpixel(place) for place in ((3, 3), (right, 3), (3, bottom), (right, bottom))]


def test_pages_come_at_300_dpi_and_know_their_text(files: Files):
    page = first_page(files["born-digital.pdf"])
    assert (page.width, page.height, page.dpi) == (834, 417, 300)  # 200 x 100 points, rounded outwards
    assert page.has_text_layer
    assert page.notes == []


def test_a_scan_has_no_text_layer(files: Files):
    page = first_page(files["scan-only.pdf"])
    assert not page.has_text_layer
    assert page.image.getpixel((8, 8)) == (220, 0, 0)


def test_dpi_sets_the_pixels(files: Files):
    assert first_page(files["born-digital.pdf"], dpi=72).image.size == (200, 100)
    assert first_page(files["born-digital.pdf"], dpi=144).image.size == (400, 200)
    for dpi in (0, -1, 100_000):
        with pytest.raises(InvalidRequest, match=r"outside 1..2400"):
            open_source(files["born-digital.pdf"], dpi=dpi)


def test_page_ranges_keep_the_numbers_of_the_file(files: Files):
    with open_source(files["pages-12.pdf"], pages="1-3,5,-1", dpi=36) as source:
        assert len(source) == 5
        assert [page.index for page in source] == [0, 1, 2, 4, 11]
    with pytest.raises(InvalidRequest, match=r"no page 13 in .*pages-12.pdf, which has 12 pages"):
        open_source(files["pages-12.pdf"], pages="13")


@pytest.mark.parametrize(("name", "size", "corners"), [
    ("rotate-90.pdf", (600, 300), [BLUE, BLUE, WHITE, WHITE]),
    ("rotate-180.pdf", (300, 600), [WHITE, BLUE, WHITE, BLUE]),
    ("rotate-270.pdf", (600, 300), [WHITE, WHITE, BLUE, BLUE]),
    ("crop-box.pdf", (200, 300), [BLUE, WHITE, BLUE, WHITE]),
    ("user-unit-2.pdf", (600, 1200), [BLUE, WHITE, BLUE, WHITE]),
])
def test_rotation_crop_box_and_user_unit(
        files: Files, name: str, size: tuple[int, int], corners: list[object]):
    page = first_page(files[name])
    assert page.image.size == size
    assert corner_colours(page) == corners


def test_a_crop_box_moves_the_origin(files: Files):
    """36 of the 48 points that the crop box leaves are blue."""
    page = first_page(files["crop-box.pdf"], dpi=72)
    assert [page.image.getpixel((x, 40)) for x in (34, 37)] == [BLUE, WHITE]


# -- K15: passwords --------------------------------------------------------------------------------

@pytest.mark.parametrize("password", ["sesamo", "padrone"])
def test_user_and_owner_passwords_open(files: Files, password: str):
    with open_source(files["password-user.pdf"], password=password, dpi=72) as source:
        assert [page.has_text_layer for page in source] == [True, True]


def test_a_missing_or_wrong_password_is_told(files: Files):
    with pytest.raises(EncryptedFile, match=r"password-user.pdf is encrypted and needs a password"):
        open_source(files["password-user.pdf"])
    with pytest.raises(EncryptedFile, match=r"password-user.pdf is encrypted and the given password does"):
        open_source(files["password-user.pdf"], password="wrong")


def test_an_owner_password_alone_asks_for_nothing(files: Files):
    for password in (None, "padrone", "not needed"):
        with open_source(files["password-owner-only.pdf"], password=password, dpi=72) as source:
            assert len(source) == 2 and source.page(1).has_text_layer


# -- K16: damage -----------------------------------------------------------------------------------

def test_what_the_library_says_of_a_damaged_file_is_logged(files: Files, caplog: pytest.LogCaptureFixture):
    with caplog.at_level("INFO", "uocr.sources.pdf"), open_source(files["cut-at-half.pdf"], dpi=72) as source:
        assert source.notes == ["The file is damaged and was repaired, parts of it may be missing."]
    assert "cut-at-half.pdf: " in caplog.text and "cannot find startxref" in caplog.text


def test_of_a_pdf_cut_in_half_the_pages_before_the_cut_are_read(files: Files):
    with open_source(files["cut-at-half.pdf"], dpi=72) as source:
        assert len(source) == 12
        assert source.notes and "damaged and was repaired" in source.notes[0]
        read, lost = [], []
        for i in range(12):
            try:
                read.append(source.page(i).has_text_layer)
            except UnreadableFile as error:
                lost.append(str(error))
    assert read == [True] * 7
    assert len(lost) == 5 and "cut-at-half.pdf, page 8 is damaged" in lost[0]


@pytest.mark.parametrize("name", ["no-root.pdf", "no-catalog.pdf", "count-zero-with-page.pdf"])
def test_pages_that_the_tree_does_not_lead_to_are_found(files: Files, name: str):
    page = first_page(files[name])
    assert corner_colours(page) == [BLUE, WHITE, BLUE, WHITE]
    assert page.notes == ["The file is damaged and was repaired, parts of it may be missing."]


@pytest.mark.parametrize(("name", "count"), [
    ("count-too-small.pdf", 2), ("count-too-large.pdf", 2), ("count-99999999.pdf", 1)])
def test_a_wrong_count_is_put_right(files: Files, name: str, count: int):
    with open_source(files[name], dpi=72) as source:
        assert len(source) == count
        assert "damaged and was repaired" in source.notes[0]
        assert [page.image.getpixel((5, 5)) for page in source] == [WHITE] * count


def test_a_pdf_without_pages_is_empty(files: Files):
    with pytest.raises(EmptyDocument, match=r"count-zero.pdf has no page in it; nothing was read"):
        open_source(files["count-zero.pdf"])


def test_a_page_without_contents_is_white(files: Files):
    page = first_page(files["no-contents.pdf"])
    assert page.image.getextrema() == ((255, 255),) * 3
    assert page.image.size == (300, 600)
    assert page.notes == []


def test_one_missing_page_does_not_lose_the_others(files: Files):
    with open_source(files["page-2-missing.pdf"]) as source:
        assert len(source) == 3
        assert corner_colours(source.page(0)) == [BLUE, WHITE, BLUE, WHITE]
        with pytest.raises(UnreadableFile, match=r"page-2-missing.pdf, page 2 is damaged: object 4 stands"):
            source.page(1)
        assert corner_colours(source.page(2)) == [BLUE, WHITE, BLUE, WHITE]


def test_a_page_of_which_nothing_can_be_drawn_is_not_blank(files: Files):
    with pytest.raises(UnreadableFile, match=r"content-damaged.pdf is damaged, nothing on it can be drawn\.$"):
        first_page(files["content-damaged.pdf"])


def test_a_partly_damaged_page_is_read_with_a_note(files: Files):
    page = first_page(files["content-half-damaged.pdf"])
    assert corner_colours(page) == [BLUE, WHITE, BLUE, WHITE]
    assert page.notes == ["The page is damaged, parts of it may be missing."]


def test_junk_before_the_header_is_passed_over(files: Files):
    assert first_page(files["junk-before-header.pdf"]).has_text_layer


def test_text_named_pdf_is_refused(files: Files):
    with pytest.raises(UnreadableFile, match=r"text-named-pdf.pdf is damaged or not a PDF"):
        open_source(files["text-named-pdf.pdf"])


def test_mupdf_says_nothing_on_the_terminal(files: Files, capfd: pytest.CaptureFixture[str]):
    for name in ("cut-at-half.pdf", "content-half-damaged.pdf", "no-root.pdf", "count-too-large.pdf"):
        first_page(files[name])
    assert capfd.readouterr() == ("", "")


# -- gigantic ones ---------------------------------------------------------------------------------

def test_a_gigantic_page_is_refused_with_the_dpi_that_fits(files: Files):
    with open_source(files["gigantic-page.pdf"]) as source:
        for refused in (source.page, source.page_size):
            with pytest.raises(TooLarge) as caught:
                refused(0)
            assert str(caught.value).endswith(
                "gigantic-page.pdf at 300 dpi is 60000 x 60000 = 3,600,000,000 pixels, "
                "over the limit of 178,956,970; read it with at most 66 dpi.")
    assert first_page(files["gigantic-page.pdf"], dpi=2).image.size == (400, 400)


@pytest.mark.parametrize(
    ("side", "advice"), [(6720, "at most 36 dpi"), (6721, "even 36 dpi, the lowest, is too much")])
def test_no_resolution_is_advised_that_the_settings_refuse(tmp_path: Path, side: int, advice: str):
    (lowest,) = (f.metadata["low"] for f in dataclasses.fields(ReadSettings) if f.name == "dpi")
    assert lowest == LEAST_DPI
    document = pymupdf.open()
    document.new_page(width=side, height=side)
    document.save(tmp_path / "wide.pdf")
    limits = Limits(max_pixels=3360 * 3360)
    with open_source(tmp_path / "wide.pdf", limits=limits) as source, pytest.raises(TooLarge, match=advice):
        source.page(0)


@pytest.mark.parametrize("name", ["gigantic-picture.pdf", "gigantic-inline-picture.pdf"])
def test_a_small_file_that_unfolds_to_a_gigantic_picture_is_refused(files: Files, name: str):
    assert files[name].stat().st_size < 1000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge, match=f"{name} holds a picture of 100000 x 100000 = 10,000,000,000 pixels"):
        first_page(files[name], dpi=72)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100 * (1 << 20 if sys.platform == "darwin" else 1 << 10)  # bytes on macOS, else KiB


# -- many pages ------------------------------------------------------------------------------------

def test_500_pages_are_made_one_at_a_time(tmp_path: Path):
    path = tmp_path / "long.pdf"
    document = pymupdf.open()
    for number in range(500):
        document.new_page(width=400, height=500).insert_text((50, 50), f"Page {number}")
    document.save(path)
    unit = 1 if sys.platform == "darwin" else 1 << 10  # ru_maxrss: bytes on macOS, else KiB
    pictures: list[weakref.ref[object]] = []
    with open_source(path, dpi=72) as source:
        assert len(source) == 500
        for i in range(500):
            pictures.append(weakref.ref(source.page(i).image))
            if i == 50:
                early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        late = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        gc.collect()
        assert sum(ref() is not None for ref in pictures) == 0
    assert (late - early) * unit < 20 << 20  # 500 pictures together are 300 MB


def test_a_closed_pdf_says_so(files: Files):
    source = open_source(files["born-digital.pdf"])
    source.close()
    source.close()
    with pytest.raises(InvalidRequest, match="was closed, open it again"):
        source.page(0)
