"""Ink outside every box, boxes without ink: on white, dark, noisy and shaded pages."""

from __future__ import annotations

import numpy as np
import pytest
from export_samples import page
from PIL import Image, ImageDraw, ImageFont
from uocr.audit import Audit, audit
from uocr.document import BOX_SCALE, Block, Box
from uocr.ink import median
from uocr.score import box_iou

SIZE = (1240, 1754)  # A4 at 150 dpi
LINES = [(100, 200, "A line of text at the top of the page"), (100, 700, "Another one in the middle"),
         (600, 1600, "17")]  # fmt: skip


def drawn(
    ink: object = 0, paper: object = 255, mode: str = "L", size: float = 28
) -> tuple[Image.Image, list[Box]]:
    """A page of LINES and the true box of each."""
    image = Image.new(mode, SIZE, paper)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    boxes = []
    for x, y, text in LINES:
        pen.text((x, y), text, ink, font=font)
        left, top, right, bottom = pen.textbbox((x, y), text, font=font)
        boxes.append(
            Box(
                int(left / SIZE[0] * BOX_SCALE),
                int(top / SIZE[1] * BOX_SCALE),
                int(right / SIZE[0] * BOX_SCALE) + 1,
                int(bottom / SIZE[1] * BOX_SCALE) + 1,
            )
        )
    return image, boxes


def blocks(boxes: list[Box]) -> list[Block]:
    return [Block("text", (box,), "text") for box in boxes]


def assert_missed(found: Audit, *expected: Box) -> None:
    assert len(found.missed) == len(expected), found
    for box, true in zip(found.missed, expected, strict=True):
        assert box_iou(box, true) > 0.6, (box, true)


PAGES = {
    "black on white": {},
    "white on black": {"ink": 255, "paper": 0},
    "grey on dark grey": {"ink": 150, "paper": 60},
    "faint": {"ink": 190, "paper": 255},
    "colour": {"ink": (200, 30, 30), "paper": (250, 240, 200), "mode": "RGB"},
    "ink only in the alpha channel": {"ink": (0, 0, 0, 255), "paper": (0, 0, 0, 0), "mode": "RGBA"},
    "black and white": {"ink": 0, "paper": 1, "mode": "1"},
    "small print": {"size": 13},
}


@pytest.mark.parametrize("look", PAGES.values(), ids=PAGES.keys())
def test_each_line_is_missed_without_its_box_and_only_then(look):
    image, boxes = drawn(**look)
    assert audit(page(*blocks(boxes)), image) == Audit()
    assert_missed(audit(page(*blocks(boxes[1:])), image), boxes[0])
    assert_missed(audit(page(*blocks(boxes[:2])), image), boxes[2])
    assert_missed(audit(page(), image), *boxes)


@pytest.mark.parametrize("look", PAGES.values(), ids=PAGES.keys())
def test_a_box_on_empty_paper_is_invented(look):
    image, boxes = drawn(**look)
    made = page(*blocks([boxes[0], Box(100, 600, 900, 700), *boxes[1:], Box(500, 20, 520, 30)]))
    assert audit(made, image) == Audit([], [1, 4])


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03])
def test_speckle_noise_is_neither_missed_nor_ink(share):
    image, boxes = drawn()
    pixels = np.array(image)
    noise = np.random.default_rng(1).random(pixels.shape)
    pixels[noise < share / 2] = 0
    pixels[noise > 1 - share / 2] = 255
    found = audit(page(*blocks([*boxes, Box(100, 600, 900, 700)])), Image.fromarray(pixels))
    assert found == Audit([], [3])


def test_grain_and_a_shadow_across_the_page_are_paper():
    image, boxes = drawn()
    shade = np.linspace(1.0, 0.45, SIZE[0])[None, :] * np.linspace(1.0, 0.8, SIZE[1])[:, None]
    grain = np.random.default_rng(1).normal(0, 6, (SIZE[1], SIZE[0]))
    photo = Image.fromarray(np.clip(np.array(image) * shade + grain, 0, 255).astype(np.uint8))
    assert audit(page(*blocks([*boxes, Box(100, 600, 900, 700)])), photo) == Audit([], [3])
    assert_missed(audit(page(*blocks(boxes[1:])), photo), boxes[0])


