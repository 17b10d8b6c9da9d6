"""Makes samples: a page of some kind, the views of it, and what the model must write."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training import fonts
from training.config import PATCH, TILE, VIEW
from training.pages import phrases, views
from training.pages.code import CodeSetter
from training.pages.documents import DocumentSetter
from training.pages.ink import FontShelf
from training.pages.kinds import BLANK, DENSITIES, SHAPES, SMALLEST, Kind, crop_grid
from training.pages.layout import Setter
from training.pages.office import OfficeSetter
from training.pages.photo import photograph
from training.pages.phrases import Phrase
from training.targets import NOWHERE, Block, Task, Vocabulary
from training.words import Words

if TYPE_CHECKING:
    from training.pages.printed import PrintedPages

MOST_TOKENS = 2560
"""Longest target of a sample; a page that needs more is made again."""

_MOST_PROSE_TOKENS = 1664
"""The same for prose, as it was when the held-out pages were fixed."""

_LONGER = 1.5
"""How many times as many characters as prose a document's page may hold."""

_PHOTOGRAPHED = 0.1
"""Share of training pages without crops that are seen at an angle."""

_WIDE = 0.8
"""Share of pages of real documents without crops that are as wide as the view: on others their print is too small."""

_LIGHT_ON_DARK = {(5, 3): 0.35, (3, 2): 0.1}
"""Shares of training pages by crop grid that are light print on dark ground, besides those whose look is dark."""

_CODE, _CODE_BASE = 0.2, 0.18
"""Shares of documents that are pages of program text: with crops; in base, of those whose print is small enough for its
lines (an eighth of all)."""

_CODE_PX = (12.5, 25.0, 15.5)
"""Print of program text with crops, pixels of the view: least, largest, likeliest. On A4 6 to 11.5 points."""

_CODE_LEAST_PX = 12.0

_FAMILIES_EACH = 42
"""Font families one training process draws from, so that glyphs are reused."""


@dataclass
class Sample:
    """One page. Ink is 255 = ink; `places` are patch coordinates on the global view, 255 = nowhere."""

    view: NDArray[np.uint8]
    """[1024, 1024]"""
    rect: tuple[int, int, int, int]
    tiles: NDArray[np.uint8] | None
    """[columns * rows, 640, 640] in row-major order, or None in base."""
    ids: NDArray[np.int16]
    places: NDArray[np.uint8]
    """[tokens, 2]: column and row of the patch each token was read from."""
    labels: NDArray[np.uint8]
    """[64, 64, SLOTS]"""
    tile_labels: NDArray[np.uint8] | None
    """[tiles, 40, 40, SLOTS]"""
    blocks: list[Block]
    level: int
    asked: int = 0
    """How many of the first ids are a question about the page, which is given to the model."""


@dataclass
class Exercise:
    """What one answer is about: one page, or several read in one pass. ids, places, asked: as in Sample."""

    pages: list[Sample]
    ids: NDArray[np.int16]
    places: NDArray[np.uint8]
    asked: int = 0

    @classmethod
    def of(cls, sample: Sample) -> Exercise:
        return cls([sample], sample.ids, sample.places, sample.asked)


def _printed_pages(pack: Path, rng: random.Random) -> PrintedPages | None:
    """The real documents of a pack, if it has any; PyMuPDF is needed only then."""
    folder = pack / "documents"
    if not folder.is_dir():
        return None
    from training.pages.printed import PrintedPages

    return PrintedPages(folder, rng)


