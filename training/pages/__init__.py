"""Generated pages: text set in columns with unreadable matter between, worn a little, and cut into the
model's views."""

from training.pages.kinds import DENSITIES, GENRES, GRIDS, Kind
from training.pages.maker import Exercise, PageMaker, Sample

__all__ = ["DENSITIES", "GENRES", "GRIDS", "Exercise", "Kind", "PageMaker", "Sample"]
