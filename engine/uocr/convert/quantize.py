"""Number formats: BF16, F16 and F32 in; f32, f16, q8 and q4 out, one block of rows at a time.

Source: docs/model-format.md, "Tensors". The inverse stands in ``uocr.modelfile``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uocr.modelfile import GROUP

F16_OVERFLOW = 65520.0  # the least magnitude that rounds to infinity in f16
F16_LEAST_NORMAL = 2.0 ** -14
F16_FLUSHED = 2.0 ** -25  # the greatest magnitude that rounds to 0 in f16


def to_float32(raw: np.ndarray, dtype: str) -> np.ndarray:
    """Checkpoint numbers (``BF16`` as uint16, ``F16``, ``F32``) as float32; exact."""
    if dtype == "BF16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.astype(np.float32)


@dataclass
class Range:
    """What the values of one tensor demand of a 16-bit type; grows block by block."""

    greatest: float = 0.0  # largest magnitude; inf or NaN if any value is
    overflow: int = 0  # values beyond the range of f16
    subnormal: int = 0  # values other than 0 that f16 holds with fewer bits
    flushed: int = 0  # values other than 0 that f16 rounds to 0

    def add(self, block: np.ndarray, counted: bool) -> None:
        """Take float32 values in; the three counts only if ``counted``."""
        greatest = float(np.maximum(block.max(initial=0.0), -block.min(initial=0.0)))
        self.greatest = max(self.greatest, greatest) if np.isfinite(greatest) else math.nan
        if not counted or not np.isfinite(self.greatest):
            return
        magnitude = np.abs(block)
        if greatest >= F16_OVERFLOW:
            self.overflow += int(np.count_nonzero(magnitude >= F16_OVERFLOW))
        small = magnitude[(magnitude < F16_LEAST_NORMAL) & (magnitude > 0)]
        flushed = int(np.count_nonzero(small <= F16_FLUSHED))
        self.flushed += flushed
        self.subnormal += small.size - flushed


def fits(greatest: float, dtype: str) -> bool:
    """Whether values up to ``greatest`` can be stored: in f16 themselves, in q8 and q4 their scale."""
    return dtype == "f32" or greatest / {"f16": 1, "q8": 127, "q4": 8}[dtype] < F16_OVERFLOW


def encode(block: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Float32 rows ``[rows, cols]`` to stored codes and, if it has them, f16 scales ``[rows, cols/64]``."""
    if dtype == "f32":
        return np.ascontiguousarray(block, "<f4"), None
    if dtype == "f16":
        return block.astype("<f2"), None
    return quantise_q8(block) if dtype == "q8" else quantise_q4(block)


def quantise_q8(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 codes ``[rows, cols]`` and scales: the f32 scale divides, its f16 rounding is stored."""
    rows, cols = block.shape
    groups = block.reshape(rows, cols // GROUP, GROUP)
    scale = np.abs(np.maximum(groups.max(axis=-1), -groups.min(axis=-1))) / np.float32(127)  # abs: no -0
    divisor = np.where(scale > 0, scale, np.float32(1))
    codes = np.clip(np.rint(groups / divisor[..., None]), -127, 127).astype(np.int8)
    return codes.reshape(rows, cols), scale.astype("<f2")


def quantise_q4(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half-split nibbles uint8 ``[rows, cols/2]`` and scales: the value of largest magnitude becomes -8."""
    rows, cols = block.shape
    groups = block.reshape(rows, cols // GROUP, GROUP)
    peak = np.abs(groups).argmax(axis=-1)  # the first one on ties
    scale = (np.take_along_axis(groups, peak[..., None], axis=-1)[..., 0] / np.float32(-8)).astype("<f2")
    scale[scale == 0] = 0  # -0 from a group of zeros or one that f16 cannot tell from zeros
    divisor = np.where(scale != 0, scale.astype(np.float32), np.float32(1))
    codes = (np.clip(np.rint(groups / divisor[..., None]), -8, 7) + 8).astype(np.uint8)
    packed = codes[..., :GROUP // 2] | codes[..., GROUP // 2:] << 4
    return packed.reshape(rows, cols // 2), scale