def test_rules_and_edges_of_the_scan_are_not_missed_text():
    image, boxes = drawn()
    pen = ImageDraw.Draw(image)
    pen.line((100, 1000, 1100, 1000), 0, 2)
    pen.line((620, 300, 620, 650), 0, 3)
    pen.rectangle((0, 0, 3, SIZE[1]), 0)
    assert audit(page(*blocks(boxes)), image) == Audit()


def test_a_frame_around_the_page_does_not_swallow_what_is_missed():
    image, boxes = drawn()
    ImageDraw.Draw(image).rectangle((20, 20, SIZE[0] - 20, SIZE[1] - 20), outline=0, width=6)
    assert audit(page(*blocks(boxes)), image) == Audit()
    assert_missed(audit(page(*blocks(boxes[1:])), image), boxes[0])


def test_lines_of_one_paragraph_are_one_place_but_for_what_was_read_between():
    image = Image.new("L", SIZE, 255)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(28)
    lines = [(x, 300 + 55 * row) for row in range(6) for x in (100, 700)]
    for x, y in lines:
        pen.text((x, y), "words of a column here", 0, font=font)
    found = audit(page(), image).missed
    assert [(box.x1 > 500, box.y2 - box.y1 > 150) for box in found] == [(False, True), (True, True)]
    left, top, right, bottom = (v / side * BOX_SCALE for v, side in zip((95, 355, 600, 410), SIZE * 2, strict=True))
    read = Block("text", (Box(round(left), round(top), round(right), round(bottom)),), "text")
    assert [box.x1 > 500 for box in audit(page(read), image).missed] == [False, True, False]


def test_a_missed_picture_is_one_region():
    image, boxes = drawn()
    noise = np.random.default_rng(1).integers(0, 255, (30, 40), dtype=np.uint8)
    image.paste(Image.fromarray(noise).resize((400, 300), Image.Resampling.BICUBIC), (200, 1000))
    true = Box(161, 570, 484, 741)
    assert_missed(audit(page(*blocks(boxes)), image), true)
    assert audit(page(*blocks([*boxes, true])), image) == Audit()


def test_a_picture_of_one_colour_is_not_invented():
    image, boxes = drawn()
    ImageDraw.Draw(image).rectangle((200, 900, 1000, 1400), 90)
    inside = Block("image", (Box(200, 550, 700, 750),), "")
    assert audit(page(*blocks(boxes), inside), image).invented == []


def test_a_block_with_several_boxes_is_invented_only_when_all_are_empty():
    image, boxes = drawn()
    one_empty = Block("text", (boxes[0], Box(100, 600, 900, 700)), "x")
    all_empty = Block("text", (Box(100, 500, 900, 550), Box(100, 600, 900, 700)), "x")
    assert audit(page(one_empty, all_empty, *blocks(boxes)), image) == Audit([], [1])


# -- boxes that end before their text does -------------------------------------------------------------------------

PROSE = [
    "The harbour office opens at nine and closes",
    "when the last boat has come in for the night.",
    "Tickets are sold on board; children below six",
    "travel free of charge, dogs do so on a lead.",
]


def paragraphs(count: int, size: float = 22, column: int = 0) -> tuple[Image.Image, list[Block]]:
    """A page of `count` paragraphs of PROSE, each with its text and its true box; column: pixels that it begins at."""
    image = Image.new("L", SIZE, 255)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(size)
    made = []
    for number in range(count):
        place, text = (100 + column, 200 + 300 * number), "\n".join(PROSE)
        pen.multiline_text(place, text, 0, font=font, spacing=10)
        box = pen.multiline_textbbox(place, text, font=font, spacing=10)
        left, top, right, bottom = (v / side * BOX_SCALE for v, side in zip(box, SIZE * 2, strict=True))
        whole = Box(round(left), round(top), round(right), round(bottom))
        made.append(Block("text", (whole,), text.replace("\n", " ")))
    return image, made


