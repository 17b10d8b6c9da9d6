"""The test pictures of a golden set, rebuilt from integers: every pixel is a function of place, channel and seed.

A picture is written in its stored file format and read back through the upstream input policy, so that decoding (alpha,
16 bit, palette, CMYK, orientation) is checked too.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
from PIL import Image

from uocr.sources import open_source


class Recipe(NamedTuple):
    """How one picture of a set is stored."""

    name: str
    kind: str
    width: int
    height: int
    orientation: int | None = None


SETS: dict[str, tuple[int, tuple[Recipe, ...]]] = {
    "open": (
        101,
        (
            Recipe("small", "RGB", 100, 80),
            Recipe("square640", "RGB", 640, 640),
            Recipe("strip641", "RGB", 641, 100),
            Recipe("svga", "RGB", 800, 600),
            Recipe("tall", "RGB", 1000, 1400),
            Recipe("a4_300", "RGB", 2480, 3508),
            Recipe("wide", "RGB", 3000, 500),
            Recipe("exif6", "RGB", 900, 700, 6),
            Recipe("rgba", "RGBA", 700, 500),
            Recipe("palette", "P", 500, 900),
            Recipe("grey16", "I;16", 1200, 800),
            Recipe("cmyk", "CMYK", 700, 1000),
            Recipe("grey8", "L", 333, 517),
            Recipe("onebit", "1", 1283, 999),
            Recipe("g2x1", "RGB", 1000, 500),
            Recipe("g2x3", "RGB", 1000, 1500),
            Recipe("pageA", "RGB", 620, 877),
            Recipe("pageB", "RGB", 1754, 1240),
        ),
    ),
}
"""Seed of the first picture and the pictures in order, by the set's name; each later seed is 17 more."""

_U = np.uint32


def picture(set_name: str, name: str) -> Image.Image:
    """The oriented RGB picture `name`, as the upstream policy decodes it."""
    return open_source(stored(set_name, name), compat="upstream").page(0).image


def stored(set_name: str, name: str) -> bytes:
    """The picture as a PNG or TIFF file."""
    seed, recipes = SETS[set_name]
    number = [r.name for r in recipes].index(name)
    recipe = recipes[number]
    image = _image(recipe, seed + 17 * number)
    options = {}
    if recipe.orientation is not None:
        exif = Image.Exif()
        exif[0x0112] = recipe.orientation
        options["exif"] = exif
    out = io.BytesIO()
    image.save(out, "TIFF" if recipe.kind == "CMYK" else "PNG", **options)
    return out.getvalue()


def _image(recipe: Recipe, seed: int) -> Image.Image:
    size = (recipe.width, recipe.height)
    planes = _planes(*size, seed, 4 if recipe.kind in ("RGBA", "CMYK") else 3)
    match recipe.kind:
        case "RGB":
            return Image.fromarray(planes)
        case "RGBA":  # alpha varies and leaves some areas fully transparent
            x, y = np.arange(size[0])[None, :] // 16, np.arange(size[1])[:, None] // 16
            planes[..., 3] = (x + y) % 4 * 85
            return Image.fromarray(planes)
        case "P":  # a cube of 216 colours
            level = planes.astype(np.int32) * 6 // 256
            image = Image.fromarray((level @ np.array([36, 6, 1])).astype(np.uint8))
            cube = [51 * v for r in range(6) for g in range(6) for b in range(6) for v in (r, g, b)]
            image.putpalette(cube + [0] * 120)
            return image
        case "L":
            return Image.fromarray(planes[..., 0].copy())
        case "1":
            white = np.where(planes[..., 0] > 127, 255, 0).astype(np.uint8)
            return Image.fromarray(white).convert("1", dither=Image.Dither.NONE)
        case "I;16":
            wide = planes.astype(np.uint16)
            return Image.fromarray(wide[..., 0] * 257 - (wide[..., 1] & 127))
        case "CMYK":
            return Image.frombytes("CMYK", size, planes.tobytes())
    raise ValueError(recipe.kind)


def _planes(width: int, height: int, seed: int, count: int) -> np.ndarray:
    """uint8 [height, width, count]: pale paper, cells of ink chosen by a hash, one hard-edged block of colour."""
    with np.errstate(over="ignore"):
        y, x = np.meshgrid(np.arange(height, dtype=_U), np.arange(width, dtype=_U), indexing="ij")
        cell_x, cell_y = x // _U(9), y // _U(16)
        cell = _mix((cell_x * _U(73856093) ^ cell_y * _U(19349663) ^ _U(seed) * _U(83492791)).astype(_U))
        bit = (x % _U(9)) // _U(3) + _U(3) * ((y % _U(16)) // _U(4))
        inked = ((cell >> bit) & _U(1) == 1) & (cell_y % _U(3) != 2) & ((cell >> _U(20)) % _U(8) < 6)
        block = (x * _U(4) > width) & (x * _U(4) < 2 * width) & (y * _U(5) > 3 * height) & (y * _U(5) < 4 * height)
        out = np.empty((height, width, count), np.uint8)
        for c in range(count):
            slope = (x * _U(3 + c) + y * _U(5 - c)).astype(_U)
            paper = _U(200) + (slope >> _U(4)) % _U(56)
            ink = _U(10 + 30 * c) + (cell >> _U(8)) % _U(40)
            value = np.where(inked, ink, paper)
            out[..., c] = np.where(block, (x * _U(7) + y * _U(11 + 2 * c)) % _U(256), value)
    return out


def _mix(h: np.ndarray) -> np.ndarray:
    """A 32-bit integer finaliser."""
    h = h ^ (h >> _U(16))
    h = (h * _U(0x7FEB352D)).astype(_U)
    h = h ^ (h >> _U(15))
    h = (h * _U(0x846CA68B)).astype(_U)
    return h ^ (h >> _U(16))
