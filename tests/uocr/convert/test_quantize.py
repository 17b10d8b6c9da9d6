"""q8 and q4 as the format defines them, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from uocr.convert.quantize import quantise_q4, quantise_q8, to_float32
from uocr.modelfile import dequantise_q4, dequantise_q8


def group(*head: float) -> np.ndarray:
    """One group of 64 that starts with ``head`` and goes on with zeros."""
    return np.array([[*head, *[0.0] * (64 - len(head))]], np.float32)


def test_q8_divides_by_the_peak_over_127() -> None:
    codes, scales = quantise_q8(group(127.0, -127.0, 1.0, 0.4, 0.6))
    assert codes[0, :5].tolist() == [127, -127, 1, 0, 1]
    assert scales.tolist() == [[1.0]]


def test_q8_rounds_halves_to_even() -> None:
    codes, _ = quantise_q8(group(127.0, 0.5, 1.5, 2.5, -0.5, -1.5))
    assert codes[0, 1:6].tolist() == [0, 2, 2, 0, -2]


def test_q8_divides_by_the_f32_scale_and_stores_its_f16_rounding() -> None:
    block = group(10.0, 9.96)
    codes, scales = quantise_q8(block)
    assert codes[0, :2].tolist() == [127, 126]  # 9.96 / (10 / 127) = 126.492
    assert scales[0, 0] == np.float16(10 / 127)


def test_q4_makes_the_largest_magnitude_minus_8() -> None:
    packed, scales = quantise_q4(group(-8.0, 7.0, 3.5, 2.5, 8.0))
    assert scales.tolist() == [[1.0]]
    assert (packed[0, :5] & 15).tolist() == [0, 15, 12, 10, 15]  # -8, 7, 4, 2 and 8 clamped to 7, each plus 8


def test_q4_takes_the_first_of_equal_magnitudes() -> None:
    _, positive = quantise_q4(group(2.0, -2.0))
    _, negative = quantise_q4(group(-2.0, 2.0))
    assert (positive[0, 0], negative[0, 0]) == (-0.25, 0.25)


def test_q4_puts_the_second_half_of_a_group_in_the_high_bits() -> None:
    block = np.zeros((1, 64), np.float32)
    block[0, [0, 1, 32, 33]] = (-8.0, 1.0, 2.0, 3.0)
    packed, _ = quantise_q4(block)
    assert packed.shape == (1, 32)
    assert packed[0, :3].tolist() == [0x0 | 0xA << 4, 0x9 | 0xB << 4, 0x88]


@pytest.mark.parametrize("quantise", [quantise_q8, quantise_q4])
def test_a_group_of_zeros_has_scale_0_and_codes_0(quantise) -> None:
    codes, scales = quantise(np.zeros((2, 128), np.float32))
    assert scales.tobytes() == bytes(8)  # +0, never -0
    assert set(codes.ravel().tolist()) == ({0} if quantise is quantise_q8 else {0x88})


def test_groups_do_not_see_each_other() -> None:
    block = np.concatenate([group(1000.0), group(0.001)], axis=1)
    restored = dequantise_q8(*quantise_q8(block))
    np.testing.assert_allclose(restored[0, [0, 64]], [1000.0, 0.001], rtol=1e-3)


@pytest.mark.parametrize(("quantise", "dequantise", "step"), [
    (quantise_q8, dequantise_q8, 0.5 / 127 + 2.0**-11),  # half a step, and the scale's own rounding
    (quantise_q4, dequantise_q4, 1.0 / 8 + 2.0**-11),  # a whole step where 8 is clamped to 7
])
def test_restored_values_are_within_a_step(quantise, dequantise, step: float) -> None:
    block = np.random.default_rng(1).standard_normal((37, 192)).astype(np.float32)
    peak = np.abs(block).reshape(37, 3, 64).max(axis=-1).repeat(64, axis=-1).reshape(37, 192)
    assert np.all(np.abs(dequantise(*quantise(block)) - block) <= step * peak)


def test_bf16_widens_exactly() -> None:
    raw = np.array([0x3F80, 0xC000, 0x0001], np.uint16)
    assert to_float32(raw, "BF16").tolist() == [1.0, -2.0, 2.0**-133]
