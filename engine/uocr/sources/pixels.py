"""From whatever a picture file holds to upright RGB bytes.

Two policies. `upstream_rgb` does to pixels exactly what the published code does, faults included, for
comparison with reference numbers. `readable_rgb` gives what a person sees: transparency on white paper,
16-bit samples scaled, inks the right way round. docs/differences.md lists where they part.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, ImageOps

from uocr.sources.types import reason

_INK_CONTRAST: Final = 32
"""Grey levels: a composite with less between its darkest and lightest sample shows nothing to read."""
_ALPHA_CONTRAST: Final = 64
"""Alpha levels: with at least this much difference the shape lies in the alpha channel."""
_WHITE_IS_ZERO: Final = 0
_PHOTOMETRIC: Final = 262


def upright(image: Image.Image, notes: list[str]) -> Image.Image:
    """The picture turned as its EXIF orientation asks; as it is, with a note, when the EXIF is damaged."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception as error:  # damaged EXIF blocks raise half a dozen unrelated types
        notes.append(f"The orientation could not be read ({reason(error)}), the picture is as stored.")
        return image


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Width and height that `upright` will give, from the header alone."""
    width, height = image.size
    if image.format == "TIFF":  # Pillow tells a TIFF's size as it will be once turned
        return width, height
    try:
        turned = image.getexif().get(ExifTags.Base.Orientation, 1) in (5, 6, 7, 8)
    except Exception:  # see `upright`
        turned = False
    return (height, width) if turned else (width, height)


def upstream_rgb(image: Image.Image) -> Image.Image:
    """Pillow's plain conversion: alpha dropped, 16-bit samples clipped to 255."""
    return image if image.mode == "RGB" else image.convert("RGB")


def readable_rgb(image: Image.Image, stored: Image.Image, notes: list[str]) -> Image.Image:
    """RGB as a person sees the picture; adds to `notes` what had to be decided.

    `stored` is the picture as it was opened: it still knows its format and tags, which say what samples mean.
    """
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        return _from_deep_grey(image, stored, notes).convert("RGB")
    if image.mode == "CMYK":
        return _inks(image, stored, notes).convert("RGB")
    if image.has_transparency_data:
        return _on_paper(image.convert("RGBA"), notes)
    return image if image.mode == "RGB" else image.convert("RGB")


def on_white(image: Image.Image) -> Image.Image:
    """`image` as RGB or grey, what is transparent shown on white."""
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", image.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    return image if image.mode in ("RGB", "L") else image.convert("RGB")


def _on_paper(image: Image.Image, notes: list[str]) -> Image.Image:
    """RGBA on white; on black when what it shows is as light as the paper."""
    alpha = image.getchannel("A")
    low, high = _alpha_range(alpha)
    if high == 0:
        notes.append("Every pixel is transparent, the colours below were read.")
        return image.convert("RGB")
    on_white = _composite(image, alpha, 255)
    if high - low >= _ALPHA_CONTRAST and _contrast(on_white) < _INK_CONTRAST:
        notes.append("Light drawing on transparency, put on black to be readable.")
        return _composite(image, alpha, 0)
    return on_white


def _composite(image: Image.Image, alpha: Image.Image, level: int) -> Image.Image:
    paper = Image.new("RGB", image.size, (level, level, level))
    paper.paste(image.convert("RGB"), (0, 0), alpha)
    return paper


def _contrast(image: Image.Image) -> int:
    extrema: Any = image.getextrema()
    return int(max(high - low for low, high in extrema))


def _alpha_range(alpha: Image.Image) -> tuple[int, int]:
    low, high = alpha.getextrema()
    return int(low), int(high)  # type: ignore[arg-type]


def _inks(image: Image.Image, stored: Image.Image, notes: list[str]) -> Image.Image:
    """CMYK, 255 = full ink. Pillow inverts every CMYK JPEG, which is right only for those marked by Adobe."""
    if stored.format in ("JPEG", "MPO") and "adobe" not in stored.info:
        notes.append("A CMYK JPEG without Adobe's marker, its inks were taken as stored.")
        upside = np.frombuffer(image.tobytes(), np.uint8) ^ 0xFF
        return Image.frombytes("CMYK", image.size, upside.tobytes())
    return image


def _from_deep_grey(image: Image.Image, stored: Image.Image, notes: list[str]) -> Image.Image:
    """Grey of more than 8 bits to mode L, scaled by the range of its values.

    Integers from 0 up are scaled by the smallest sample width of 8, 10, 12, 14 or 16 bits that holds the
    largest, as scanners store 12 bits in 16; floats from 0 to 1 by 255; anything else from least to most.
    """
    values = np.asarray(image).astype(np.float64)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if image.mode == "F" and low >= 0 and high <= 1:
        top = 1.0
    elif low >= 0 and high <= 65535:
        top = float(next((1 << bits) - 1 for bits in (8, 10, 12, 14, 16) if high < (1 << bits)))
    else:
        values -= low
        top = (high - low) or 1.0
    grey: npt.NDArray[np.float64] = np.floor(values * (255.0 / top) + 0.5)
    if _tiff_tag(stored, _PHOTOMETRIC) == _WHITE_IS_ZERO:
        grey = 255.0 - grey
    transparent = stored.info.get("transparency")
    if isinstance(transparent, int):
        grey[np.asarray(image) == transparent] = 255.0
    if top not in (255.0, 65535.0):
        notes.append(f"Grey samples from {low:g} to {high:g} were scaled to 0..255.")
    return Image.fromarray(grey.astype(np.uint8))


def _tiff_tag(image: Image.Image, tag: int) -> object:
    tags = getattr(image, "tag_v2", None)
    return tags.get(tag) if tags is not None else None
