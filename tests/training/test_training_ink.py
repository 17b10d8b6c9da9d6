"""Lines laid together from glyphs are the lines that Pillow draws; labels say what is printed where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from training.charset import CLASS_OF
from training.pages.ink import SizedFont
from training.pages.views import SLOTS, global_labels, local_labels
from training.smoke import smoke_pack
from training.targets import Block

LINES = ("The stand holds the book.", "fjord, Wj/f_j", "a", " a ", "|||| ...", "WAVE To Ty.")


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("ink") / "pack") / "fonts" / "builtin.ttf"


def ground() -> Image.Image:
    """Paper, some of it shaded, so that the order in which ink is laid over it shows."""
    page = Image.new("L", (420, 80), 0)
    page.paste(97, (60, 0, 200, 80))
    return page


def with_table(source: Path, target: Path) -> Path:
    """A font file whose first table goes by the name of the table of kerning."""
    data = bytearray(source.read_bytes())
    data[12:16] = b"kern"
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("size", [7, 13, 20, 37])
@pytest.mark.parametrize("text", LINES)
def test_a_line_of_remembered_glyphs_is_the_line_that_pillow_draws(face: Path, text: str, size: int) -> None:
    font, page, wanted = SizedFont(face, size), ground(), ground()
    font._kerning = False
    for _ in range(2):  # the second time over the first
        box, middles = font.write(page, 5, 50, text)
        ImageDraw.Draw(wanted).text((5, 50), text, 255, font.font, anchor="ls")
    left, top, right, bottom = font.font.getbbox(text, anchor="ls")
    assert box == (5 + left, 50 + top, 5 + right, 50 + bottom)
    assert page.tobytes() == wanted.tobytes()
    assert len(middles) == len(text)


@pytest.mark.parametrize("text", LINES)
def test_stamped_characters_stand_where_pillow_draws_each(face: Path, text: str) -> None:
    font, page, wanted = SizedFont(face, 21), ground(), ground()
    box, middles = font.stamp(page, 5, 50, text)
    pen, boxes = 0.0, []
    for char, middle in zip(text, middles, strict=True):
        if char != " ":
            at = 5 + int(pen + 0.5)
            ImageDraw.Draw(wanted).text((at, 50), char, 255, font.font, anchor="ls")
            left, top, right, bottom = font.font.getbbox(char, anchor="ls")
            boxes.append((at + left, 50 + top, at + right, 50 + bottom))
        assert middle == 5 + pen + font.advance(char) / 2
        pen += font.advance(char)
    assert page.tobytes() == wanted.tobytes()
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    assert box == (min(lefts), min(tops), max(rights), max(bottoms))


def test_nothing_is_drawn_for_an_empty_line(face: Path) -> None:
    font, page = SizedFont(face, 20), ground()
    assert font.write(page, 5, 50, "")[1] == font.stamp(page, 5, 50, "")[1] == []
    assert page.tobytes() == ground().tobytes()


def test_fonts_that_may_be_kerned_are_told_apart(face: Path, tmp_path: Path) -> None:
    assert SizedFont(with_table(face, tmp_path / "kerned.ttf"), 20)._kerning
    assert SizedFont(face, 20)._kerning == (b"kern" in face.read_bytes()[12:400:16])


def test_a_page_over_memory_that_is_not_its_own_is_drawn_on_all_the_same(face: Path) -> None:
    memory = np.zeros((80, 420), np.uint8)
    page = Image.frombuffer("L", (420, 80), memory, "raw", "L", 0, 1)
    SizedFont(face, 20).stamp(page, 5, 50, "ink")
    assert np.asarray(page).any()
    assert not memory.any()


@pytest.mark.parametrize(
    ("label", "text", "shown"),
    [
        ("text", "a <b>\nc", "a<b>c"),
        ("table", "<table><tr><td>a b</td><td></td></tr></table>", "ab"),
        ("table", '<td colspan="2">1 > 0</td>', "1>0"),
        ("table", "> a", ">a"),
        ("text", "", ""),
    ],
)
def test_tags_spaces_and_line_ends_are_not_printed(label: str, text: str, shown: str) -> None:
    block = Block(label, text, [(0.0, 0.0)] * len(text), (0, 0, 1, 1))
    assert "".join(char for char, seen in zip(text, block.printed(), strict=True) if seen) == shown


def test_a_patch_is_labelled_with_its_first_characters_in_reading_order() -> None:
    """Against a loop over the characters, on a page twice as large as the view, with points outside it too."""
    rng = np.random.default_rng(3)
    blocks = []
    for _ in range(3):
        text = "".join(rng.choice(list("abc déÅ€,"), 900))
        points = [(float(x), float(y)) for x, y in rng.uniform(-40, 400, (900, 2))]
        blocks.append(Block("text", text, points, (0, 0, 1, 1)))
    wanted = np.zeros((64, 64, SLOTS), np.uint8)
    for block in blocks:
        for char, (x, y) in zip(block.text, block.points, strict=True):
            row, column = (min(max(int(np.float32(v) * 0.5 / 16), 0), 63) for v in (y, x))
            free = np.flatnonzero(wanted[row, column] == 0)
            if char != " " and len(free):
                wanted[row, column, free[0]] = CLASS_OF[char]
    assert np.array_equal(global_labels(blocks, (2048, 2048), (0, 0, 1024, 1024)), wanted)
    tiles = local_labels(blocks, (2048, 2048), (2, 2))
    mosaic = tiles.reshape(2, 2, 40, 40, SLOTS).transpose(0, 2, 1, 3, 4).reshape(80, 80, SLOTS)
    assert set(np.unique(mosaic)) == set(np.unique(wanted))
    assert not mosaic[20:].any()


def test_no_characters_no_labels_and_unknown_ones_are_named() -> None:
    assert not global_labels([], (100, 100), (0, 0, 1024, 1024)).any()
    for char in ("\u0416", "\u4e00"):
        with pytest.raises(KeyError, match=char):
            global_labels([Block("text", char, [(1.0, 1.0)], (0, 0, 2, 2))], (100, 100), (0, 0, 1024, 1024))
