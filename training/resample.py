"""Resizing of position tables as matrices, so that it is one product inside the network and trains like any
other.

Both rules are linear along one axis: antialiased cubic for SAM's and CLIP's absolute positions, half-pixel
linear for SAM's relative positions (docs/model-format.md names the tables; upstream resizes them for every
view that is not 1024).
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


def _keys_cubic(t: float, a: float = -0.5) -> float:
    t = abs(t)
    if t < 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return a * (((t - 5) * t + 8) * t - 4) if t < 2 else 0.0


@lru_cache(maxsize=32)
def cubic_matrix(size: int, length: int) -> Tensor:
    """[size, length] float32: antialiased cubic (a = -0.5) resampling of `length` samples to `size`."""
    scale = length / size
    widest = max(scale, 1.0)
    rows = torch.zeros(size, length, dtype=torch.float64)
    for out in range(size):
        centre = scale * (out + 0.5)
        low = max(int(centre - 2 * widest + 0.5), 0)
        high = min(int(centre + 2 * widest + 0.5), length)
        for index in range(low, high):
            rows[out, index] = _keys_cubic((index - centre + 0.5) / widest)
    return (rows / rows.sum(1, keepdim=True)).float()


@lru_cache(maxsize=32)
def linear_matrix(size: int, length: int) -> Tensor:
    """[size, length] float32: half-pixel linear interpolation, no antialiasing."""
    rows = torch.zeros(size, length)
    for out in range(size):
        place = max(0.0, length / size * (out + 0.5) - 0.5)
        low = min(int(place), length - 1)
        high = min(low + 1, length - 1)
        rows[out, low] += 1 - (place - low)
        rows[out, high] += place - low
    return rows


def resize_grid(table: Tensor, size: int, matrix: Tensor) -> Tensor:
    """Resize a square table [n, n, channels] to [size, size, channels] with a [size, n] matrix (float32)."""
    if table.shape[0] == size:
        return table
    return torch.einsum("ih,jw,hwc->ijc", matrix, matrix, table.float())
