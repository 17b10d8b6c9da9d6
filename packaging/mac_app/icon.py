"""Leggio's icon, drawn: a page on a stand, in the rounded square that macOS icons share."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

CANVAS = 1024
_SCALE = 2  # drawn larger, so that edges are smooth
_SQUARE = (100, 100, 924, 924)  # Apple's grid: 824 of 1024 pixels
_RADIUS = 185
_TOP, _BOTTOM = (58, 94, 148), (24, 44, 82)
_PAPER, _INK, _READ = (252, 250, 245), (120, 130, 146), (233, 150, 46)
_WOOD = (206, 161, 108)


def draw(size: int = CANVAS) -> Image.Image:
    """The icon as RGBA, `size` x `size` pixels."""
    side = CANVAS * _SCALE
    icon = Image.new("RGBA", (side, side))
    mask = Image.new("L", (side, side))
    ImageDraw.Draw(mask).rounded_rectangle(_scaled(_SQUARE), _RADIUS * _SCALE, fill=255)
    shadow = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    shadow.putalpha(mask.point(lambda level: level * 70 // 255))
    shadow = shadow.filter(ImageFilter.GaussianBlur(10 * _SCALE))
    icon.alpha_composite(shadow, (0, 12 * _SCALE))
    icon.paste(_gradient(side), (0, 0), mask)
    pen = ImageDraw.Draw(icon)
    _stand(pen)
    _page(pen)
    return icon.resize((size, size), Image.Resampling.LANCZOS)


def _scaled(points: tuple[int, ...]) -> list[int]:
    return [point * _SCALE for point in points]


def _gradient(side: int) -> Image.Image:
    column = Image.new("RGB", (1, 256))
    for y in range(256):
        column.putpixel((0, y), tuple(a + (b - a) * y // 255 for a, b in zip(_TOP, _BOTTOM, strict=True)))
    return column.resize((side, side), Image.Resampling.BICUBIC)


def _stand(pen: ImageDraw.ImageDraw) -> None:
    pen.polygon(_scaled((478, 690, 546, 690, 560, 850, 464, 850)), fill=_WOOD)  # the column
    pen.rounded_rectangle(_scaled((362, 832, 662, 872)), 20 * _SCALE, fill=_WOOD)  # the foot
    pen.rounded_rectangle(_scaled((232, 664, 792, 706)), 21 * _SCALE, fill=_WOOD)  # the ledge


def _page(pen: ImageDraw.ImageDraw) -> None:
    """A sheet that leans back a little, with lines; one of them is just being read."""
    pen.polygon(_scaled((322, 196, 702, 196, 742, 664, 282, 664)), fill=_PAPER)
    for number, (y, right) in enumerate(((268, 640), (334, 648), (400, 654), (466, 660), (532, 520))):
        left = 372 - number * 6
        colour = _READ if number == 2 else _INK
        pen.rounded_rectangle(_scaled((left, y, right, y + 26)), 13 * _SCALE, fill=colour)


def write_icns(path: Path) -> Path:
    """All sizes of a macOS icon, 16 to 1024 pixels, in one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    draw().save(partial, format="ICNS", append_images=[draw(size) for size in (16, 32, 64, 128, 256, 512)])
    os.replace(partial, path)
    return path
