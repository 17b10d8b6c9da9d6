"""Picture files as pages: upright, on paper, in true shades, every frame."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from uocr.errors import EmptyDocument, InvalidRequest, TooLarge, UnreadableFile
from uocr.sources import Limits, PageImage, open_source

RED, GREEN, BLUE, BLACK, WHITE = (220, 0, 0), (0, 150, 0), (0, 0, 220), (0, 0, 0), (255, 255, 255)
CYAN = (0, 255, 255)
Files = dict[str, Path]


def only_page(path: Path, **options: object) -> PageImage:
    with open_source(path, **options) as source:  # type: ignore[arg-type]
        assert len(source) == 1
        size = source.page_size(0)
        page = source.page(0)
    assert page.image.mode == "RGB"
    assert size == page.image.size == (page.width, page.height)
    return page


def near(pixel: object, colour: tuple[int, int, int]) -> bool:
    """Equal but for what JPEG does to a flat colour."""
    assert isinstance(pixel, tuple)
    return all(abs(a - b) <= 2 for a, b in zip(pixel, colour, strict=True))


def assert_corners(image: Image.Image) -> None:
    """Red, green, blue and black in the corners of an upright 96 x 64 sheet."""
    assert image.size == (96, 64)
    places = {(4, 4): RED, (91, 4): GREEN, (4, 59): BLUE, (91, 59): BLACK, (48, 32): WHITE}
    assert all(near(image.getpixel(place), colour) for place, colour in places.items())


def assert_black_text_on_white(image: Image.Image) -> None:
    """Three black bars on white paper."""
    expected = np.full((64, 96), 255, np.uint8)
    for y in (12, 28, 44):
        expected[y:y + 8, 16:80] = 0
    assert (np.asarray(image) == expected[..., None]).all()


# -- K9: orientation -------------------------------------------------------------------------------

@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_all_eight_exif_orientations_come_upright(files: Files, orientation: int, compat: str | None):
    assert_corners(only_page(files[f"exif-orientation-{orientation}.jpg"], compat=compat).image)


@pytest.mark.parametrize("suffix", ["png", "tif", "webp"])
def test_orientation_counts_in_every_format_that_has_it(files: Files, suffix: str):
    assert_corners(only_page(files[f"exif-orientation-6.{suffix}"]).image)


def test_a_picture_in_memory_is_turned_and_left_as_it_was(files: Files):
    with Image.open(files["exif-orientation-6.png"]) as picture:
        stored = picture.size
        assert_corners(open_source(picture).page(0).image)
        assert picture.size == stored == (64, 96)


def test_damaged_exif_leaves_the_picture_as_stored(files: Files):
    for compat in (None, "upstream"):
        assert_corners(only_page(files["exif-damaged.jpg"], compat=compat).image)


# -- K10: inks -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["cmyk-adobe.jpg", "cmyk-without-marker.jpg", "cmyk.tif"])
def test_cmyk_shows_black_white_and_cyan_the_right_way_round(files: Files, name: str):
    page = only_page(files[name])
    for x, colour in ((16, BLACK), (48, WHITE), (80, CYAN)):
        assert near(page.image.getpixel((x, 32)), colour)
    assert bool(page.notes) == (name == "cmyk-without-marker.jpg")


# -- K11: transparency -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["alpha-black-text.png", "alpha-black-text.webp", "alpha-grey.png",
                                  "palette-one-transparent.png", "palette-alpha-table.png"])
def test_transparent_paper_is_white(files: Files, name: str):
    page = only_page(files[name])
    assert_black_text_on_white(page.image)
    assert page.notes == []


def test_white_text_on_transparency_is_put_on_black(files: Files):
    page = only_page(files["alpha-white-text.png"])
    assert_black_text_on_white(page.image.point(lambda v: 255 - v))
    assert page.notes == ["Light drawing on transparency, put on black to be readable."]


def test_colours_below_full_transparency_are_read(files: Files):
    page = only_page(files["alpha-hidden-colours.png"])
    assert_black_text_on_white(page.image)
    assert page.notes == ["Every pixel is transparent, the colours below were read."]


def test_half_transparent_ink_is_mixed_with_white():
    picture = Image.new("RGBA", (2, 1), (0, 0, 0, 128))
    picture.putpixel((1, 0), (0, 0, 0, 255))
    page = open_source(picture).page(0).image
    assert [page.getpixel((x, 0)) for x in (0, 1)] == [(127, 127, 127), BLACK]


# -- shades of more than 8 bits --------------------------------------------------------------------

@pytest.mark.parametrize("name", ["grey-16.png", "grey-12-in-16.png", "grey-16-white-is-zero.tif",
                                  "grey-float.tif"])
def test_deep_grey_is_scaled_to_its_range(files: Files, name: str):
    row = np.asarray(only_page(files[name]).image)[0, :, 0].astype(int)
    assert (row[0], row[-1]) == (0, 255)
    assert np.abs(row - np.linspace(0, 255, 96)).max() <= 1


def test_eight_bits_in_sixteen_stay_as_they_are():
    values = np.array([[0, 100, 255]], np.uint16)
    assert np.asarray(open_source(Image.fromarray(values)).page(0).image)[0, :, 0].tolist() == [0, 100, 255]


@pytest.mark.parametrize(("values", "expected"), [
    (np.array([[-5, 0, 5]], np.int32), [0, 128, 255]),
    (np.array([[0, 1_000_000]], np.int32), [0, 255]),
    (np.array([[-1.5, np.nan, 1.5, np.inf]], np.float32), [0, 128, 255, 128]),
    (np.array([[7.0, 7.0]], np.float32), [7, 7]),
])
def test_shades_without_a_natural_range_go_from_least_to_most(values: np.ndarray, expected: list[int]):
    assert np.asarray(open_source(Image.fromarray(values)).page(0).image)[0, :, 0].tolist() == expected


def test_a_transparent_shade_of_deep_grey_is_paper(tmp_path: Path):
    path = tmp_path / "grey-transparent.png"
    Image.fromarray(np.array([[0, 32768, 65535]], np.uint16)).save(path, transparency=0)
    assert np.asarray(only_page(path).image)[0, :, 0].tolist() == [255, 128, 255]


# -- what the published code does, faults included -------------------------------------------------

@pytest.mark.parametrize(("name", "expected"), [
    ("alpha-black-text.png", (0, 0)),
    ("alpha-white-text.png", (255, 255)),
    ("palette-one-transparent.png", (0, 0)),
    ("grey-16.png", (0, 255)),
    ("cmyk-without-marker.jpg", (0, 0)),
])
def test_upstream_policy_keeps_upstream_faults(files: Files, name: str, expected: tuple[int, int]):
    """Lightest and darkest shade of a column: alpha dropped, 16 bits clipped, unmarked inks inverted."""
    page = only_page(files[name], compat="upstream")
    pixels = np.asarray(page.image)[:, :48]
    assert (int(pixels.min()), int(pixels.max())) == expected
    assert page.notes == []


def test_upstream_clips_deep_grey_to_white(files: Files):
    row = np.asarray(only_page(files["grey-16.png"], compat="upstream").image)[0, :, 0]
    assert row[0] == 0 and (row[1:] == 255).all()


# -- K12: frames -----------------------------------------------------------------------------------

@pytest.mark.parametrize("suffix", ["tif", "gif", "webp", "png"])
def test_every_frame_is_a_page(files: Files, suffix: str):
    with open_source(files[f"pages-3.{suffix}"]) as source:
        assert len(source) == 3
        assert [p.image.getpixel((5, 5)) for p in source] == [RED, GREEN, BLUE]
        assert [(p.index, p.source) for p in source] == [(i, source.name) for i in range(3)]
        assert source.page(0).image.getpixel((5, 5)) == RED  # backwards too


@pytest.mark.parametrize("suffix", ["tif", "gif", "webp", "png"])
def test_frames_are_chosen_like_pages(files: Files, suffix: str):
    with open_source(files[f"pages-3.{suffix}"], pages="-1,1") as source:
        assert source.indices == (2, 0)
        assert [p.image.getpixel((5, 5)) for p in source] == [BLUE, RED]


def test_thumbnails_and_previews_are_no_pages(files: Files):
    with open_source(files["pages-thumbnails.tif"]) as source:
        assert [page.image.size for page in source] == [(96, 64), (96, 64)]
        assert [page.image.getpixel((5, 5)) for page in source] == [RED, BLUE]
    assert near(only_page(files["preview-inside.jpg"]).image.getpixel((5, 5)), RED)


def test_a_damaged_frame_does_not_lose_the_others(files: Files):
    with open_source(files["pages-cut.tif"]) as source:
        pages = iter(source)
        assert [next(pages).index, next(pages).index] == [0, 1]
        with pytest.raises(UnreadableFile, match=r"pages-cut.tif, page 3 is damaged"):
            next(pages)
        with pytest.raises(StopIteration):
            next(pages)
        assert source.page(0).width == 96


def test_a_page_that_fails_does_not_end_the_iteration(files: Files, monkeypatch: pytest.MonkeyPatch):
    with open_source(files["pages-3.tif"]) as source:
        read = source.page
        monkeypatch.setattr(source, "page", lambda i: read(i) if i != 1 else read(99))
        pages = iter(source)
        assert next(pages).index == 0
        with pytest.raises(InvalidRequest):
            next(pages)
        assert next(pages).index == 2


# -- K13: HEIC -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["heic-upright.heic", "heic-orientation-6.heic", "heic-named-jpg.jpg",
                                  "heic-metadata-damaged.heic"])
@pytest.mark.parametrize("compat", [None, "upstream"])
def test_heic_is_read_upright_whatever_its_name(files: Files, name: str, compat: str | None):
    assert_corners(only_page(files[name], compat=compat).image)


def test_every_picture_of_a_heic_file_is_a_page(files: Files):
    with open_source(files["heic-two-pictures.heic"]) as source:
        assert len(source) == 2
        assert near(source.page(0).image.getpixel((4, 4)), RED)
        assert near(source.page(1).image.getpixel((4, 4)), GREEN)


# -- K14: extremes ---------------------------------------------------------------------------------

@pytest.mark.parametrize(("width", "height"), [(1, 1), (10, 4000), (20000, 64), (4000, 1)])
def test_tiny_and_extreme_pictures_open(files: Files, width: int, height: int):
    assert only_page(files[f"extreme-{width}x{height}.png"]).image.size == (width, height)


# -- refusals --------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "error", "words"), [
    ("cut-at-half.png", UnreadableFile, "cut-at-half.png is damaged and cannot be decoded: .*truncated"),
    ("cut-at-half.jpg", UnreadableFile, "cut-at-half.jpg is damaged and cannot be decoded: .*truncated"),
    ("text-named-png.png", UnreadableFile, r"text-named-png.png is damaged or not a picture or PDF\.$"),
    ("postscript.eps", UnreadableFile, "postscript.eps is damaged or not a picture"),
    ("empty.png", EmptyDocument, r"empty.png is empty \(0 bytes\)"),
    ("claims-60000x60000.png", TooLarge, "claims 3,600,000,000 pixels, over the limit of 178,956,970"),
])
def test_refusals_name_the_file_and_the_reason(files: Files, name: str, error: type[Exception], words: str):
    with pytest.raises(error, match=words) as caught, open_source(files[name]) as source:
        source.page(0)
    assert str(caught.value).count("\n") == 0 and str(caught.value).endswith(".")


def test_limits_are_told_with_numbers(files: Files):
    with pytest.raises(TooLarge, match=r"96 x 64 = 6,144 pixels, over the limit of 6,143"):
        open_source(files["alpha-grey.png"], limits=Limits(max_pixels=6143))
    assert len(open_source(files["alpha-grey.png"], limits=Limits(max_pixels=6144))) == 1
    size = files["cmyk.tif"].stat().st_size
    with pytest.raises(TooLarge, match=f"{size:,} bytes, over the limit of 100; split"):
        open_source(files["cmyk.tif"], limits=Limits(max_bytes=100))
    with pytest.raises(TooLarge, match=r'has 3 pages, over the limit of 2; choose some, such as pages="1-2"'):
        open_source(files["pages-3.tif"], limits=Limits(max_pages=2))
    assert len(open_source(files["pages-3.tif"], pages="1-2", limits=Limits(max_pages=2))) == 2


def test_later_frames_are_measured_too(tmp_path: Path):
    path = tmp_path / "growing.tif"
    Image.new("RGB", (10, 10)).save(path, save_all=True, append_images=[Image.new("RGB", (100, 100))])
    with open_source(path, limits=Limits(max_pixels=1000)) as source:
        assert source.page(0).width == 10
        with pytest.raises(TooLarge, match="page 2 is 100 x 100"):
            source.page(1)


def test_a_closed_source_says_so(files: Files):
    source = open_source(files["pages-3.tif"])
    source.close()
    source.close()
    with pytest.raises(InvalidRequest, match="was closed, open it again"):
        source.page(0)


def test_a_file_that_vanishes_after_opening_is_still_read(tmp_path: Path, files: Files):
    path = tmp_path / "vanishing.tif"
    path.write_bytes(files["pages-3.tif"].read_bytes())
    with open_source(path) as source:
        path.unlink()
        assert [p.image.getpixel((5, 5)) for p in source] == [RED, GREEN, BLUE]


def test_several_threads_may_read_one_source(files: Files):
    with open_source(files["pages-3.gif"]) as source:
        seen: list[tuple[int, object]] = []

        def read() -> None:
            for i in (2, 0, 1) * 5:
                seen.append((i, source.page(i).image.getpixel((5, 5))))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(seen) == 60
    assert all(colour == (RED, GREEN, BLUE)[i] for i, colour in seen)


def test_resolution_is_what_the_file_claims(tmp_path: Path):
    path = tmp_path / "scan.tif"
    Image.new("RGB", (10, 10)).save(path, dpi=(300, 300))
    assert only_page(path).dpi == 300
    Image.new("RGB", (10, 10)).save(tmp_path / "plain.png")
    assert only_page(tmp_path / "plain.png").dpi is None