class PageMaker:
    """Deterministic source of samples for a split and a seed."""

    def __init__(self, pack: Path, split: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.vocabulary = Vocabulary(pack / "tokenizer.json")
        train = split == "train"
        shelf = FontShelf(pack, fonts.load(pack, split), self.rng, _FAMILIES_EACH if train else 0)
        words, quick = Words(pack, split, self.rng), 0.6 if train else 0.0
        self.words = words
        self.setter = Setter(self.rng, shelf, words, quick)
        self.documents = DocumentSetter(self.rng, shelf, words, quick)
        self.office = OfficeSetter(self.rng, shelf, words, quick)
        self.code = CodeSetter(self.rng, shelf, words, self.documents) if train else None
        self.photographed = _PHOTOGRAPHED if train else 0.0
        self.printed = _printed_pages(pack, self.rng) if train else None

    def sample(self, kind: Kind) -> Sample:
        """A page of the kind asked for."""
        while True:
            sample = self._attempt(kind)
            if sample is not None:
                return sample

    def exercise(self, task: Task, kinds: list[Kind]) -> Exercise:
        """An example of a task, on a page of each kind."""
        if task is Task.SEVERAL:
            return self._several(kinds)
        return Exercise.of(self._located(kinds[0]) if task is Task.LOCATE else self.sample(kinds[0]))

    def _several(self, kinds: list[Kind]) -> Exercise:
        """Pages for one pass. One that is too long beside the others is made again as sparser prose; since that falls
        on those made last, their order is drawn afterwards."""
        pages: list[Sample] = []
        room = MOST_TOKENS - 1
        for kind in kinds:
            page = self.sample(kind)
            while len(page.ids) > room - (len(kinds) - 1 - len(pages)):  # a page mark in place of the end token
                kind = replace(kind, level=kind.level - 1 if 0 < kind.level < BLANK else BLANK, genre="prose")
                page = self.sample(kind)
            room -= len(page.ids)
            pages.append(page)
        self.rng.shuffle(pages)
        ids = self.vocabulary.joined([page.ids.tolist() for page in pages])
        nowhere = np.full((1, 2), 255, np.uint8)
        places = np.concatenate([part for page in pages for part in (nowhere, page.places[:-1])] + [nowhere])
        return Exercise(pages, np.asarray(ids, np.int16), places)

    def _located(self, kind: Kind) -> Sample:
        """A page, with a question where on it a phrase stands."""
        while True:
            page, blocks, level = self._drawn(kind)
            phrase = phrases.choose(page, blocks, self.words, self.rng)
            if phrase is None or (not blocks and kind.level != BLANK):
                continue
            sample = self._finished(kind, page, blocks, level, phrase)
            if sample is not None and len(sample.ids) <= phrases.MOST_IDS:
                return sample

    def _page_size(self, kind: Kind) -> tuple[int, int, float]:
        """Width and height of the page in pixels, and page pixels for one pixel of the view it is read
        from."""
        rng = self.rng
        if kind.genre == "printed" and kind.grid is None and rng.random() < _WIDE:
            return VIEW, int(VIEW * rng.uniform(0.4, 1.0)), 1.0
        if kind.grid is None:
            unit = 1.5 if kind.level >= 3 and not kind.clean and rng.random() < 0.2 else 1.0
            form = rng.random()
            long, side = int(VIEW * unit), VIEW * unit
            if form < 0.55:
                return int(side * rng.uniform(0.64, 0.82)), long, unit
            return (long, long, unit) if form < 0.8 else (long, int(side * rng.uniform(0.45, 0.8)), unit)
        columns, rows = kind.grid
        if self.words.trained and kind.grid in SHAPES and rng.random() < 0.5:
            ratio = rng.choice(SHAPES[kind.grid]) * rng.uniform(0.992, 1.001)
            area = TILE * TILE * columns * rows * rng.uniform(0.72, 1.44)
            width, height = (area * ratio) ** 0.5, (area / ratio) ** 0.5
            return int(width), int(height), (area / (TILE * TILE * columns * rows)) ** 0.5
        while True:
            ratio = columns / rows * rng.uniform(0.93, 1.07)
            height = TILE * rows * rng.uniform(0.85, 1.2)
            size = int(height * ratio), int(height)
            if crop_grid(*size) == kind.grid:
                return *size, (size[0] * size[1] / (TILE * TILE * columns * rows)) ** 0.5

    def _attempt(self, kind: Kind) -> Sample | None:
        page, blocks, level = self._drawn(kind)
        if not blocks and kind.level != BLANK:
            return None
        return self._finished(kind, page, blocks, level)

    def _drawn(self, kind: Kind) -> tuple[Image.Image, list[Block], int]:
        """A page not yet worn, its blocks (none where nothing fitted) and its level."""
        rng = self.rng
        if self.words.trained:
            self.words.typography.begin()
        width, height, unit = self._page_size(kind)
        page, level = Image.new("L", (width, height), 0), kind.level
        blocks: list[Block] = []
        if kind.level == BLANK:
            self._litter(page, unit)
        else:
            if kind.genre == "printed":
                page, blocks, size = self._printed(width, height, unit)
                level = SMALLEST if size < DENSITIES[SMALLEST].font[1] else SMALLEST - 1
            elif self.code is not None and self._is_code(kind):
                blocks, level = self._coded(self.code, page, kind, unit)
            else:
                density = DENSITIES[kind.level]
                most = density.base if kind.grid is None else density.crops
                most = int(most * rng.uniform(0.3, 0.9)) if rng.random() < 0.3 else most
                blocks = self._filled(page, kind, int(rng.uniform(*density.font) * unit), most, unit)
        return page, blocks, level

    def _finished(
        self, kind: Kind, page: Image.Image, blocks: list[Block], level: int, phrase: Phrase | None = None
    ) -> Sample | None:
        """The page worn and cut into views, with what is to be written: all of it, or where the phrase is. None when
        that is too long."""
        rng, (width, height) = self.rng, page.size
        moving = [*blocks, phrase.place] if phrase is not None and phrase.place is not None else blocks
        page = views.wear(page, moving, level, rng)
        if self.photographed and kind.grid is None and level < SMALLEST and rng.random() < self.photographed:
            page = photograph(page, moving, rng)
        target = (
            self.vocabulary.target(blocks, width, height)
            if phrase is None
            else self.vocabulary.location(phrase.text, phrase.place, width, height)
        )
        if len(target.ids) > (_MOST_PROSE_TOKENS if kind.genre == "prose" else MOST_TOKENS):
            return None
        view, rect = views.global_view(page)
        scale = (rect[2] / width, rect[3] / height)
        places = np.full((len(target.ids), 2), 255, np.uint8)
        known = [index for index, point in enumerate(target.points) if point is not NOWHERE]
        if known:
            points = np.asarray([target.points[index] for index in known], np.float64)
            places[known] = np.clip(((points * scale + rect[:2]) / PATCH).astype(int), 0, 63)
        tiles = None if kind.grid is None else views.local_views(page, kind.grid)
        if kind.grid in _LIGHT_ON_DARK and self.words.trained and rng.random() < _LIGHT_ON_DARK[kind.grid]:
            tiles = None if tiles is None else 255 - tiles
            area = view[rect[1] : rect[1] + rect[3], rect[0] : rect[0] + rect[2]]
            area[:] = 255 - area
        return Sample(
            view=view,
            rect=rect,
            tiles=tiles,
            ids=np.asarray(target.ids, np.int16),
            places=places,
            labels=views.global_labels(blocks, (width, height), rect),
            tile_labels=None if kind.grid is None else views.local_labels(blocks, (width, height), kind.grid),
            blocks=blocks,
            level=level,
            asked=target.asked,
        )

    def _printed(self, width: int, height: int, unit: float) -> tuple[Image.Image, list[Block], float]:
        """A page of a real document, its blocks and the size of its print."""
        if self.printed is None:
            raise SystemExit("this pack has no pages of real documents; make one with python -m training.collect")
        return self.printed.page(width, height, unit)

    def _is_code(self, kind: Kind) -> bool:
        """Whether a page is to be one of program text."""
        if kind.genre != "document" or (kind.grid is None and kind.level < 2):
            return False
        return self.rng.random() < (_CODE_BASE if kind.grid is None else _CODE)

    def _coded(self, code: CodeSetter, page: Image.Image, kind: Kind, unit: float) -> tuple[list[Block], int]:
        """Draw a page of program text; answers its blocks, and its level by the size of its print."""
        density = DENSITIES[kind.level if kind.grid is None else SMALLEST]
        size = self.rng.uniform(*density.font) if kind.grid is None else self.rng.triangular(*_CODE_PX)
        most = density.base if kind.grid is None else density.crops
        blocks = code.page(page, int(size * unit), int(_CODE_LEAST_PX * unit), int(most * _LONGER))
        small = size < DENSITIES[SMALLEST].font[1]
        return blocks, kind.level if kind.grid is None else SMALLEST if small else SMALLEST - 1

    def _filled(self, page: Image.Image, kind: Kind, size: int, most: int, unit: float) -> list[Block]:
        """Draw a page of the kind's genre, body `size` pixels, at most about `most` characters of prose."""
        if kind.genre == "document":
            return self.documents.document(page, size, int(most * _LONGER))
        if kind.genre == "table":
            return self.documents.table_page(page, size, int(most * _LONGER))
        if kind.genre == "office":
            return self.office.office(page, size, int(most * _LONGER))
        style = self.setter.style(*page.size, size, kind)
        return self.setter.fill(page, style, most, unit)

    def _litter(self, page: Image.Image, unit: float) -> None:
        """A page with nothing to read: often empty, otherwise with unreadable matter here and there."""
        rng = self.rng
        if rng.random() < 0.35:
            return
        for _ in range(rng.randint(1, 4)):
            width, height = (int(side * rng.uniform(0.15, 0.85)) for side in page.size)
            x, y = rng.randint(0, page.width - width - 1), rng.randint(0, page.height - height - 1)
            self.setter.unreadable.paint(page, (x, y, width, height), unit)
