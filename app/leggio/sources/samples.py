"""The sample pages that come with the program."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def sample_page(name: str = "scan.jpg") -> Path | None:
    """A sample's path, None when this installation has none."""
    packaged = resources.files("uocr").joinpath("resources", "samples", name)
    repository = Path(__file__).parents[3] / "resources" / "samples" / name
    for path in (packaged, repository):
        if isinstance(path, Path) and path.is_file():
            return path
    return None
