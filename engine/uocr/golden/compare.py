"""Compares one array with its golden counterpart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the check. `ratio` is error over tolerance; exact comparisons give 0 or infinity."""

    name: str
    ratio: float
    note: str = ""
    network: bool = True
    """Counts for the worst ratio (a network array), or must simply be equal."""


class GoldenSet:
    """A folder of golden numbers, loaded as needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index: dict[str, Any] = json.loads((folder / "index.json").read_text("utf-8"))
        self._arrays: dict[str, Any] = {}

    def json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text("utf-8"))

    def arrays(self, name: str) -> Any:
        if name not in self._arrays:
            self._arrays[name] = np.load(self.folder / name)
        return self._arrays[name]

    def compare(self, file: str, name: str, mine: np.ndarray) -> Result:
        """`mine` against array `name` of `file`, by the tolerance in the index."""
        reference, info = self.arrays(file)[name], self.index["files"][file][name]
        label = f"{file}:{name}"
        if mine.shape != reference.shape:
            return Result(label, float("inf"), f"shape {mine.shape}, expected {reference.shape}")
        if info.get("exact"):
            return equal(label, mine.astype(np.int64).tolist(), reference.astype(np.int64).tolist())
        a, b = mine.astype(np.float64), reference.astype(np.float64)
        if not np.isfinite(a).all():
            return Result(label, float("inf"), f"{int((~np.isfinite(a)).sum())} values are not finite")
        difference = np.abs(a - b)
        worst = float((difference / (info["atol"] + info["rtol"] * np.abs(b))).max())
        rms = float(np.sqrt((difference**2).mean())) / info["rms_tol"]
        return Result(label, max(worst, rms), f"max difference {difference.max():.3g}, allowed {info['atol']:.3g}")


def equal(name: str, mine: Any, reference: Any) -> Result:
    """Exact comparison of numbers, strings or nested lists."""
    if mine == reference:
        return Result(name, 0.0, "equal", network=False)
    if isinstance(mine, list) and isinstance(reference, list):
        place = next(
            (i for i, (m, r) in enumerate(zip(mine, reference, strict=False)) if m != r), min(len(mine), len(reference))
        )
        return Result(name, float("inf"), f"differs at {place}; {len(mine)} against {len(reference)} items", False)
    return Result(name, float("inf"), f"{str(mine)[:40]!r} against {str(reference)[:40]!r}", False)
