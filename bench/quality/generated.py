"""Sets drawn by the training's page generator, from fonts and texts that training never shows.

The generator answers with views; the page is what fills its global view, or its crops put together again. Nothing is
resized on the way, so a model reads the very pixels the generator meant it to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from uocr.document import BOX_SCALE, Box

from bench.quality import looks
from bench.quality.looks import Ink, Look
from bench.quality.pages import Drawn, Page, PageCache, PageSet, TruthBlock
from training.pages import Kind, PageMaker, Sample
from training.pages.kinds import BLANK, SMALLEST
from training.pages.maker import MOST_TOKENS

SEED = 77_000_000
"""Page i of set s comes from seed SEED + 1000 * s + i; the training's own seeds are elsewhere."""

_BLOCK = re.compile(r"<\|det\|>(\w+) \[(\d+), (\d+), (\d+), (\d+)\]<\|/det\|>(.*?)\n(?=<\|det\|>|\Z)", re.DOTALL)
"""A block may hold several lines: a listing does."""


@dataclass(frozen=True)
class Generated:
    """Draws pages of one kind. `split` is "test" or "prose" (training.texts) or "added" (training.added_texts) for
    held-out pages, "train" for calibration."""

    number: int
    kind: Kind
    look: Look = looks.ordinary
    columns: bool | None = None
    """True: only pages in two columns; False: only pages in one; None: as they come."""
    split: str = "test"
    longest: int = MOST_TOKENS
    """Most tokens that a page may ask for."""

    def __call__(self, pack: Path, index: int) -> Drawn:
        seed = SEED + 1000 * self.number + index
        maker = PageMaker(pack, self.split, seed)
        while True:
            sample = maker.sample(self.kind)
            if len(sample.ids) <= self.longest and self.columns in (None, in_columns(sample)):
                break
        ink = ink_of(sample, self.kind.grid)
        picture, warp = self.look(ink, np.random.default_rng(seed))
        truth = blocks_of(maker.vocabulary.decode(sample.ids.tolist()))
        return picture, [TruthBlock(b.label, b.text, _moved(b.box, picture.size, warp)) for b in truth]


def ink_of(sample: Sample, grid: tuple[int, int] | None) -> Ink:
    """Ink of the whole page, as large as its global view or its mosaic of crops shows it."""
    if grid is None:
        x, y, width, height = sample.rect
        return sample.view[y:y + height, x:x + width]
    assert sample.tiles is not None
    columns, rows = grid
    side = sample.tiles.shape[-1]
    return sample.tiles.reshape(rows, columns, side, side).transpose(0, 2, 1, 3).reshape(rows * side, columns * side)


def blocks_of(target: str) -> list[TruthBlock]:
    """The blocks of a text in the output grammar."""
    return [TruthBlock(m[1], m[6], Box(*(int(m[n]) for n in range(2, 6)))) for m in _BLOCK.finditer(target)]


def _moved(box: Box | None, size: tuple[int, int], warp: looks.Warp) -> Box | None:
    if box is None or warp is None:
        return box
    scale = np.array([*size, *size]) / BOX_SCALE
    corners = np.array([box.x1, box.y1, box.x2, box.y2]) * scale
    moved = np.array(looks.moved_box(tuple(corners), warp)) / scale
    return Box(*moved.clip(0, BOX_SCALE).round().astype(int).tolist())


def in_columns(sample: Sample) -> bool:
    """Whether two blocks stand side by side."""
    boxes = [block.box for block in sample.blocks]
    return any(a[2] <= b[0] and min(a[3], b[3]) > max(a[1], b[1]) for a in boxes for b in boxes)


