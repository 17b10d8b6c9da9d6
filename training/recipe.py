"""The numbers of a leg: data mix, rates, length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from training.objective import Weights
from training.pages import GRIDS
from training.slots import Layout
from training.targets import Task


@dataclass(frozen=True)
class Recipe:
    """Numbers of a leg. Rates are peaks; levels are shares of the densities, blank pages last; genres those of
    pages.GENRES. A leg ends, and its rates have cooled down, after `seconds` or `steps`, whichever is sooner. The base
    pages of a step are followed by pages with crops or, in shares of the steps, by several pages in one pass
    (`together`) or by questions where words stand (`locate`)."""

    seconds: float = 1200.0
    steps: int = 10**9
    muon_rate: float = 1.0e-3
    adam_rate: float = 6e-4
    decay: float = 0.05
    warm_up: float = 0.03
    pages: int = 40
    base_levels: tuple[float, ...] = (0.11, 0.20, 0.28, 0.34, 0.04, 0.03)
    base_genres: tuple[float, ...] = (0.48, 0.16, 0.12, 0.11, 0.13)
    crop_levels: tuple[float, ...] = (0.03, 0.08, 0.20, 0.66, 0.0, 0.03)
    crop_genres: tuple[float, ...] = (0.16, 0.22, 0.1, 0.32, 0.2)
    crop_pages: tuple[int, ...] = (48, 24, 48, 48, 48, 48, 48, 20)
    crop_shares: tuple[float, ...] = (0.45, 0.18, 0.05, 0.14, 0.03, 0.03, 0.03, 0.09)
    together_pages: tuple[int, ...] = (2, 3, 4)
    together_each: tuple[int, ...] = (24, 16, 12)
    together_shares: tuple[float, ...] = (0.035, 0.03, 0.015)
    together_levels: tuple[float, ...] = (0.15, 0.35, 0.35, 0.1, 0.0, 0.05)
    together_genres: tuple[float, ...] = (0.36, 0.29, 0.05, 0.19, 0.11)
    locate_grids: tuple[tuple[int, int] | None, ...] = (None, (2, 3))
    locate_each: tuple[int, ...] = (48, 48)
    locate_shares: tuple[float, ...] = (0.015, 0.025)
    locate_genres: tuple[float, ...] = (0.34, 0.3, 0.0, 0.24, 0.12)
    crop_weight: float = 0.6
    weights: Weights = field(default_factory=Weights)
    checkpoint_seconds: float = 150.0
    seed: int = 1

    def layouts(self) -> list[Layout]:
        """Base first, then the crop grids, numbers of pages in one pass and grids of questions that occur."""
        base = Layout(None, self.pages, self.pages * 40, self.base_levels, self.base_genres)
        return [base, *(layout for layout, _ in self._others())]

    def _others(self) -> list[tuple[Layout, float]]:
        """Layouts of the second batch of a step, and their shares."""
        rest = 1 - sum(self.together_shares) - sum(self.locate_shares)
        crops = [
            (Layout(grid, pages, pages * 12, self.crop_levels, self.crop_genres), rest * share)
            for grid, pages, share in zip(GRIDS, self.crop_pages, self.crop_shares, strict=True)
        ]
        together = [
            (Layout(None, each, each * 6, self.together_levels, self.together_genres, Task.SEVERAL, pages), share)
            for pages, each, share in zip(self.together_pages, self.together_each, self.together_shares, strict=True)
        ]
        locate = [
            (
                Layout(
                    grid,
                    each,
                    each * 4,
                    self.crop_levels if grid else self.base_levels,
                    self.locate_genres,
                    Task.LOCATE,
                ),
                share,
            )
            for grid, each, share in zip(self.locate_grids, self.locate_each, self.locate_shares, strict=True)
        ]
        return [(layout, share) for layout, share in (*crops, *together, *locate) if share > 0]

    def plan(self) -> list[list[tuple[int, float]]]:
        """Batches of a step: one of base pages, and one of crops or another task when any are trained."""
        others = [(number, share) for number, (_, share) in enumerate(self._others(), 1)]
        return [[(0, 1.0)], *([others] if others else [])]

    def rate(self, progress: float) -> float:
        """Factor of the learning rates: linear warm-up, then a cosine down to 2 %."""
        rest = min(1.0, max(0.0, progress - self.warm_up) / (1 - self.warm_up))
        return min(1.0, progress / self.warm_up) * (0.02 + 0.49 * (1 + math.cos(math.pi * rest)))


SMOKE = Recipe(
    seconds=3600.0,
    steps=40,
    muon_rate=4e-3,
    adam_rate=3e-3,
    pages=1,
    base_levels=(1.0, 0, 0, 0, 0, 0),
    base_genres=(1.0,),
    crop_levels=(1.0, 0, 0, 0, 0, 0),
    crop_genres=(1.0,),
    crop_pages=(0, 0, 0, 0, 1, 0, 0, 0),
    crop_shares=(0, 0, 0, 0, 1.0, 0, 0, 0),
    together_shares=(0, 0, 0),
    locate_shares=(0, 0),
    checkpoint_seconds=1e9,
)
"""About two CPU minutes: bounded by steps, so that a busy machine only takes longer."""
