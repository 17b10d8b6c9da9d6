"""Draws the sample pages of resources/samples: python packaging/make_samples.py [FOLDER].

Everything is made here, from the text below and the fonts inside PyMuPDF, so the samples can be rebuilt anywhere. Each
picture NAME.ext has its true text in NAME.txt (one block a line; pages of a PDF apart by a form feed). The sizes
are inside what the built-in model was trained on (letters 20 to 45 pixels high on a page scaled to 1024), except for
two-columns.png, which is labelled as beyond it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pymupdf
from PIL import Image, ImageFilter

Block = tuple[str, float, str]  # font, size in points, text
SERIF, SERIF_BOLD, SANS, SANS_BOLD = "tiro", "tibo", "helv", "hebo"

LETTER: list[Block] = [
    (SERIF_BOLD, 17, "Notes from the ferry office"),
    (
        SERIF,
        11.5,
        "The morning boat left at 07:40 with 63 passengers, two bicycles and a crate of lemons for the hotel on the "
        "far shore. The wind turned north before noon and the second crossing took nine minutes longer.",
    ),
    (
        SERIF,
        11.5,
        "Please tell the mason that the third step of the landing is loose again. It was repaired in March, but "
        "the winter water has lifted it by a finger.",
    ),
    (SERIF, 11.5, "Tickets sold: 148. Money in the box: 1,036 lire and one foreign coin, kept apart in an envelope."),
]
SCREEN: list[Block] = [
    (SANS_BOLD, 17, "Weekly report"),
    (SANS, 12, "The new pump has been running since Monday without a fault. Average flow was 4.2 litres per second."),
    (
        SANS,
        12,
        "Two parts are still on order: the blue valve and the spare filter. The supplier expects them on Friday.",
    ),
    (SANS, 12, "Next meeting: Tuesday at 15:30, room 12. Bring the drawings, please."),
]
LEAFLET: list[list[Block]] = [
    [
        (SERIF_BOLD, 17, "The garden in spring"),
        (
            SERIF,
            11,
            "Prune the roses when the buds begin to swell, not before. A clean cut above an outward bud keeps the "
            "middle of the bush open to light and air.",
        ),
        (
            SERIF,
            11,
            "Sow peas as soon as the soil can be worked. They do not mind the cold, but they rot in wet ground.",
        ),
    ],
    [
        (SERIF_BOLD, 17, "The garden in summer"),
        (
            SERIF,
            11,
            "Water early in the morning and water deeply. A little every day brings roots to the surface, where they "
            "dry out first.",
        ),
        (SERIF, 11, "Pick beans while they are thin. The more you take, the longer the plant will go on bearing."),
    ],
    [
        (SERIF_BOLD, 17, "The garden in autumn"),
        (
            SERIF,
            11,
            "Leave the seed heads of the grasses for the birds and rake only the paths. Leaves under the hedge are not "
            "untidy; they are next year's soil.",
        ),
        (SERIF, 11, "Store apples in a cool room, each one apart from its neighbour, and look at them every week."),
    ],
]
COLUMNS: list[Block] = [
    (SANS_BOLD, 15, "Harbour news"),
    (
        SANS,
        8,
        "The old crane on the eastern quay will be taken down in October. It was built when the port still loaded coal by "
        "hand and has not moved since the storm of 1987. The council keeps the hook and the gears for the museum.",
    ),
    (
        SANS,
        8,
        "Anglers may use the short pier again. Lamps have been replaced, and a ladder was added at the request of the "
        "swimming club, whose members had been climbing out over the rocks.",
    ),
    (
        SANS,
        8,
        "From next month the market opens at six. Traders asked for one more hour before the heat, and the bakery has "
        "agreed to start its ovens earlier. Buses will follow the new hours from the first Monday.",
    ),
    (
        SANS,
        8,
        "Lost: a brown leather case with drawing pens, between the station and the library. The finder is asked to "
        "leave it with the keeper of the reading room, who will pass it on.",
    ),
]


def _text_page(document: pymupdf.Document, blocks: list[Block], width: float, height: float, margin: float) -> None:
    """Adds a page with the blocks one under the other, ragged right."""
    page = document.new_page(width=width, height=height)
    top = margin
    for font, size, text in blocks:
        area = pymupdf.Rect(margin, top, width - margin, height)
        left_over = page.insert_textbox(area, text, fontname=font, fontsize=size, lineheight=1.35)
        if left_over < 0:
            raise ValueError(f"the text {text[:30]!r} does not fit its page by {-left_over:.0f} points")
        top = height - left_over + size * 0.7


def _render(document: pymupdf.Document, number: int, scale: float) -> Image.Image:
    pixmap = document[number].get_pixmap(matrix=pymupdf.Matrix(scale, scale))
    return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _scan(image: Image.Image) -> Image.Image:
    """Paper tone, uneven light, a slight skew, sensor noise: what a flatbed adds."""
    noise = np.random.default_rng(7)
    tilted = image.rotate(0.4, Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))
    pixels = np.asarray(tilted.filter(ImageFilter.GaussianBlur(0.6)), np.float32) / 255
    height, width, _ = pixels.shape
    light = 0.97 - 0.05 * np.linspace(0, 1, height)[:, None, None] * np.linspace(0, 1, width)[None, :, None]
    paper = np.array([0.985, 0.97, 0.93], np.float32)
    pixels = (0.1 + 0.9 * pixels) * light * paper + noise.normal(0, 0.012, pixels.shape)
    return Image.fromarray((pixels.clip(0, 1) * 255).round().astype(np.uint8))


def _screenshot(image: Image.Image) -> Image.Image:
    """The page inside a window frame: a title bar without marks (the model knows no pictures), thin borders."""
    width, height = image.size
    frame = Image.new("RGB", (width + 2, height + 46), (190, 194, 200))
    frame.paste((232, 234, 238), (1, 1, width + 1, 45))
    frame.paste(image, (1, 45))
    return frame


def _truth(folder: Path, name: str, pages: list[list[Block]]) -> None:
    text = "\f".join("\n".join(text for _, _, text in page) + "\n" for page in pages)
    (folder / f"{name}.txt").write_text(text, "utf-8")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    a6 = (298.0, 420.0)

    document = pymupdf.open()
    _text_page(document, LETTER, *a6, 26)
    _scan(_render(document, 0, 1240 / a6[0])).save(folder / "scan.jpg", quality=88)
    _truth(folder, "scan", [LETTER])

    document = pymupdf.open()
    _text_page(document, SCREEN, 400, 300, 24)
    _screenshot(_render(document, 0, 2.4)).save(folder / "screenshot.png", optimize=True)
    _truth(folder, "screenshot", [SCREEN])

    document = pymupdf.open()
    for page in LEAFLET:
        _text_page(document, page, *a6, 30)
    document.set_metadata({"title": "The garden", "creationDate": None, "modDate": None})
    document.save(folder / "leaflet.pdf", garbage=4, deflate=True, no_new_id=True)
    _truth(folder, "leaflet", LEAFLET)

    document = pymupdf.open()
    page = document.new_page(width=420, height=595)
    page.insert_text((36, 52), COLUMNS[0][2], fontname=COLUMNS[0][0], fontsize=COLUMNS[0][1])
    for column in range(2):
        left, top = 36 + column * 180, 76.0
        for font, size, text in COLUMNS[1 + 2 * column : 3 + 2 * column]:
            rest = page.insert_textbox(
                pymupdf.Rect(left, top, left + 165, 595), text, fontname=font, fontsize=size, lineheight=1.4
            )
            top = 595 - rest + size
    _render(document, 0, 2.5).save(folder / "two-columns.png", optimize=True)
    _truth(folder, "two-columns", [COLUMNS])


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / "resources" / "samples"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