def sets() -> Iterable[PageSet]:
    """Held-out sets. The first four are a book of its own kind; "prose" is more of what training reads, the set on
    which the targets of the densities were set."""
    letters = ("44-84", "32-52", "25-38", "17-28")
    for level, font in enumerate(letters):
        yield PageSet(f"density {level}", Generated(level, Kind(level, clean=True)), pages=50,
                      about=f"letters of {font} px on a page of 1024")
    for level, font in enumerate(letters):
        yield PageSet(f"prose {level}", Generated(14 + level, Kind(level, clean=True), split="prose", longest=1024),
                      pages=50, about=f"letters of {font} px, text of the training's own sources")
    yield PageSet("new languages", Generated(18, Kind(2, clean=True), split="added"), pages=50,
                  about="letters of 25-38 px; Dutch, Swedish, Danish, Polish, Czech, Hungarian")
    yield PageSet("blank", Generated(4, Kind(BLANK)), pages=50, blank=True,
                  about="empty, or only matter that nobody could read")
    yield PageSet("small text", Generated(5, Kind(SMALLEST)), about="letters of 12-17 px")
    yield PageSet("cluttered", Generated(6, Kind(2)), about="unreadable matter between the blocks")
    yield PageSet("columns", Generated(7, Kind(2), columns=True), about="two columns, 25-38 px")
    yield PageSet("crops 2x2", Generated(8, Kind(2, (2, 2))), preset="gundam", about="read through 4 crops")
    yield PageSet("crops 2x3", Generated(9, Kind(3, (2, 3))), preset="gundam", about="A4 through 6 crops")
    yield PageSet("crops 3x4", Generated(10, Kind(3, (3, 4))), preset="gundam", pages=10,
                  about="letter paper through 12 crops")
    yield PageSet("dark", Generated(11, Kind(2, clean=True), looks.dark), about="light print on dark ground")
    yield PageSet("noisy", Generated(12, Kind(1, clean=True), looks.noisy), about="grain, specks, hard JPEG")
    yield PageSet("photographed", Generated(13, Kind(1, clean=True), looks.photographed),
                  about="perspective, shadow, blur, JPEG")
    yield PageSet("office", Generated(22, Kind(2, genre="office")), about="letters, forms, columns that end half-way")
    yield PageSet("office, crops", Generated(23, Kind(3, (2, 3), genre="office")), preset="gundam",
                  about="the same, smaller, through 6 crops")
    yield PageSet("receipts", Generated(24, Kind(2, (1, 3), genre="office")), preset="gundam", pages=10,
                  about="narrow sheets through 3 crops, half of them receipts")
    yield PageSet("screens", Generated(25, Kind(2, (5, 3)), looks.dark), preset="gundam", pages=10,
                  about="wide pages with light print on dark ground through 15 crops")


def in_turn(cache: PageCache, count: int) -> Iterator[Page]:
    """`count` pages, the four densities in turn."""
    densities = list(sets())[:4]
    shares = [count // 4 + (n < count % 4) for n in range(4)]
    streams = [cache.pages(s, share) for s, share in zip(densities, shares, strict=True)]
    for n in range(count):
        yield next(streams[n % 4])


def calibration() -> PageSet:
    """Pages in the fonts and texts of training, at densities 1 to 3, never trained on themselves."""
    return PageSet("calibration", _Mixed(20, (Kind(1), Kind(2), Kind(3), Kind(3)), "train"), pages=80,
                   about="training's fonts and texts, own seeds")


def held_out_words() -> PageSet:
    """Held-out pages mixed as the calibration pages are, for checking what was chosen on those."""
    return PageSet("held-out mix", _Mixed(21, (Kind(1), Kind(2), Kind(3), Kind(3)), "test"), pages=80,
                   about="held-out fonts and texts, mixed as the calibration pages")


@dataclass(frozen=True)
class _Mixed:
    """Kinds in turn."""

    number: int
    kinds: tuple[Kind, ...]
    split: str

    def __call__(self, pack: Path, index: int) -> Drawn:
        return Generated(self.number, self.kinds[index % len(self.kinds)], split=self.split)(pack, index)
