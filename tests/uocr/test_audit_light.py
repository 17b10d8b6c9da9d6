"""Ink outside every box on pages in all kinds of light: shadows are no ink, and what was not read is still found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from export_samples import page
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from uocr.audit import Audit, audit
from uocr.document import BOX_SCALE, Block, Box

Light = NDArray[np.float32]
WIDTH, HEIGHT = 1000, 1400
ROWS, COLUMNS = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
SENTENCE = "The morning boat left at six with sixty-three passengers"


def box(left: float, top: float, right: float, bottom: float) -> Box:
    xs, ys = (left, right), (top, bottom)
    (x1, x2), (y1, y2) = ([round(v / side * BOX_SCALE) for v in vs] for vs, side in ((xs, WIDTH), (ys, HEIGHT)))
    return Box(x1, y1, x2, y2)


def written() -> tuple[Light, dict[str, Box]]:
    """A page as its share of light, 0..1, and where its title, paragraph, line, table, handwriting and number stand."""
    image = Image.new("L", (WIDTH, HEIGHT), 255)
    pen = ImageDraw.Draw(image)
    font, large = ImageFont.load_default(24), ImageFont.load_default(54)
    pen.text((110, 100), "Harbour log", 30, large)
    places = {"title": box(*pen.textbbox((110, 100), "Harbour log", large))}
    for row in range(5):
        pen.text((110, 220 + 34 * row), SENTENCE, 30, font)
    places["paragraph"] = box(110, 220, 110 + pen.textlength(SENTENCE, font), 390)
    pen.text((110, 460), "Tickets sold: 148", 30, font)
    places["line"] = box(*pen.textbbox((110, 460), "Tickets sold: 148", font))
    for row in range(5):
        pen.line((110, 560 + 40 * row, 710, 560 + 40 * row), 30, 2)
        pen.line((110 + 150 * row, 560, 110 + 150 * row, 720), 30, 2)
        for column in range(4 if row < 4 else 0):
            pen.text((120 + 150 * column, 566 + 40 * row), f"{7 * row + 13 * column}.50", 30, font)
    places["table"] = box(110, 560, 710, 720)
    steps = np.linspace(0, 1, 400)
    for row in range(2):
        waves = 20 * np.sin(190 * steps) * np.abs(np.sin(17 * steps + row)) + 820 + 70 * row
        pen.line([*zip(110 + 600 * steps, waves, strict=True)], 50, 3)
    places["handwriting"] = box(110, 796, 710, 914)
    pen.text((490, 1260), "17", 30, font)
    places["number"] = box(*pen.textbbox((490, 1260), "17", font))
    return np.asarray(image, np.float32) / 255, places


def blurred(light: Light, radius: float) -> Light:
    image = Image.fromarray((light * 255).clip(0, 255).astype(np.uint8))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(radius)), np.float32) / 255


def clouds(side: int, seed: int) -> Light:
    """Smooth unevenness in pieces of about `side` pixels, of deviation about 1."""
    few = np.random.default_rng(seed).normal(0, 1, (HEIGHT // side + 3, WIDTH // side + 3)).astype(np.float32)
    image = Image.fromarray(few).resize((few.shape[1] * side, few.shape[0] * side), Image.Resampling.BICUBIC)
    return np.asarray(image)[:HEIGHT, :WIDTH]


def hand(radius: float) -> Light:
    """The shadow of a hand with a telephone, with an edge that is `radius` pixels soft."""
    image = Image.new("L", (WIDTH, HEIGHT), 255)
    ImageDraw.Draw(image).polygon([(480, 1400), (540, 780), (620, 700), (660, 840), (900, 1400)], 0)
    return 0.45 + 0.55 * blurred(np.asarray(image, np.float32) / 255, radius)


def rough_border(sheet: Light) -> Light:
    """The lid of the scanner was open: black along the left and the lower edge, neither straight nor level."""
    dark = (COLUMNS < 34 + 0.02 * ROWS + 4 * np.sin(ROWS / 60)) | (ROWS > HEIGHT - 30 - 0.01 * COLUMNS)
    return np.where(dark, 0.05, sheet)


def on_a_desk(sheet: Light) -> Light:
    """The page lies on dark wood, and throws a shadow on it."""
    inside = np.zeros((HEIGHT, WIDTH), np.float32)
    inside[60:-60, 50:-50] = 1
    wood = 0.3 + 0.05 * clouds(4, 1) + 0.08 * np.sin(ROWS / 8 + 3 * clouds(60, 2))
    return blurred(np.where(inside > 0, sheet, wood * (1 - 0.5 * blurred(inside, 12))), 0.8)


DISTANCE = np.hypot(COLUMNS / WIDTH - 0.5, ROWS / HEIGHT - 0.5) / 0.707
LIGHTS: dict[str, Callable[[Light], Light]] = {
    "gradient": lambda sheet: sheet * (1 - 0.75 * COLUMNS / WIDTH),
    "steep gradient": lambda sheet: sheet * (1 - 0.85 / (1 + np.exp((700 - COLUMNS) / 25))),
    "vignette": lambda sheet: sheet * (1 - 0.9 * DISTANCE**3),
    "soft dark edges": lambda sheet: sheet * (1 - 0.95 * np.exp(-COLUMNS / 36)) * (1 - 0.9 * np.exp(-ROWS / 28)),
    "wide dark edge": lambda sheet: sheet * (1 - 0.9 * np.exp(-((COLUMNS / 90) ** 2))),
    "black border": rough_border,
    "fold of a book": lambda sheet: sheet * (1 - 0.7 * np.exp(-(((COLUMNS - 830) / 34) ** 2))),
    "narrow fold": lambda sheet: sheet * (1 - 0.6 * np.exp(-(((COLUMNS - 830 - 6 * np.sin(ROWS / 240)) / 12) ** 2))),
    "gutter": lambda sheet: sheet * (1 - 0.97 * np.exp(-(WIDTH - COLUMNS) / 56)),
    "soft shadow": lambda sheet: sheet * hand(40),
    "hard shadow": lambda sheet: sheet * hand(4),
    "sharp shadow": lambda sheet: sheet * hand(1.5),
    "paper": lambda sheet: sheet * (0.9 + 0.03 * clouds(3, 3) + 0.03 * clouds(12, 4)),
    "stains": lambda sheet: sheet * (1 - 0.3 * np.exp(-((np.hypot(COLUMNS - 800, ROWS - 1050) / 90) ** 4))),
    "desk": on_a_desk,
}


def photo(light: Light, seed: int = 5) -> Image.Image:
    """With the grain of a camera."""
    grain = np.random.default_rng(seed).normal(0, 0.006, light.shape)
    return Image.fromarray(((light + grain) * 255).clip(0, 255).astype(np.uint8))


def blocks(places: dict[str, Box], without: str = "") -> list[Block]:
    return [Block("text", (place,), "text") for name, place in places.items() if name != without]


def share_found(found: Audit, place: Box) -> float:
    """Share of `place` that lies in what is told as missed."""
    told = np.zeros((BOX_SCALE + 1, BOX_SCALE + 1), bool)
    for missed in found.missed:
        told[missed.y1:missed.y2 + 1, missed.x1:missed.x2 + 1] = True
    return float(told[place.y1:place.y2 + 1, place.x1:place.x2 + 1].mean())


@pytest.mark.parametrize("name", LIGHTS)
def test_no_light_makes_a_page_seem_unread(name):
    sheet, places = written()
    assert audit(page(*blocks(places)), photo(LIGHTS[name](sheet))) == Audit()
    assert audit(page(), photo(LIGHTS[name](np.ones_like(sheet)))).missed == []


@pytest.mark.parametrize("name", LIGHTS)
def test_in_every_light_what_was_not_read_is_found(name):
    sheet, places = written()
    picture = photo(LIGHTS[name](sheet))
    for kind, place in places.items():
        found = audit(page(*blocks(places, without=kind)), picture)
        assert share_found(found, place) > (0.25 if kind == "table" else 0.4), kind


def test_what_is_written_in_a_shadow_that_covers_half_the_page_is_found():
    sheet, places = written()
    dark = sheet * np.where(ROWS > 500, 0.4, 1)
    upper = {name: place for name, place in places.items() if place.y2 < 360}
    found = audit(page(*blocks(upper)), photo(dark))
    for kind in ("table", "handwriting", "number"):
        assert share_found(found, places[kind]) > 0.25, kind


def test_faint_print_is_found_beside_a_fold_and_on_rough_paper():
    sheet, places = written()
    for name in ("fold of a book", "paper"):
        found = audit(page(*blocks(places, without="paragraph")), photo(LIGHTS[name](0.7 + 0.3 * sheet)))
        assert share_found(found, places["paragraph"]) > 0.4, name


def test_a_slanted_crease_is_no_line_of_text():
    sheet, places = written()
    crease = ROWS - 1000 - 0.012 * COLUMNS
    light = sheet * (1 - 0.25 * np.exp(-((crease / 2.5) ** 2)))
    light[:, :820] = sheet[:, :820]
    assert audit(page(*blocks(places)), photo(light)) == Audit()
