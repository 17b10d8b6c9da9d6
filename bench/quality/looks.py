"""From ink to pictures: paper, print, light, noise, a photograph. Pillow and numpy alone, deterministic by seed.

Ink is uint8 [H, W], 255 = ink; pictures are RGB. The ordinary look has the ranges that the training's pages have.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Ink = NDArray[np.uint8]
Warp = NDArray[np.float64] | None
"""3 x 3 matrix from pixels of the flat page to pixels of the picture; None: the same place."""
Look = Callable[[Ink, np.random.Generator], tuple[Image.Image, Warp]]


def _gaussian(sigma: float) -> ImageFilter.Kernel:
    """Five taps an axis, as the training's pages are blurred."""
    taps = np.exp(-(np.arange(-2, 3) ** 2) / (2 * sigma * sigma))
    return ImageFilter.Kernel((5, 5), np.outer(taps, taps).ravel().tolist())


def _print(ink: Ink, paper: NDArray, colour: NDArray, blur: float, gradient: NDArray, noise: float,
           rng: np.random.Generator) -> Image.Image:
    """Ink of a colour on paper of another; gradient is the change of brightness down and across the page."""
    sheet = Image.fromarray(ink)
    if blur > 0.1:
        sheet = sheet.filter(_gaussian(blur))
    cover = np.asarray(sheet, np.float32)[..., None] / 255
    height, width = ink.shape
    light = (gradient[0] * (np.arange(height) / height - 0.5)[:, None]
             + gradient[1] * (np.arange(width) / width - 0.5)[None])
    values = paper + (colour - paper) * cover + light[..., None]
    if noise > 0:
        values = values + rng.standard_normal(values.shape, np.float32) * noise
    return Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8))


def ordinary(ink: Ink, rng: np.random.Generator) -> tuple[Image.Image, Warp]:
    """What scans and screens look like: white to grey paper, sometimes tinted, blurred, grainy, unevenly lit, dark."""
    form = rng.random()
    base = 1.0 if form < 0.45 else 1 - rng.random() * (0.18 if form < 0.88 else 0.45)
    paper: NDArray = np.full(3, base)
    if rng.random() < 0.3:
        paper = (paper + (rng.random(3) - 0.5) * 0.16).clip(0, 1)
    colour: NDArray = np.full(3, rng.random() * (0.1 if rng.random() < 0.5 else 0.4) * paper.mean())
    if rng.random() < 0.2:
        colour = (colour + (rng.random(3) - 0.5) * 0.5).clip(0, 0.62)
    colour = np.minimum(colour, paper - 0.3).clip(0, 1)
    if rng.random() < 0.07:
        paper, colour = colour * 0.5, paper
    blur = 0.3 + rng.random() * 0.9 if rng.random() < 0.35 else 0.0
    gradient = (rng.random(2) - 0.5) * 0.25 if rng.random() < 0.25 else np.zeros(2)
    noise = rng.random() * 0.05 if rng.random() < 0.5 else 0.0
    return _print(ink, paper, colour, blur, gradient, noise, rng), None


def clean(ink: Ink, rng: np.random.Generator) -> tuple[Image.Image, Warp]:
    """Black on white."""
    return _print(ink, np.ones(3), np.zeros(3), 0.0, np.zeros(2), 0.0, rng), None


def dark(ink: Ink, rng: np.random.Generator) -> tuple[Image.Image, Warp]:
    """Light print on a dark ground, as in dark mode; sometimes coloured print."""
    paper = np.full(3, rng.uniform(0.02, 0.18)) + rng.random(3) * 0.05
    colour: NDArray = np.full(3, rng.uniform(0.7, 1.0))
    if rng.random() < 0.5:
        colour = (colour - rng.random(3) * 0.4).clip(0.35, 1)
    return _print(ink, paper, colour, 0.0, np.zeros(2), 0.0, rng), None


def noisy(ink: Ink, rng: np.random.Generator) -> tuple[Image.Image, Warp]:
    """A poor copy: grey paper, grain, specks, soft print, hard JPEG."""
    base = rng.uniform(0.7, 0.95)
    picture = _print(ink, np.full(3, base), np.full(3, rng.uniform(0.1, 0.3)), rng.uniform(0.5, 1.1),
                     (rng.random(2) - 0.5) * 0.3, rng.uniform(0.05, 0.11), rng)
    values = np.asarray(picture).copy()
    specks = rng.random(ink.shape) < rng.uniform(0.0005, 0.003)
    values[specks] = rng.choice((20, 235), int(specks.sum()))[:, None]
    return _jpeg(Image.fromarray(values), int(rng.integers(25, 55))), None


def photographed(ink: Ink, rng: np.random.Generator) -> tuple[Image.Image, Warp]:
    """A sheet on a table, seen at an angle: perspective, a shadow, uneven light, blur, grain, JPEG."""
    flat = _print(ink, np.array([0.93, 0.91, 0.87]), np.full(3, rng.uniform(0.05, 0.2)), 0.0, np.zeros(2), 0.0, rng)
    width, height = flat.size
    inset = 0.02 + 0.045 * rng.random((4, 2))
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float64)
    inward = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)]) * inset * (width, height)
    warp = homography(corners, corners + inward)
    back = np.linalg.inv(warp)
    back /= back[2, 2]
    table = np.array([0.35, 0.28, 0.22]) * rng.uniform(0.6, 1.4)
    fill = tuple(int(v * 255) for v in table.clip(0, 1))
    seen = flat.transform(flat.size, Image.Transform.PERSPECTIVE, back.ravel()[:8].tolist(),
                          Image.Resampling.BICUBIC, fillcolor=fill)
    values = np.asarray(seen.filter(_gaussian(rng.uniform(0.3, 0.8))), np.float32) / 255
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    across = ((x / width - 0.5) * np.cos(angle) + (y / height - 0.5) * np.sin(angle))
    shadow = 1 / (1 + np.exp(-(across - rng.uniform(-0.3, 0.3)) / rng.uniform(0.02, 0.12)))
    light = (1 - rng.uniform(0.15, 0.45) * shadow) * (1 + 0.15 * across)
    values = values * light[..., None] + rng.standard_normal(values.shape, np.float32) * rng.uniform(0.01, 0.03)
    picture = Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8))
    return _jpeg(picture, int(rng.integers(45, 80))), warp


def _jpeg(picture: Image.Image, quality: int) -> Image.Image:
    coded = io.BytesIO()
    picture.save(coded, "JPEG", quality=quality)
    return Image.open(coded).convert("RGB")


def homography(source: NDArray, target: NDArray) -> NDArray[np.float64]:
    """The 3 x 3 matrix that takes four points [4, 2] to four others."""
    rows = []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, -u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, -v])
    _, _, vectors = np.linalg.svd(np.array(rows, np.float64))
    matrix = vectors[-1].reshape(3, 3)
    return matrix / matrix[2, 2]


def moved_box(box: tuple[float, float, float, float], warp: Warp) -> tuple[float, float, float, float]:
    """The box (left, top, right, bottom in pixels) around where a box's corners go."""
    if warp is None:
        return box
    x1, y1, x2, y2 = box
    corners = warp @ np.array([(x1, y1, 1), (x2, y1, 1), (x2, y2, 1), (x1, y2, 1)], np.float64).T
    places = corners[:2] / corners[2]
    return (float(places[0].min()), float(places[1].min()), float(places[0].max()), float(places[1].max()))
