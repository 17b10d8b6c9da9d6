"""From a page picture to the views the network sees, and how many visual tokens they cost.

A view is a square of RGB bytes, uint8 `[S, S, 3]`, row-major. Every preset makes one global view of the whole
page; the gundam preset adds a grid of 640-pixel crops of the page stretched to whole tiles. Views come in the
order in which the engine takes them and in which their features stand before the text: crops row by row
first, then the global view. Normalisation to floats is the engine's work.

Pixels are those of Pillow 12.1's antialiased bicubic filter; sizes round half to even; around the page is
grey 127.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt
from PIL import Image

from uocr.errors import InvalidRequest, ModelFileError

CROP_SIZE: Final = 640
"""Pixels: the side of a crop, and the largest page side that is never cropped."""
MIN_TILES: Final = 2
MAX_TILES: Final = 32
PAD_COLOUR: Final = (127, 127, 127)
"""What surrounds the page in the global view; close to zero after normalisation."""

PATCH: Final = 16
"""Pixels: the side of one patch of the first vision encoder."""
DOWNSAMPLE: Final = 4
"""Patches along a side that become one visual token."""

View = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Preset:
    """How a page is cut into views.

    `global_size` is the side of the global view in pixels, a multiple of 64. Without crops, a global view of
    at most 640 pixels is the page stretched to the square, a larger one the page padded to it. With crops
    (`crop_size` must be 640, the size the network's layout is built for) the global view is always padded.
    `grids` are the grids of crops, (columns, rows), to choose from; without any, every one of 2 to 32 tiles.
    """

    name: str
    global_size: int
    crops: bool = False
    crop_size: int = CROP_SIZE
    grids: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        step = PATCH * DOWNSAMPLE
        if self.global_size < step or self.global_size % step:
            raise InvalidRequest(
                f"The view size {self.global_size} of preset {self.name} is not a positive multiple "
                f"of {step}; use 512, 640, 1024 or 1280.")
        if self.crops and self.crop_size != CROP_SIZE:
            raise InvalidRequest(f"Crops of {self.crop_size} pixels cannot be read; "
                                 f"the model knows only crops of {CROP_SIZE}.")

    @property
    def stretches(self) -> bool:
        """The page fills the square, whatever its aspect."""
        return not self.crops and self.global_size <= CROP_SIZE


PRESETS: Final[dict[str, Preset]] = {
    p.name: p
    for p in (
        Preset("tiny", 512),
        Preset("small", 640),
        Preset("base", 1024),
        Preset("large", 1280),
        Preset("gundam", 1024, crops=True),
        Preset("multi-page", 1024),
    )
}
"""The presets by name; "multi-page" is one base view a page, several pages in one pass."""


def get_preset(preset: str | Preset) -> Preset:
    """The preset of that name; a `Preset` is returned as it is. Raises InvalidRequest for an unknown name."""
    if isinstance(preset, Preset):
        return preset
    try:
        return PRESETS[preset]
    except KeyError:
        raise InvalidRequest(f"No preset is called {preset!r}; there are {', '.join(PRESETS)}.") from None


def model_preset(front_end: Mapping[str, Any], preset: str | Preset) -> Preset:
    """The preset as a model was trained with it: crops in the grids that its front end names (`crop_grids`), if any.

    Raises InvalidRequest for an unknown name, ModelFileError for grids that are none.
    """
    chosen, named = get_preset(preset), front_end.get("crop_grids") or []
    if not chosen.crops or not named:
        return chosen
    grids = _grids()
    if not isinstance(named, list) or any(not isinstance(g, list) or tuple(g) not in grids for g in named):
        raise ModelFileError(f"The model file names {named!r} as its grids of crops; each must be [columns, rows] with "
                             f"{MIN_TILES} to {MAX_TILES} tiles. Convert or fetch the model again.")
    return replace(chosen, grids=tuple(g for g in grids if list(g) in named))


def visual_tokens(global_size: int, cols: int = 1, rows: int = 1) -> int:
    """Visual tokens of one page: `[cols, rows]` is the crop grid, (1, 1) means no crops.

    A view of side S gives q x q features, q = S/64, one newline after each row; one separator ends the page.
    The crops join into one mosaic of 10 x 10 features each, with a newline after each row of the mosaic.
    """
    q = _features(global_size)
    total = q * (q + 1) + 1
    if cols * rows > 1:
        c = _features(CROP_SIZE)
        total += (c * cols + 1) * c * rows
    return total


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """The counts of one page's views, known before any pixel is."""

    preset: Preset
    width: int
    height: int
    """Pixels of the oriented page."""
    crop_cols: int
    crop_rows: int
    """The grid of crops; 1 x 1 means none."""
    page_rect: tuple[int, int, int, int]
    """Left, top, right, bottom of the page inside the global view, in pixels."""

    @property
    def global_size(self) -> int:
        return self.preset.global_size

    @property
    def crop_size(self) -> int:
        return self.preset.crop_size

    @property
    def crop_count(self) -> int:
        n = self.crop_cols * self.crop_rows
        return n if n > 1 else 0

    @property
    def view_count(self) -> int:
        return self.crop_count + 1

    @property
    def visual_tokens(self) -> int:
        return visual_tokens(self.global_size, self.crop_cols, self.crop_rows)

    def view_size(self, index: int) -> int:
        """Pixels of the side of view `index` in engine order."""
        return self.global_size if index == self.crop_count else self.crop_size

    def crop_rect(self, index: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom, in page pixels (rounded outwards), of what crop `index` shows."""
        if not 0 <= index < self.crop_count:
            raise IndexError(f"crop {index} of {self.crop_count}")
        row, col = divmod(index, self.crop_cols)
        return (self.width * col // self.crop_cols, self.height * row // self.crop_rows,
                -(-self.width * (col + 1) // self.crop_cols), -(-self.height * (row + 1) // self.crop_rows))


def plan_views(width: int, height: int, preset: str | Preset) -> ViewPlan:
    """Counts and places of the views of a page of `width` x `height` pixels, without its pixels.

    Raises InvalidRequest for a page without pixels or an unknown preset.
    """
    chosen = get_preset(preset)
    if width < 1 or height < 1:
        raise InvalidRequest(f"A page of {width} x {height} pixels has nothing to read.")
    cols, rows = (1, 1)
    if chosen.crops and max(width, height) > CROP_SIZE:
        cols, rows = crop_grid(width, height, chosen.grids)
    size = chosen.global_size
    if chosen.stretches:
        rect = (0, 0, size, size)
    else:
        w, h = _contained(width, height, size)
        left, top = round((size - w) * 0.5), round((size - h) * 0.5)
        rect = (left, top, left + w, top + h)
    return ViewPlan(chosen, width, height, cols, rows, rect)


def crop_grid(width: int, height: int, grids: Sequence[tuple[int, int]] = ()) -> tuple[int, int]:
    """Columns and rows of the crops of a page of `width` x `height` pixels, of `grids` (fewest tiles first; none: every
    grid of 2 to 32 tiles).

    The grid nearest in aspect wins. Among grids equally near, a larger one replaces a smaller one only if the
    page has more pixels than half of what its tiles hold.
    """
    aspect = width / height
    best, best_distance = (1, 1), float("inf")
    for cols, rows in grids or _grids():
        distance = abs(aspect - cols / rows)
        if distance < best_distance or (
            distance == best_distance and width * height > 0.5 * CROP_SIZE * CROP_SIZE * cols * rows
        ):
            best, best_distance = (cols, rows), distance
    return best


class ViewList(Sequence[View]):
    """The views of a page in engine order, each made when it is asked for.

    The stretched page that crops are cut from (at most 39 MB) is made at the first crop and dropped after
    the last one, so reading the views in order holds it no longer than needed.
    """

    def __init__(self, image: Image.Image, plan: ViewPlan) -> None:
        self._image = image
        self._plan = plan
        self._mosaic: Image.Image | None = None

    def __len__(self) -> int:
        return self._plan.view_count

    @overload
    def __getitem__(self, index: int) -> View: ...
    @overload
    def __getitem__(self, index: slice) -> list[View]: ...
    def __getitem__(self, index: int | slice) -> View | list[View]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"view {index} of {len(self)}")
        return self._global() if index == self._plan.crop_count else self._crop(index)

    def __iter__(self) -> Iterator[View]:
        return (self[i] for i in range(len(self)))

    def _global(self) -> View:
        plan, size = self._plan, self._plan.global_size
        left, top, right, bottom = plan.page_rect
        page = self._image.resize((right - left, bottom - top), Image.Resampling.BICUBIC)
        if page.size == (size, size):
            return np.asarray(page)
        canvas = Image.new("RGB", (size, size), PAD_COLOUR)
        canvas.paste(page, (left, top))
        return np.asarray(canvas)

    def _crop(self, index: int) -> View:
        plan, size = self._plan, self._plan.crop_size
        if self._mosaic is None:
            whole = (size * plan.crop_cols, size * plan.crop_rows)
            self._mosaic = self._image.resize(whole, Image.Resampling.BICUBIC)
        row, col = divmod(index, plan.crop_cols)
        tile = self._mosaic.crop((col * size, row * size, (col + 1) * size, (row + 1) * size))
        if index == plan.crop_count - 1:
            self._mosaic = None
        return np.asarray(tile)


class Views:
    """The views of one page picture: the counts of `plan` and, on demand, the pixels in `views`."""

    def __init__(self, image: Image.Image, plan: ViewPlan) -> None:
        self.plan = plan
        self.views: Sequence[View] = ViewList(image, plan)

    @property
    def preset(self) -> str:
        return self.plan.preset.name

    @property
    def global_size(self) -> int:
        return self.plan.global_size

    @property
    def crop_cols(self) -> int:
        return self.plan.crop_cols

    @property
    def crop_rows(self) -> int:
        return self.plan.crop_rows

    @property
    def crop_size(self) -> int:
        return self.plan.crop_size

    @property
    def visual_tokens(self) -> int:
        return self.plan.visual_tokens

    @property
    def page_rect(self) -> tuple[int, int, int, int]:
        return self.plan.page_rect


def make_views(image: Image.Image, preset: str | Preset) -> Views:
    """The views of an oriented page picture in mode RGB. Raises InvalidRequest for any other mode."""
    if image.mode != "RGB":
        raise InvalidRequest(
            f"Views are made of RGB pictures, not of mode {image.mode}; open it with open_source.")
    return Views(image, plan_views(image.width, image.height, preset))


def _features(size: int) -> int:
    """Visual features along one side of a view of `size` pixels."""
    return -(-(size // PATCH) // DOWNSAMPLE)


def _contained(width: int, height: int, size: int) -> tuple[int, int]:
    """The page scaled to fit a square of `size`, in pixels; a side of a very long page keeps one pixel."""
    if width > height:
        return size, max(1, round(height / width * size))
    if width < height:
        return max(1, round(width / height * size)), size
    return size, size


@lru_cache(maxsize=1)
def _grids() -> tuple[tuple[int, int], ...]:
    """Every (columns, rows) of 2 to 32 tiles, fewest tiles first."""
    pairs = [(c, r) for c in range(1, MAX_TILES + 1) for r in range(1, MAX_TILES + 1)
             if MIN_TILES <= c * r <= MAX_TILES]
    return tuple(sorted(pairs, key=lambda grid: grid[0] * grid[1]))