def narrowed(block: Block, share: float, *, text: bool = False, left: bool = False) -> Block:
    """`block` with that share of its box, which ends or, left, begins too far inside; text: and of its lines."""
    (box,) = block.boxes
    width = round(share * (box.x2 - box.x1))
    box = Box(box.x2 - width, box.y1, box.x2, box.y2) if left else Box(box.x1, box.y1, box.x1 + width, box.y2)
    return Block(block.label, (box,), block.text[:round(share * len(block.text))] if text else block.text)


@pytest.mark.parametrize("size", [14, 22, 30])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("share", [0.9, 0.75, 0.5])
def test_where_lines_go_on_beside_a_box_and_its_text_does_too_nothing_is_missed(size, share, left):
    image, made = paragraphs(4, size)
    made[2] = narrowed(made[2], share, left=left)
    assert audit(page(*made), image) == Audit()


@pytest.mark.parametrize("size", [14, 22, 30])
@pytest.mark.parametrize("share", [0.6, 0.4])
def test_where_the_text_ends_with_the_box_the_rest_of_its_lines_is_missed(size, share):
    image, made = paragraphs(4, size)
    (whole,) = made[2].boxes
    made[2] = narrowed(made[2], share, text=True)
    (missed,) = audit(page(*made), image).missed
    assert abs(missed.x2 - whole.x2) < 15 and missed.x1 > made[2].boxes[0].x2 and missed.y1 < whole.y1 + 15


def test_the_only_paragraph_of_a_page_may_have_a_short_box_but_no_short_text():
    image, (block,) = paragraphs(1)
    assert audit(page(narrowed(block, 0.9)), image) == Audit()
    assert len(audit(page(narrowed(block, 0.6, text=True)), image).missed) == 1


def test_a_column_beside_paragraphs_that_were_read_is_missed():
    image, made = paragraphs(4)
    other, beside = paragraphs(4, column=520)
    image = Image.fromarray(np.minimum(np.array(image), np.array(other)))
    assert audit(page(*made, *beside), image) == Audit()
    assert_missed(audit(page(*made, *beside[:1], *beside[2:]), image), beside[1].boxes[0])
    found = audit(page(narrowed(made[1], 0.9), *made[:1], *made[2:], *beside[:1], *beside[2:]), image)
    assert_missed(found, beside[1].boxes[0])


def test_text_without_boxes_tells_nothing():
    image, _ = drawn()
    assert audit(page(Block("text", (), "all the text of the page")), image) == Audit()


def test_a_blank_page_has_nothing_to_tell():
    assert audit(page(), Image.new("L", SIZE, 255)) == Audit()
    assert audit(page(), Image.new("L", SIZE, 0)) == Audit()


@pytest.mark.parametrize("size", [(1, 1), (3, 2000), (2000, 3), (7, 7), (1000, 1000), (999, 1001)])
def test_any_size_is_looked_at(size):
    made = page(Block("text", (Box(0, 0, 999, 999), Box(5, 5, 5, 5)), "x"))
    assert audit(made, Image.new("L", size, 255)) == Audit([], [0])


def test_the_size_of_the_picture_changes_little():
    image, boxes = drawn()
    for scale in (0.5, 2):
        scaled = image.resize((int(SIZE[0] * scale), int(SIZE[1] * scale)), Image.Resampling.BOX)
        assert_missed(audit(page(*blocks(boxes[1:])), scaled), boxes[0])


@pytest.mark.parametrize("values, expected", [
    ([0], 0), ([0, 255], 127.5), ([3, 1, 2], 2), ([0, 1, 250, 254], 125.5), ([7] * 5 + [8] * 5, 7.5),
])  # fmt: skip
def test_the_median_is_exact(values: list[int], expected: float) -> None:
    assert median(np.array(values, np.uint8)) == expected
