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
F16_MOST = 65504.0  # the greatest finite value of f16

Q4_TRIED = (1.1, 1.03, 0.98, 0.94, 0.9, 0.86)
"""Scales that are tried for a group of q4, as parts of the one that makes its peak -8. In matrices of trained networks
the best lies in this range but for one group in a hundred; six come within 0.5 % of the least squared error."""

_Q4_AT_ONCE = 512  # groups: their values stay in the processor's cache from one trial to the next


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
    """Half-split nibbles uint8 ``[rows, cols/2]`` and scales f16 ``[rows, cols/64]``, searched for in each group.

    In f64, where a product with a code and a sum of 64 of them are exact: any order of adding gives the same scale.
    """
    rows, cols = block.shape
    groups = block.reshape(-1, GROUP)
    scale = np.empty(len(groups), "<f2")
    packed = np.empty((len(groups), GROUP // 2), np.uint8)
    room = np.empty((2, min(_Q4_AT_ONCE, len(groups)), GROUP))
    for begin in range(0, len(groups), _Q4_AT_ONCE):
        part = slice(begin, begin + _Q4_AT_ONCE)
        values, codes = room[:, :len(groups[part])]
        values[:] = groups[part]
        scale[part] = _q4_scale(values, codes)
        stored = scale[part].astype(np.float64)
        np.divide(values, np.where(stored != 0, stored, np.inf)[:, None], out=codes)
        whole = (_rounded_q4(codes) + 8).astype(np.uint8)
        packed[part] = whole[:, :GROUP // 2] | whole[:, GROUP // 2:] << 4
    return packed.reshape(rows, cols // 2), scale.reshape(rows, cols // GROUP)


def _q4_scale(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """f16 scales ``[groups]`` of f64 groups ``[groups, 64]``; ``codes`` is room of the same shape.

    A scale that is tried settles codes q. Those are kept that leave the least squared error under the scale that fits
    them best, sum(wq) / sum(qq). That scale makes products with the group too small on average, by the share that the
    error has in the squares. Stored is sum(ww) / sum(wq), which makes up for it.
    """
    high, low = values.max(axis=-1), values.min(axis=-1)
    peak = np.where(high > -low, high, low)
    per_peak = np.divide(-8, peak, out=np.zeros_like(peak), where=peak != 0)
    best, most = np.zeros(len(values)), np.zeros(len(values))
    for tried in Q4_TRIED:
        _rounded_q4(np.multiply(values, (per_peak / tried)[:, None], out=codes))
        along, square = np.einsum("gi,gi->g", values, codes), np.einsum("gi,gi->g", codes, codes)
        explained = np.divide(along * along, square, out=np.zeros_like(along), where=square > 0)
        np.copyto(best, along, where=explained > most)
        np.maximum(most, explained, out=most)
    np.multiply(values, values, out=codes)
    total = codes
    while total.shape[1] > 1:  # in one order on every machine: squares of f32 add up to more bits than f64 has
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    fitted = np.divide(total[:, 0], best, out=np.zeros_like(best), where=best != 0)
    stored = fitted.clip(-F16_MOST, F16_MOST).astype("<f2")
    stored[stored == 0] = 0  # -0 from a group that f16 cannot tell from zeros
    return stored


def _rounded_q4(codes: np.ndarray) -> np.ndarray:
    """Rounded half to even and clamped to -8..7, in place."""
    return np.clip(np.rint(codes, out=codes), -8, 7, out=codes)
